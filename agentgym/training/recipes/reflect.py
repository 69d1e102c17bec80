"""Reflect, then retry: a failed episode goes on from the turn where it failed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agentgym.env import Environment
from agentgym.training.recipes.base import Batch, Recipe, Wrapper
from agentgym.training.recipes.detours import KEPT, kept_turns
from agentgym.types import Action, Message, Observation, Reward, Snapshot, Task, Transition

if TYPE_CHECKING:
    from agentgym.training.trainer import TurnLevelGRPOTrainer

Pivot = Callable[[Sequence[Reward]], int]
"""From the rewards of a failed attempt's turns to the turn to try again, from 0."""

WORDS = (
    "This attempt failed.{feedback} You are back where you were before your turn {turn}. "
    "Say what went wrong, and go on from here.\n\n{seen}"
)


def failing_turn(scores: Sequence[float]) -> int:
    """Return the turn from which it went wrong.

    The turn with the largest drop; where nothing drops, the one after the last rise.

    Args:
        scores: How well the episode stood after each turn, 0 before the first: progress, or a
            critic's values.
    """
    changes = [now - before for before, now in zip([0.0, *scores], scores, strict=False)]
    if not changes:
        return 0
    if min(changes) < 0:
        return changes.index(min(changes))
    rises = [turn for turn, change in enumerate(changes) if change > 0]
    return min(rises[-1] + 1, len(changes) - 1) if rises else 0


def by_rewards(rewards: Sequence[Reward]) -> int:
    """Return the failing turn by what the turns before the last were given, added up."""
    scores: list[float] = []
    for reward in rewards[:-1]:  # the last holds the grade of the failure
        scores.append((scores[-1] if scores else 0.0) + reward.value)
    return failing_turn([*scores, *scores[-1:]]) if scores else 0


def by_component(name: str) -> Pivot:
    """Return a pivot that reads progress from a named reward component.

    Args:
        name: The component; a turn without it stands where the turn before stood.
    """

    def pivot(rewards: Sequence[Reward]) -> int:
        scores: list[float] = []
        for reward in rewards:
            scores.append(reward.components.get(name, scores[-1] if scores else 0.0))
        return failing_turn(scores)

    return pivot


class Retrying(Wrapper):
    """An environment that sets a failed episode back to the failing turn, and lets it go on.

    Works around any environment with snapshots. The agent is told that it failed, with the
    grade's feedback where asked for, and what it saw at that moment; it reflects and goes on, in
    the same conversation. The turn that is set back takes back what the undone turns were given,
    so that failing earns nothing. The episode's grade is that of the last attempt; the grades of
    failed ones are kept as components, and the turns that were not undone as a label.

    Source: Shi et al., "R3L: Reflect-then-Retry Reinforcement Learning with Language-Guided
    Exploration, Pivotal Credit, and Positive Amplification" (2026).

    Args:
        inner: The environment that is played; it can snapshot.
        retries: How often an episode is set back.
        pivot: Which turn to try again.
        feedback: Whether the agent is shown the grade's feedback, which may tell of the solution.
        success: The grade from which an attempt counts; None takes the task's own.
    """

    def __init__(
        self,
        inner: Environment,
        *,
        retries: int = 1,
        pivot: Pivot = by_rewards,
        feedback: bool = False,
        success: float | None = None,
    ) -> None:
        super().__init__(inner)
        self._retries, self._pivot = retries, pivot
        self._feedback, self._success = feedback, success
        self._needed = 1.0
        self._failed: list[float] = []
        self._turns = 0
        self._path: list[int] = []
        self._rewards: list[Reward] = []
        self._before: list[tuple[Snapshot, Observation]] = []

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        """Begin an episode; see `Environment.reset`."""
        observation = await self.inner.reset(task, seed=seed)
        self._needed = task.success if self._success is None else self._success
        self._failed, self._turns = [], 0
        self._path, self._rewards = [], []
        self._before = [(await self.inner.snapshot(), observation)]
        return observation

    async def step(self, action: Action) -> Transition:
        """Carry out one turn; one that fails the episode sets it back, while it may be."""
        transition = await self.inner.step(action)
        self._path.append(self._turns)
        self._turns += 1
        self._rewards.append(transition.reward)
        if not transition.over:
            self._before.append((await self.inner.snapshot(), transition.observation))
            return transition
        if transition.reward.value >= self._needed or len(self._failed) >= self._retries:
            return transition.model_copy(update={"reward": self._marked(transition.reward)})
        return await self._set_back(transition)

    async def grade(self) -> Reward:
        """Grade the episode as it stands, with the marks of its retries."""
        return self._marked(await self.inner.grade())

    async def _set_back(self, failed: Transition) -> Transition:
        self._failed.append(failed.reward.value)
        turn = min(max(self._pivot(self._rewards), 0), len(self._path) - 1)
        snapshot, seen = self._before[turn]
        observation = await self.inner.restore(snapshot)
        feedback = failed.reward.feedback if self._feedback else None
        words = WORDS.format(
            feedback=f" {feedback}" if feedback else "", turn=turn + 1, seen=seen.text
        )
        # Answers to the failing turn's calls come first, as chat templates demand.
        messages = (*failed.observation.messages, Message(role="user", content=words))
        undone = sum(reward.value for reward in self._rewards[turn:-1])
        del self._path[turn:], self._rewards[turn:], self._before[turn + 1 :]
        return Transition(
            observation=Observation(messages=messages, tools=observation.tools),
            reward=Reward(value=-undone),
            info=failed.info,
        )

    def _marked(self, grade: Reward) -> Reward:
        if not self._failed:
            return grade
        grades = {f"attempt_{number}": value for number, value in enumerate(self._failed, 1)}
        kept = ",".join(str(turn) for turn in self._path)
        return grade.model_copy(
            update={
                "components": {**grade.components, **grades},
                "labels": {**grade.labels, KEPT: kept},
            }
        )


class Reflect(Recipe):
    """Keeps turns that were undone from being reinforced by the success of a retry.

    For episodes of a `Retrying` environment: an undone turn's advantage is at most 0. With
    `Replay` among the recipes, what it remembers of such an episode is the sequence without the
    undone turns and the reflection, so that the policy learns to do right at once::

        recipes=[Reflect(), Replay()]
    """

    def credit(self, batch: Batch, trainer: "TurnLevelGRPOTrainer") -> None:
        """Cap the advantages of undone turns at 0."""
        for number, row in enumerate(batch.inputs):
            kept = kept_turns(row)
            if kept is None:
                continue
            advantages, turns = batch.tensors["advantages"][number], batch.turns[number]
            stays = turns.new_tensor([-1, *kept])
            undone = (turns.unsqueeze(1) != stays).all(dim=1)
            advantages[undone] = advantages[undone].clamp(max=0.0)
