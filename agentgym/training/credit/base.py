"""What an estimator sees and gives: the one interface of every way to assign credit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Step:
    """One turn, as credit sees it.

    Attributes:
        reward: What the turn was given; on the last turn the final grade is in it.
        state: Fingerprint of the state that the turn was taken in; None where it is not known.
        progress: How far the task had come after the turn, from 0 to 1, where something
            estimates it.
        tokens: How many tokens the turn sampled.
        components: Named parts of the reward, such as a progress score.
        features: What a learner reads of the turn, where it asks for it; the same length in
            every step.
    """

    reward: float
    state: str | None = None
    progress: float | None = None
    tokens: int = 1
    components: Mapping[str, float] = field(default_factory=dict)
    features: tuple[float, ...] | None = None


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


@runtime_checkable
class Learner(Protocol):
    """An estimator that learns from the episodes it has credited.

    Attributes:
        reads: Where the trainer takes a step's features from: the policy's last hidden state
            `before` the turn's first token (the state it was taken in) or at its last (`after`:
            the state and what was done in it); None where none are read.
        width: How many features a step has.
    """

    reads: Literal["before", "after"] | None
    width: int

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        """Return an advantage for every turn of every episode, as an `Estimator` does."""

    def learn(self, episodes: Sequence[Episode], /) -> None:
        """Learn from the episodes of one batch, after they are credited.

        Args:
            episodes: Of every rank, in the same order on every rank.
        """
