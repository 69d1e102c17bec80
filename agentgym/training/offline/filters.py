"""Which episodes are good enough to learn from, and rows without repetitions."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pydantic import Field

from agentgym.trajectories.record import Trajectory
from agentgym.types import Frozen, Json


class Filter(Frozen):
    """Which graded episodes are kept; every condition that is set has to hold.

    Attributes:
        success: Only those that solved their task.
        min_reward: Only those with this grade or a higher one.
        top: Only this share of them, the highest grades first; ties with the lowest one kept
            are kept too.
        best_of_task: Only so many of each task, the highest grades first; of equal grades the
            shorter episode.
    """

    success: bool = False
    min_reward: float | None = None
    top: float | None = Field(default=None, gt=0, le=1)
    best_of_task: int | None = Field(default=None, ge=1)


def select(episodes: Iterable[Trajectory], wanted: Filter) -> list[Trajectory]:
    """Return the episodes that pass a filter, in the order they came in.

    Those that infrastructure broke have no grade and never pass.
    """
    kept = [episode for episode in episodes if episode.grade is not None]
    if wanted.success:
        kept = [episode for episode in kept if episode.success]
    if wanted.min_reward is not None:
        kept = [episode for episode in kept if _grade(episode) >= wanted.min_reward]
    if wanted.top is not None and kept:
        grades = sorted(map(_grade, kept), reverse=True)
        lowest = grades[math.ceil(wanted.top * len(grades)) - 1]
        kept = [episode for episode in kept if _grade(episode) >= lowest]
    if wanted.best_of_task is not None:
        kept = _best_of_task(kept, wanted.best_of_task)
    return kept


def distinct(rows: Iterable[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    """Yield each row once, by its whole content."""
    seen: set[str] = set()
    for row in rows:
        content = json.dumps(row, sort_keys=True)
        if content not in seen:
            seen.add(content)
            yield row


def _best_of_task(episodes: list[Trajectory], count: int) -> list[Trajectory]:
    by_task: dict[str, list[int]] = defaultdict(list)
    for place, episode in enumerate(episodes):
        by_task[episode.task_hash].append(place)
    chosen: set[int] = set()
    for places in by_task.values():
        ranked = sorted(places, key=lambda at: (-_grade(episodes[at]), len(episodes[at].turns)))
        chosen.update(ranked[:count])
    return [episode for place, episode in enumerate(episodes) if place in chosen]


def _grade(episode: Trajectory) -> float:
    return 0.0 if episode.grade is None else episode.grade.value
