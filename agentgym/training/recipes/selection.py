"""Which tasks to play: those that still tell better episodes from worse."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentgym.training.recipes.base import Batch, Recipe, Result

if TYPE_CHECKING:
    from agentgym.training.trainer import TurnLevelGRPOTrainer


class SuccessRates:
    """A decaying estimate of each task's success rate.

    Every episode counts one, and what came before a group is multiplied by `decay`, so the
    estimate follows a policy that learns. One success and one failure are assumed at the start
    and fade likewise, so that an unknown task stands at one half.

    Args:
        decay: What earlier groups count, from 0 to 1.

    Attributes:
        counts: Of each task, successes and episodes, as far as they still count.
    """

    def __init__(self, *, decay: float = 0.7) -> None:
        self._decay = decay
        self.counts: dict[str, tuple[float, float]] = {}

    def add(self, task_id: str, successes: int, episodes: int) -> None:
        """Take in a group's outcome."""
        good, total = self.counts.get(task_id, (1.0, 2.0))
        self.counts[task_id] = (
            self._decay * good + successes,
            self._decay * total + episodes,
        )

    def __getitem__(self, task_id: str) -> float:
        """Return a task's success rate, from 0 to 1."""
        good, total = self.counts.get(task_id, (1.0, 2.0))
        return good / total


class Selection(Recipe):
    """Draws tasks by the chance that a group of theirs holds both successes and failures.

    With success rate p and groups of n episodes that chance is 1 - p^n - (1 - p)^n; all other
    groups have no advantage and teach nothing. Tasks that look solved or hopeless keep the weight
    `floor`, so that they are tried again now and then. Switched on by `recipes=[Selection()]`.

    Source: selection by learnability, Foster et al., "Learning to Reason at the Frontier of
    Learnability" (2025); Yu et al., "DAPO" (2025), drops such groups after playing them.

    Args:
        decay: See `SuccessRates`.
        floor: Weight of a task that teaches nothing, against 1 of one that always does.
        group_size: Episodes of a group; None until the first group is seen, which counts.
    """

    def __init__(
        self, *, decay: float = 0.7, floor: float = 0.05, group_size: int | None = None
    ) -> None:
        self.rates = SuccessRates(decay=decay)
        self._floor = floor
        self._size = group_size

    def weights(self, task_ids: Sequence[str]) -> list[float] | None:
        """Return each task's chance of a group that teaches; equal before any is known."""
        if self._size is None:
            return None
        return [self._weight(self.rates[task_id], self._size) for task_id in task_ids]

    def results(self, groups: Sequence[Sequence[Result]]) -> None:
        """Take in how the groups came out; rows that could not be scored do not count."""
        for group in groups:
            scored = [one for one in group if one.reward is not None]
            if scored:
                self._size = self._size or len(group)
                wins = sum(one.success for one in scored)
                self.rates.add(scored[0].task_id, wins, len(scored))

    def state_dict(self) -> dict[str, Any]:
        """Return the success rates."""
        return {"counts": self.rates.counts, "size": self._size}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self.rates.counts, self._size = state["counts"], state["size"]

    def _weight(self, rate: float, size: int) -> float:
        return max(self._floor, 1 - rate**size - (1 - rate) ** size)


class DropEqualGroups(Recipe):
    """Takes groups whose episodes all have the same reward out of the batch's average.

    Their advantages are 0 and give no gradient, but they count where the loss is averaged, so a
    batch of few telling groups learns more slowly. This scales the advantages of the others as if
    only they had been played: by rows for losses that average rows ("grpo", "dr_grpo"), by trained
    tokens for those that average tokens ("dapo", "bnpo"). It is DAPO's dynamic sampling without
    the further sampling; `Selection` makes such groups rare. A KL or entropy term is left alone.
    Switched on by `recipes=[DropEqualGroups()]`.

    Source: Yu et al., "DAPO" (2025), section 3.2.

    Args:
        largest: The largest factor, for batches where hardly a group tells anything.
    """

    def __init__(self, *, largest: float = 8.0) -> None:
        self._largest = largest

    def credit(self, batch: Batch, trainer: "TurnLevelGRPOTrainer") -> None:
        """Scale the advantages of this rank's rows."""
        telling = [number for number, group in enumerate(batch.groups()) if _differs(group)]
        kept = {
            number * batch.group_size + at for number in telling for at in range(batch.group_size)
        }
        by_token = trainer.loss_type in ("dapo", "bnpo", "cispo", "vespo")
        sizes = batch.mask.sum(dim=1) if by_token else batch.mask.new_ones(len(batch.inputs))
        counted = trainer.accelerator.gather(sizes).tolist()
        share = sum(counted[row] for row in kept)
        if share:
            factor = min(self._largest, sum(counted) / share)
            batch.tensors["advantages"] *= factor
        trainer.record("credit/dropped_groups", 1 - len(telling) / len(batch.groups()))


def _differs(group: Sequence[Result]) -> bool:
    rewards = [one.reward for one in group if one.reward is not None]
    return bool(rewards) and max(rewards) - min(rewards) > 1e-6
