"""What an estimator sees and gives: the one interface of every way to assign credit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Step:
    """One turn, as credit sees it.

    Attributes:
        reward: What the turn was given; on the last turn the final grade is in it.
        state: Fingerprint of the state that the turn was taken in; None where it is not known.
        progress: How far the task had come after the turn, from 0 to 1, where something
            estimates it.
        tokens: How many tokens the turn sampled.
    """

    reward: float
    state: str | None = None
    progress: float | None = None
    tokens: int = 1


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of a group.

    Attributes:
        steps: Its turns, in order.
    """

    steps: tuple[Step, ...]

    @property
    def total(self) -> float:
        """The sum of its rewards."""
        return sum(step.reward for step in self.steps)


Advantages = list[list[float]]
"""For each episode of a group and each of its turns: the advantage of every token of the turn."""


class Estimator(Protocol):
    """A pure function from the episodes of one task to advantages."""

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        """Return an advantage for every turn of every episode.

        Args:
            group: Episodes of the same task.
        """
