"""Tool calls as the model writes them itself: `<tool_call>{"name": ..., "arguments": ...}`."""

import json
import re
from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.formats.native import NativeFormat
from agentgym.clients.base import Completion
from agentgym.json_text import leading_object, parse_arguments
from agentgym.types import Action, ToolCall, ToolSpec

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_NAME = re.compile(r'"name"\s{0,8}:\s{0,8}"([^"\\]{1,64})"')


class HermesFormat(NativeFormat):
    """For models that write their calls in the form of Hermes and Qwen, read here from the text.

    Tools and answers go through the model's chat template, as with `native`; what the model
    writes is read by nobody else, so its exact tokens can be kept.
    """

    name: ClassVar[str] = "hermes"

    def parse(self, completion: Completion, tools: Sequence[ToolSpec]) -> Action:
        """Read every call; the words are what stands before the first."""
        if completion.tool_calls:
            return super().parse(completion, tools)
        words, *written = completion.text.split(_OPEN)
        calls = tuple(_read_call(part.partition(_CLOSE)[0].strip()) for part in written)
        return Action(text=words.strip(), tool_calls=calls)

    def write(self, action: Action) -> str:
        """Write an action as a model of this format writes it."""
        calls = [f"{_OPEN}\n{_written(call)}\n{_CLOSE}" for call in action.tool_calls]
        return "\n".join([action.text, *calls] if action.text else calls)


def _written(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def _read_call(written: str) -> ToolCall:
    """Read what stands between the tags; what is no call keeps its text as its arguments."""
    found = leading_object(written)
    if found is not None and not written[found[1] :].strip():
        call = found[0]
        name = call.get("name")
        if isinstance(name, str) and name:
            return ToolCall(name=name, arguments=parse_arguments(call.get("arguments")))
    name = _NAME.search(written)
    return ToolCall(name=name.group(1) if name else "", arguments=written)
