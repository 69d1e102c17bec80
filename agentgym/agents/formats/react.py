"""ReAct (Yao et al., 2022, arXiv:2210.03629): thought, action and observation as plain text."""

import json
from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.formats.react_parser import parse_react
from agentgym.agents.formats.words import WordsFormat
from agentgym.clients.base import Completion
from agentgym.types import Action, ToolSpec

_INSTRUCTIONS = """\
You act by calling tools. Answer in exactly this form:

Thought: what you know and what to do next
Action: the name of one tool
Action Input: the tool's arguments, one JSON object

Write one action, then stop: what the tool answers comes back as an observation. To speak
without calling a tool, write "Answer:" and your words in place of the action.

The tools, each with the JSON schema of its arguments:
"""


class ReActFormat(WordsFormat):
    """Actions as `Thought:`, `Action:` and `Action Input:` with a JSON object."""

    name: ClassVar[str] = "react"

    def instructions(self, tools: Sequence[ToolSpec]) -> str:
        """Return the form of an action, and the tools with their schemas."""
        return _INSTRUCTIONS + "\n".join(_render_tool(tool) for tool in tools)

    def write(self, action: Action, tools: Sequence[ToolSpec]) -> str:
        """Write an action as a model of this format writes it."""
        return render_action(action)

    def parse(self, completion: Completion, tools: Sequence[ToolSpec]) -> Action:
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
