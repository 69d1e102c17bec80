"""Formats for models without tool calling: tools in the system message, everything as words."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents.formats.base import ActionFormat, Said, Wire
from agentgym.types import Action, Json, Message, ToolSpec


class WordsFormat(ActionFormat):
    """Renders a conversation into plain messages; what an action looks like is the subclass's.

    Messages of one role that follow each other are joined, since the chat templates of such
    models often insist on turns.
    """

    stop: ClassVar[tuple[str, ...]] = ("\nObservation:",)

    @abstractmethod
    def instructions(self, tools: Sequence[ToolSpec]) -> str:
        """Return what tells the model how to act and by which tools."""

    @abstractmethod
    def write(self, action: Action, tools: Sequence[ToolSpec]) -> str:
        """Write an action as a model of this format writes it."""

    def request_parts(
        self, conversation: Sequence[Said], tools: Sequence[ToolSpec]
    ) -> tuple[Wire, Wire]:
        """Return the messages, with the tools rendered into the first; no tools are sent."""
        wire: Wire = []
        for said in conversation:
            if isinstance(said, Action):
                _append(wire, "assistant", self.write(said, tools))
            else:
                # A system message later on is taken by few templates.
                standing = said.role == "system" and all(w["role"] == "system" for w in wire)
                _append(wire, "system" if standing else "user", _content(said))
        if tools:
            _instruct(wire, self.instructions(tools))
        return wire, []


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
