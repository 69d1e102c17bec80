"""Where a recipe can act on training, and the wrapper of environments that several build on.

Recipes are switched on in one place: `TurnLevelGRPOTrainer(..., recipes=[Replay(), ...])`. Those
that change what episodes are like are `Wrapper`s of environments as well, and say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.env import Environment
from agentgym.types import Action, Observation, Reward, Snapshot, Task, Transition

if TYPE_CHECKING:
    import torch

    from agentgym.training.trainer import TurnLevelGRPOTrainer

Rows = dict[str, Any]
"""What a `rollout_func` returns: lists of one entry a row, by name."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one row came out.

    Attributes:
        task_id: Its task.
        reward: The weighted sum of TRL's reward functions; None where none could score it.
        success: Whether the episode's grade reached the task's threshold.
        replayed: Whether it was played in an earlier batch.
    """

    task_id: str
    reward: float | None
    success: bool
    replayed: bool = False


@dataclass(slots=True)
class Batch:
    """One generation batch, after it is scored and credited and before it is trained on.

    Attributes:
        inputs: For every row of this rank, what the dataset and the rollout gave for it.
        tensors: TRL's tensors of this rank's rows: `completion_ids`, `completion_mask` and, where
            the environment's tokens are masked, `tool_mask` of shape (B, T), `advantages` of
            shape (B, T), and others. A recipe changes them in place.
        turns: The turn that sampled each completion token, or -1, of shape (B, T).
        results: Of every rank's rows; a group is `group_size` that follow one another.
        first: The place of this rank's first row in `results`.
        group_size: Episodes of the same task.
    """

    inputs: list[dict[str, Any]]
    tensors: "dict[str, torch.Tensor]"
    turns: "torch.Tensor"
    results: list[Result]
    first: int
    group_size: int

    @property
    def mask(self) -> "torch.Tensor":
        """1 where a token is trained on, else 0, of shape (B, T)."""
        mask = self.tensors["completion_mask"]
        return mask * self.tensors["tool_mask"] if "tool_mask" in self.tensors else mask

    def groups(self) -> list[list[Result]]:
        """Return the results of every rank, group by group."""
        size = self.group_size
        return [self.results[at : at + size] for at in range(0, len(self.results), size)]


def succeeded(row: Mapping[str, Any]) -> bool:
    """Return whether a row's episode succeeded: what `success` says, else a grade of 1 or more.

    Args:
        row: What the dataset and the rollout gave; `grade` is a `Reward` or its value.
    """
    if row.get("success") is not None:
        return bool(row["success"])
    grade = row.get("grade")
    value = grade.value if isinstance(grade, Reward) else grade
    return value is not None and value >= 1.0


class Recipe:
    """Something that acts on training; every method does nothing by itself.

    With several ranks each has its own copy; what all of them must agree on follows from
    `results`, which are the same everywhere.
    """

    def begin(self, step: int) -> None:
        """Hear that a generation batch is about to be played.

        Args:
            step: Optimizer steps made so far.
        """

    def weights(self, task_ids: Sequence[str]) -> list[float] | None:
        """Return how likely each task is to be drawn next, from 0; None has no opinion."""

    def rollout(self, rows: Rows, trainer: "TurnLevelGRPOTrainer") -> Rows:
        """Return the rows to train on in place of those just played; as many of them."""
        return rows

    def results(self, groups: Sequence[Sequence[Result]]) -> None:
        """Hear how the groups of every rank came out; only of episodes that were just played."""

    def credit(self, batch: Batch, trainer: "TurnLevelGRPOTrainer") -> None:
        """Change the batch's tensors before it is trained on."""

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned, for a checkpoint; see `learned.Stateful`."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned, where training goes on from a checkpoint."""


class Wrapper(Environment):
    """An environment around another; every call goes through unless overridden.

    Args:
        inner: The environment that is played.
    """

    def __init__(self, inner: Environment) -> None:
        self.inner = inner

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        """Begin an episode; see `Environment.reset`."""
        return await self.inner.reset(task, seed=seed)

    async def step(self, action: Action) -> Transition:
        """Carry out one turn; see `Environment.step`."""
        return await self.inner.step(action)

    async def grade(self) -> Reward:
        """Grade the episode as it stands."""
        return await self.inner.grade()

    async def close(self) -> None:
        """Release everything."""
        await self.inner.close()

    def recall(self, observations: Sequence[Observation], grade: Reward) -> None:
        """Prepare to play an episode again; see `Environment.recall`."""
        self.inner.recall(observations, grade)

    async def fingerprint(self) -> str:
        """Return the inner environment's fingerprint."""
        return await self.inner.fingerprint()

    async def snapshot(self) -> Snapshot:
        """Return the state of both, the inner environment and the wrapper."""
        inner = await self.inner.snapshot()
        return Snapshot(env=type(self).__name__, task_id=inner.task_id, state=(inner, self._own()))

    async def restore(self, snapshot: Snapshot) -> Observation:
        """Go back to a snapshot of both."""
        inner, own = snapshot.state
        vars(self).update({name: _apart(value) for name, value in own.items()})
        return await self.inner.restore(inner)

    def _own(self) -> dict[str, Any]:
        return {name: _apart(value) for name, value in vars(self).items() if name != "inner"}


def _apart(value: Any) -> Any:
    """Return a list as one that does not change with it; what it holds is immutable."""
    return list(value) if isinstance(value, list) else value
