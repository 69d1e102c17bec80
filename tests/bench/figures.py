"""What a measurement comes to: a value for each repetition, never a verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

Kind = Literal["figure", "floor", "peer"]


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes:
        name: What was measured.
        unit: Of the values.
        values: One for each repetition.
        aim: What the median should stay under; None where there is no aim.
        kind: `floor` where it is what the same work costs without agentgym, `peer` where it is
            what another program needs for it.
    """

    name: str
    unit: str
    values: Sequence[float]
    aim: float | None = None
    kind: Kind = "figure"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "median": median(self.values),
            "min": min(self.values),
            "max": max(self.values),
            "repetitions": len(self.values),
            "aim": self.aim,
        }


@dataclass(frozen=True)
class Skipped:
    """Something that could not be measured here, and why."""

    name: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "reason": self.reason}


class Effort(NamedTuple):
    """How thoroughly to measure.

    Attributes:
        repetitions: Values of each figure.
        quick: Whether to do a fraction of the work, to see that everything runs.
    """

    repetitions: int
    quick: bool

    def of(self, count: int) -> int:
        """Return how many of `count` rounds to do."""
        return max(10, count // 10) if self.quick else count


Findings: TypeAlias = Iterator[Figure | Skipped]
Topic: TypeAlias = Callable[[Effort], Findings]
