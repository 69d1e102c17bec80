"""What an LLM agent still knows at a turn: everything, or less by a rule of its own."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from agentgym.agents.formats import Said
from agentgym.errors import UsageError
from agentgym.types import Action, Observation


class Memory(ABC):
    """One episode's memory; the hook for agents that do not send their whole history."""

    @abstractmethod
    def observed(self, observation: Observation) -> None:
        """Take in what the environment said."""

    @abstractmethod
    def acted(self, action: Action) -> None:
        """Take in what the agent did."""

    @abstractmethod
    def conversation(self) -> Sequence[Said]:
        """Return what the model is to be shown now, in order."""


class FullHistory(Memory):
    """Keeps everything; each prompt begins with the one before, which token traces rely on."""

    def __init__(self) -> None:
        self._said: list[Said] = []

    def observed(self, observation: Observation) -> None:
        """Append the messages."""
        self._said.extend(observation.messages)

    def acted(self, action: Action) -> None:
        """Append the action."""
        self._said.append(action)

    def conversation(self) -> Sequence[Said]:
        """Return all that was said."""
        return self._said


class Window(Memory):
    """Keeps the first observation and the last turns.

    Args:
        turns: Turns kept, each an action and its answer.
    """

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._task: list[Said] = []
        self._recent: list[list[Said]] = []

    def observed(self, observation: Observation) -> None:
        """Append the messages to the turn they answer."""
        if self._recent:
            self._recent[-1].extend(observation.messages)
        else:
            self._task.extend(observation.messages)

    def acted(self, action: Action) -> None:
        """Begin a turn and forget the oldest."""
        self._recent.append([action])
        del self._recent[: -self._turns]

    def conversation(self) -> Sequence[Said]:
        """Return the task and the last turns."""
        return [*self._task, *(said for turn in self._recent for said in turn)]


def make_memory(history: str) -> Memory:
    """Make a memory: `full`, or `window:N`.

    Raises:
        UsageError: It is neither.
    """
    if history == "full":
        return FullHistory()
    window = re.fullmatch(r"window:([1-9]\d*)", history)
    if window is None:
        raise UsageError(f"There is no history {history!r}.", remedy="Use full or window:N.")
    return Window(int(window[1]))
