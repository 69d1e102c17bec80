"""The contract of an action format: how tools and turns become what a model reads and writes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from agentgym.clients.base import Completion
from agentgym.types import Action, Json, Message, ToolSpec

Said: TypeAlias = Message | Action
"""One entry of a conversation: the environment's message, or the agent's turn."""

Wire: TypeAlias = list[dict[str, Json]]


class ActionFormat(ABC):
    """Renders tools and a conversation into a request and reads the answer as an action.

    A format keeps no state, so one serves any number of episodes, and it is told the whole
    conversation each time, so whoever calls it decides what that is: everything said so far,
    the last turns, or a memory written as a system message before the last observation's
    messages. Answers to calls that are no longer in the conversation are rendered as words.

    Attributes:
        name: What it is chosen by.
        stop: Texts at which the model must stop writing.
    """

    name: ClassVar[str]
    stop: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def request_parts(
        self, conversation: Sequence[Said], tools: Sequence[ToolSpec]
    ) -> tuple[Wire, Wire]:
        """Return the chat messages and the tools to send, in OpenAI's wire form.

        Args:
            conversation: What was said, in order.
            tools: The tools now on offer.
        """

    @abstractmethod
    def parse(self, completion: Completion, tools: Sequence[ToolSpec]) -> Action:
        """Read the model's answer; never raises.

        What cannot be read as a call is kept as words, or as a call whose arguments are text,
        for the environment to answer as the model's mistake.

        Args:
            completion: What the model wrote.
            tools: The tools that were on offer.
        """
