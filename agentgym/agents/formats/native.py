"""Tool calls as the server's chat API has them."""

from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.formats.base import ActionFormat, Said, Wire
from agentgym.clients.base import Completion
from agentgym.types import Action, ImagePart, Message, ToolSpec


class NativeFormat(ActionFormat):
    """For models whose server takes tools and gives tool calls."""

    name: ClassVar[str] = "native"

    def request_parts(
        self, conversation: Sequence[Said], tools: Sequence[ToolSpec]
    ) -> tuple[Wire, Wire]:
        """Return messages and tools as the protocol's wire form has them."""
        wire: Wire = []
        open_calls: set[str] = set()
        images: list[ImagePart] = []
        for said in conversation:
            if isinstance(said, Message) and said.role == "tool":
                images += _append_answer(wire, said, open_calls)
                continue
            _flush(wire, images)
            if isinstance(said, Action):
                open_calls = {call.id for call in said.tool_calls}
                wire.append(_readable(said).to_wire())
            else:
                wire.append(said.to_wire())
        _flush(wire, images)
        return wire, [tool.to_wire() for tool in tools]

    def parse(self, completion: Completion, tools: Sequence[ToolSpec]) -> Action:
        """Take the words and calls as they are."""
        return Action(text=completion.text, tool_calls=completion.tool_calls)


def _readable(action: Action) -> Action:
    """Wrap arguments that are no object in one.

    Servers that render the history through a chat template refuse any others.
    """
    calls = tuple(
        call.model_copy(update={"arguments": {"_unparsed": call.arguments}})
        if isinstance(call.arguments, str)
        else call
        for call in action.tool_calls
    )
    return action.model_copy(update={"tool_calls": calls})


def _append_answer(wire: Wire, message: Message, open_calls: set[str]) -> list[ImagePart]:
    """Append the answer to a call, and return its images, which such an answer cannot hold."""
    if message.tool_call_id not in open_calls:
        wire.append({**message.to_wire(), "role": "user"})
        wire[-1].pop("tool_call_id", None)
        return []
    text = message.text or "(no text)"
    wire.append({"role": "tool", "tool_call_id": message.tool_call_id, "content": text})
    if isinstance(message.content, str):
        return []
    return [part for part in message.content if isinstance(part, ImagePart)]


def _flush(wire: Wire, images: list[ImagePart]) -> None:
    """Show images after the answers they came with: nothing may stand between a turn's answers."""
    if images:
        wire.append({"role": "user", "content": [image.to_wire() for image in images]})
        images.clear()
