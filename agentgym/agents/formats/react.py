"""ReAct (Yao et al., 2022, arXiv:2210.03629): thought, action and observation as plain text."""

import json
from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.clients.base import Completion
from agentgym.agents.formats.base import ActionFormat, Said, Wire
from agentgym.agents.formats.react_parser import parse_react
from agentgym.types import Action, Json, Message, ToolSpec

_INSTRUCTIONS = """\
You act by calling tools. Answer in exactly this form:

Thought: what you know and what to do next
Action: the name of one tool
Action Input: the tool's arguments, one JSON object

Write one action, then stop: what the tool answers comes back as an observation. To speak
without calling a tool, write "Answer:" and your words in place of the action.

The tools, each with the JSON schema of its arguments:
"""


class ReActFormat(ActionFormat):
    """For models without tool calling: tools in the system message, everything as words.

    Messages of one role that follow each other are joined, since the chat templates of such
    models often insist on turns.
    """

    name: ClassVar[str] = "react"
    stop: ClassVar[tuple[str, ...]] = ("\nObservation:",)

    def request_parts(
        self, conversation: Sequence[Said], tools: Sequence[ToolSpec]
    ) -> tuple[Wire, Wire]:
        """Return the messages, with the tools rendered into the first; no tools are sent."""
        wire: Wire = []
        for said in conversation:
            if isinstance(said, Action):
                _append(wire, "assistant", render_action(said))
            else:
                # A system message later on is taken by few templates.
                standing = said.role == "system" and all(w["role"] == "system" for w in wire)
                _append(wire, "system" if standing else "user", _content(said))
        if tools:
            _instruct(wire, _INSTRUCTIONS + "\n".join(_render_tool(tool) for tool in tools))
        return wire, []

    def parse(self, completion: Completion) -> Action:
        """Read the first action of the text; see `parse_react`."""
        if completion.tool_calls:
            return Action(text=completion.text, tool_calls=completion.tool_calls)
        return parse_react(completion.text)


def render_action(action: Action) -> str:
    """Write an action as a model of this format writes it."""
    if not action.tool_calls:
        return f"Answer: {action.text}"
    lines = [f"Thought: {action.text}"] if action.text else []
    for call in action.tool_calls:
        lines += [f"Action: {call.name}", f"Action Input: {call.arguments_text}"]
    return "\n".join(lines)


def _render_tool(tool: ToolSpec) -> str:
    schema = json.dumps(tool.parameters, ensure_ascii=False)
    return f"- {tool.name}: {' '.join(tool.description.split())} Arguments: {schema}"


def _content(message: Message) -> Json:
    content: Json = message.to_wire()["content"]
    if message.role != "tool":
        return content
    if isinstance(content, str):
        return f"Observation: {content}"
    return [{"type": "text", "text": "Observation:"}, *content]


def _instruct(wire: Wire, instructions: str) -> None:
    if wire and wire[0]["role"] == "system":
        wire[0]["content"] = _join(wire[0]["content"], instructions)
    else:
        wire.insert(0, {"role": "system", "content": instructions})


def _append(wire: Wire, role: str, content: Json) -> None:
    if wire and wire[-1]["role"] == role:
        wire[-1]["content"] = _join(wire[-1]["content"], content)
    else:
        wire.append({"role": role, "content": content})


def _join(first: Json, second: Json) -> Json:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
