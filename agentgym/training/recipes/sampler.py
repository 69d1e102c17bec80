"""The order in which training draws tasks, where recipes weigh them."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch.utils.data import Sampler

from agentgym.errors import UsageError
from agentgym.training.recipes.base import Recipe


class TaskSampler(Sampler[int]):
    """Draws each batch's tasks without repetition, by the product of the recipes' weights.

    Weights are asked for when a batch is drawn, so they follow what was learned of the tasks; the
    data loader may draw one batch ahead. What was drawn is remembered, so that training that goes
    on from a checkpoint meets the batches that it would have met. Tasks of weight 0 are drawn only
    where too few others are left. The layout is that of TRL's own sampler: every task `group_size`
    times in a row, and the whole batch `repeats` times.

    Args:
        task_ids: The dataset's tasks, by row.
        recipes: Those that weigh tasks.
        group_size: Episodes of a task in a batch.
        groups: Tasks in a batch.
        repeats: How often a batch is handed out.
        seed: The same on every rank, so that all draw alike.

    Raises:
        UsageError: There are fewer tasks than a batch needs.
    """

    def __init__(
        self,
        task_ids: Sequence[str],
        recipes: Sequence[Recipe],
        *,
        group_size: int,
        groups: int,
        repeats: int,
        seed: int,
    ) -> None:
        if len(task_ids) < groups:
            raise UsageError(
                f"A batch needs {groups} tasks, and there are {len(task_ids)}.",
                remedy="Add tasks, or lower generation_batch_size.",
            )
        self._task_ids = list(task_ids)
        self._recipes = tuple(recipes)
        self._group_size, self._groups, self._repeats = group_size, groups, repeats
        self._seed = seed
        self._drawn: list[list[int]] = []
        self._epochs = 0

    def __iter__(self) -> Iterator[int]:
        """Yield row numbers, one epoch of them."""
        batches = len(self._task_ids) // self._groups
        first = batches * self._epochs
        self._epochs += 1
        for number in range(first, first + batches):
            while len(self._drawn) <= number:
                self._drawn.append(self._draw())
            batch = self._drawn[number]
            for _ in range(self._repeats):
                for number in batch:
                    yield from [number] * self._group_size

    def __len__(self) -> int:
        """Return how many row numbers an epoch has."""
        batches = len(self._task_ids) // self._groups
        return batches * self._groups * self._group_size * self._repeats

    def state_dict(self) -> dict[str, Any]:
        """Return the batches drawn so far, of every epoch."""
        return {"drawn": self._drawn}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self._drawn = state["drawn"]

    def _draw(self) -> list[int]:
        weights = [1.0] * len(self._task_ids)
        for recipe in self._recipes:
            found = recipe.weights(self._task_ids)
            if found is not None:
                weights = [weight * own for weight, own in zip(weights, found, strict=True)]
        # A weighted sample without repetition: the largest of u^(1/w) (Efraimidis and Spirakis).
        chance = random.Random(f"{self._seed}:{len(self._drawn)}")
        draws = [chance.random() for _ in weights]
        keys = [
            (draw ** (1 / weight), draw) if weight > 0 else (-1.0, draw)
            for draw, weight in zip(draws, weights, strict=True)
        ]
        order = sorted(range(len(keys)), key=lambda number: keys[number], reverse=True)
        return order[: self._groups]
