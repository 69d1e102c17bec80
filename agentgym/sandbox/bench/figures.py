"""What measuring comes to: values, and what they should stay under."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from statistics import median, quantiles
from typing import Any, Literal, NamedTuple, TypeAlias

Kind = Literal["figure", "floor", "peer"]


class Figure(NamedTuple):
    """One measured figure.

    Attributes:
        backend: What was measured.
        name: Which part of it.
        unit: Of the values: "ms", "MB" or "1/s".
        values: One for each repetition.
        target: What the median should stay under; None where there is no target.
        floor: What the same work costs without a sandbox, in the same unit and run.
        kind: "floor" is the same work without a sandbox, "peer" the same by other means.
    """

    backend: str
    name: str
    unit: str
    values: Sequence[float]
    target: float | None = None
    floor: float | None = None
    kind: Kind = "figure"

    @property
    def median(self) -> float:
        """The middle value."""
        return median(self.values)

    def percentile(self, percent: int) -> float:
        """Return the value that so many percent stay under, at most."""
        if len(self.values) == 1:
            return self.values[0]
        return quantiles(self.values, n=100, method="inclusive")[percent - 1]

    def to_json(self) -> dict[str, Any]:
        """Return the figure with its spread and its ratio to the floor."""
        return {
            "backend": self.backend,
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "median": self.median,
            "p10": self.percentile(10),
            "p90": self.percentile(90),
            "min": min(self.values),
            "max": max(self.values),
            "repetitions": len(self.values),
            "floor_ratio": self.median / self.floor if self.floor else None,
            "target": self.target,
        }


class Skipped(NamedTuple):
    """What could not be measured here, and why."""

    backend: str
    name: str
    reason: str


Findings: TypeAlias = AsyncIterator[Figure | Skipped]


class Effort(NamedTuple):
    """How thoroughly to measure.

    Attributes:
        quick: Whether to do a fraction of the work, to see that everything runs.
    """

    quick: bool = False

    def of(self, count: int, *, least: int = 3) -> int:
        """Return how many of `count` repetitions to do."""
        return max(least, count // 10) if self.quick else count


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Return the milliseconds something takes."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1e3


async def repeated(count: int, work: Callable[[], Awaitable[object]]) -> list[float]:
    """Return the milliseconds of each of `count` times, one after the other."""
    return [await timed(work) for _ in range(count)]


async def run(*words: str) -> None:
    """Run a program of the host to its end.

    Raises:
        OSError: It cannot be run, or failed.
    """
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode:
        raise OSError(said.decode("utf-8", "replace").strip() or f"{words[0]} failed")
