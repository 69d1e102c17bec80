"""Actions as `tool[argument]`, such as `search[red shoes]`: WebShop's and ReAct's grammar."""

import json
from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.formats.brackets_parser import parse_brackets, text_parameter
from agentgym.agents.formats.words import WordsFormat
from agentgym.clients.base import Completion
from agentgym.types import Action, Json, ToolCall, ToolSpec

_INSTRUCTIONS = """\
You act by writing actions. Think first, if it helps; then write one action on a line of its own,
and stop: the name of a tool with its argument in square brackets after it. What the tool answers
comes back as an observation.

The tools:
"""


class BracketsFormat(WordsFormat):
    """For models without tool calling, and tools that take one argument, most often words.

    The argument of a tool with one parameter stands in the brackets as it is; other tools take a
    JSON object there.
    """

    name: ClassVar[str] = "brackets"

    def instructions(self, tools: Sequence[ToolSpec]) -> str:
        """Return the form of an action, and the tools with what they take."""
        return _INSTRUCTIONS + "\n".join(_render_tool(tool) for tool in tools)

    def write(self, action: Action, tools: Sequence[ToolSpec]) -> str:
        """Write an action as a model of this format writes it."""
        written = [_write_call(call, tools) for call in action.tool_calls]
        return "\n".join([action.text, *written] if action.text else written)

    def parse(self, completion: Completion, tools: Sequence[ToolSpec]) -> Action:
        """Read the first action of the text; see `parse_brackets`."""
        if completion.tool_calls:
            return Action(text=completion.text, tool_calls=completion.tool_calls)
        return parse_brackets(completion.text, tools)


def _write_call(call: ToolCall, tools: Sequence[ToolSpec]) -> str:
    if isinstance(call.arguments, str):
        return f"{call.name}[{call.arguments}]"
    for plain in _plain_forms(call.arguments):
        written = f"{call.name}[{plain}]"
        read = parse_brackets(written, tools).tool_calls
        if read and read[0].arguments == call.arguments:
            return written
    return f"{call.name}[{call.arguments_text}]"


def _plain_forms(arguments: dict[str, Json]) -> list[str]:
    """Return how the arguments may be written without their names."""
    if not arguments:
        return [""]
    if len(arguments) > 1:
        return []
    (value,) = arguments.values()
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


def _render_tool(tool: ToolSpec) -> str:
    parameters: dict[str, Json] = tool.parameters.get("properties", {})
    about = " ".join(tool.description.split())
    if not parameters:
        return f"- {tool.name}[]: {about}"
    only = text_parameter(tool) if len(parameters) == 1 else None
    if only is not None:
        told = " ".join(str(parameters[only].get("description") or "").split())
        return f"- {tool.name}[{only}]: {about}{f' {only}: {told}' if told else ''}"
    schema = json.dumps(tool.parameters, ensure_ascii=False)
    return f"- {tool.name}[JSON object]: {about} Arguments: {schema}"
