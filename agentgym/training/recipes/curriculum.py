"""Curricula: longer episodes as training goes on, and harder tasks as the easier are solved."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from agentgym.env import Environment
from agentgym.errors import UsageError
from agentgym.training.recipes.base import Recipe, Result, Wrapper
from agentgym.training.recipes.selection import SuccessRates
from agentgym.types import Action, Observation, Task, Transition


class Horizon(Recipe):
    """Lets episodes grow longer: few turns at first, then more.

    Short episodes teach quickly what single turns do, and long ones are only worth their cost
    once they do. The limit starts at `first` and is raised every `every` optimizer steps, doubled
    or by `first`, up to `last`. It acts through the environment, which it cuts::

        horizon = Horizon(first=4, last=32, every=50)
        environment = horizon.wrap(environment)  # wherever the rollout makes it
        trainer = TurnLevelGRPOTrainer(..., recipes=[horizon])

    Source: Shen et al., "Thinking vs. Doing: Agents that Reason by Scaling Test-Time Interaction"
    (2025), whose multiplicative schedule is the default here.

    Args:
        first: Turns at first.
        last: Turns in the end.
        every: Optimizer steps between two raises.
        growth: How the limit is raised.

    Raises:
        UsageError: A number is below 1, or `last` below `first`.
    """

    def __init__(
        self,
        *,
        first: int,
        last: int,
        every: int,
        growth: Literal["double", "add"] = "double",
    ) -> None:
        if min(first, every) < 1 or last < first:
            raise UsageError(
                f"No horizon goes from {first} to {last} turns every {every} steps.",
                remedy="Give numbers from 1, the last not below the first.",
            )
        self._first, self._last, self._every, self._growth = first, last, every, growth
        self.turns = first

    def begin(self, step: int) -> None:
        """Set the limit for the episodes that follow."""
        raises = step // self._every
        grown = self._first * (2**raises if self._growth == "double" else 1 + raises)
        self.turns = min(self._last, grown)

    def wrap(self, environment: Environment) -> Environment:
        """Return the environment with the limit of the moment in each episode."""
        return _Shortened(environment, self)


class _Shortened(Wrapper):
    def __init__(self, inner: Environment, horizon: Horizon) -> None:
        super().__init__(inner)
        self._horizon = horizon
        self._left = 0

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        self._left = self._horizon.turns
        return await self.inner.reset(task, seed=seed)

    async def step(self, action: Action) -> Transition:
        transition = await self.inner.step(action)
        self._left -= 1
        if transition.over or self._left > 0:
            return transition
        grade = await self.inner.grade()
        return transition.model_copy(update={"reward": grade, "truncated": True})


class Difficulty(Recipe):
    """Draws tasks up to a level of difficulty, which rises when the level is mastered.

    Switched on by `recipes=[Difficulty(tasks, "difficulty", ["easy", "medium", "hard"])]`; together
    with `Selection`, which then chooses among the levels that are open.

    Args:
        tasks: Those of the dataset.
        tag: The tag that holds a task's level.
        levels: From the easiest to the hardest.
        mastery: Success rate of the highest open level at which the next one opens.
        review: Weight of tasks below the highest open level, against 1 of that level.
        decay: What earlier groups count in a level's success rate.

    Raises:
        UsageError: A task's level is not among `levels`.
    """

    def __init__(
        self,
        tasks: Iterable[Task[Any, Any]],
        tag: str,
        levels: Sequence[str],
        *,
        mastery: float = 0.7,
        review: float = 0.3,
        decay: float = 0.9,
    ) -> None:
        self._levels: dict[str, int] = {}
        for task in tasks:
            level = task.tags.get(tag, "")
            if level not in levels:
                raise UsageError(
                    f"Task {task.id!r} has {tag} {level!r}, which is not among the levels.",
                    remedy="Name every level, or leave the task out.",
                )
            self._levels[task.id] = list(levels).index(level)
        self._hardest = len(levels) - 1
        self._mastery, self._review = mastery, review
        self._rates = SuccessRates(decay=decay)
        self.open = min(self._levels.values(), default=0)

    def weights(self, task_ids: Sequence[str]) -> list[float] | None:
        """Return 1 for the highest open level, `review` below it and 0 above."""
        return [self._weight(self._levels[task_id]) for task_id in task_ids]

    def results(self, groups: Sequence[Sequence[Result]]) -> None:
        """Open the next level where the highest open one is mastered."""
        for group in groups:
            scored = [one for one in group if one.reward is not None]
            if scored and self._levels[scored[0].task_id] == self.open:
                wins = sum(one.success for one in scored)
                self._rates.add(str(self.open), wins, len(scored))
        if self._rates[str(self.open)] >= self._mastery and self.open < self._hardest:
            self.open += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the open level and its success rate."""
        return {"open": self.open, "rates": self._rates.counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self.open, self._rates.counts = state["open"], state["rates"]

    def _weight(self, level: int) -> float:
        if level > self.open:
            return 0.0
        return 1.0 if level == self.open else self._review
