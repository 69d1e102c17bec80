"""Guidance: a hint with the tasks that fail as a whole, taken away once they succeed."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentgym.env import Environment
from agentgym.training.recipes.base import Recipe, Result, Wrapper
from agentgym.types import Message, Observation, Task


class Guidance(Recipe):
    """Adds words of a teacher to the first observation of tasks that nobody in a group solved.

    A task is guided from the group after `patience` failed groups in a row, and is on its own
    again after a guided group with a success, or after `limit` guided groups. The guidance stays
    in the prompt that is trained on, so training is on-policy; that it is withdrawn is what makes
    the policy do without. The words may tell what the private part knows: guide training tasks
    only. It acts through the environment::

        guidance = Guidance(lambda task: task.private.hint)
        environment = guidance.wrap(environment)  # wherever the rollout makes it
        trainer = TurnLevelGRPOTrainer(..., recipes=[guidance])

    Source: Da et al., "Agent-RLVR: Training Software Engineering Agents via Guidance and
    Environment Rewards" (2025).

    Args:
        words: From a task to its guidance; an empty text guides nothing.
        patience: Groups in a row without a success before the guidance.
        limit: Guided groups in a row, at most.
    """

    def __init__(
        self, words: Callable[[Task[Any, Any]], str], *, patience: int = 1, limit: int = 3
    ) -> None:
        self._words = words
        self._patience, self._limit = patience, limit
        self._failures: dict[str, int] = defaultdict(int)
        self._guided: dict[str, int] = {}

    def guides(self, task_id: str) -> bool:
        """Return whether the task's next episodes are guided."""
        return task_id in self._guided

    def results(self, groups: Sequence[Sequence[Result]]) -> None:
        """Begin guidance after failures, and withdraw it after a success or the limit."""
        for group in groups:
            scored = [one for one in group if one.reward is not None]
            if scored:
                self._heard(scored[0].task_id, any(one.success for one in scored))

    def state_dict(self) -> dict[str, Any]:
        """Return which tasks failed how often, and which are guided since when."""
        return {"failures": dict(self._failures), "guided": self._guided}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self._failures = defaultdict(int, state["failures"])
        self._guided = dict(state["guided"])

    def wrap(self, environment: Environment) -> Environment:
        """Return the environment with guidance where a task needs it."""
        return _Guided(environment, self)

    def text(self, task: Task[Any, Any]) -> str:
        """Return the words for an episode that begins now; empty without guidance."""
        return self._words(task) if self.guides(task.id) else ""

    def _heard(self, task_id: str, success: bool) -> None:
        if success:
            self._failures[task_id] = 0
            self._guided.pop(task_id, None)
        elif task_id in self._guided:
            self._guided[task_id] += 1
            if self._guided[task_id] >= self._limit:
                del self._guided[task_id]
                self._failures[task_id] = 0
        else:
            self._failures[task_id] += 1
            if self._failures[task_id] >= self._patience:
                self._guided[task_id] = 0


class _Guided(Wrapper):
    def __init__(self, inner: Environment, guidance: Guidance) -> None:
        super().__init__(inner)
        self._guidance = guidance

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        observation = await self.inner.reset(task, seed=seed)
        words = self._guidance.text(task)
        if not words:
            return observation
        messages = (*observation.messages, Message(role="user", content=words))
        return observation.model_copy(update={"messages": messages})
