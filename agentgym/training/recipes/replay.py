"""Replay: a group without success gets one of the task's earlier successes."""

import math
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.errors import UsageError
from agentgym.training.recipes.base import Batch, Recipe, Rows, succeeded
from agentgym.training.recipes.detours import cut, kept_turns, undone_left_out
from agentgym.training.tokens import NOBODY

if TYPE_CHECKING:
    import torch

    from agentgym.training.trainer import TurnLevelGRPOTrainer


@dataclass(frozen=True, slots=True)
class Memory:
    """A successful row.

    Attributes:
        row: What the rollout gave for it, by name.
        logprobs: Log-probability of each completion token under the policy that sampled it; None
            where it sampled them after other words than those that stand before them now.
    """

    row: dict[str, Any]
    logprobs: list[float] | None


class Replay(Recipe):
    """Puts a remembered success in place of one failure of a group that has no success.

    On hard tasks most groups fail as a whole and teach nothing; one success gives such a group a
    direction. The newest successes of each task are kept, of every rank on every rank.

    A replayed row was sampled by an earlier policy. Each of its tokens is weighed by the ratio of
    its probability now to that of then, cut at `largest`; on top of that TRL's loss clips around
    the policy that this batch began with, as for every row. So the correction for age and the
    limit of the step are kept apart: were the old log-probabilities put in TRL's ratio itself,
    its clip would end all learning from a success as soon as it is `epsilon_high` likelier than
    when it was sampled. The probabilities of then are taken from the model in training when the
    row is first seen, at the cost of a forward pass a batch where TRL does not make it anyway.
    Where TRL weighs tokens by the sampler's log-probabilities itself (vLLM), these travel with
    the row, and that same weight covers its age.

    Of an episode that was set back (`reflect.Retrying`) the sequence without the undone turns is
    kept. Its tokens were sampled after words that are left out, so there is no ratio to take: it
    counts as an advantage-weighted example, as in RLTF-SD.

    Source: the experience replay of Lu et al., "ARPO: End-to-End Policy Optimization for GUI
    Agents with Experience Replay" (2025); the two ratios, Hilton et al., "Batch size-invariance
    for policy optimization" (2022); for retries, Song et al., "Expanding the Capabilities of
    Reinforcement Learning via Text Feedback" (2026).

    Args:
        capacity: Successes kept a task.
        largest: Largest weight of a replayed token.

    Raises:
        UsageError: The capacity is below 1.
    """

    def __init__(self, *, capacity: int = 4, largest: float = 2.0) -> None:
        if capacity < 1:
            raise UsageError("Replay keeps nothing.", remedy="Give a capacity of 1 or more.")
        self._largest = largest
        self._memories: dict[str, deque[Memory]] = defaultdict(lambda: deque(maxlen=capacity))
        self._used: dict[str, int] = defaultdict(int)
        self._keys: set[str] = set()

    def __len__(self) -> int:
        """Return how many successes are kept."""
        return sum(len(kept) for kept in self._memories.values())

    def rollout(self, rows: Rows, trainer: "TurnLevelGRPOTrainer") -> Rows:
        """Replace the last row of every group that has no success and whose task has a memory."""
        self._keys = set(rows)
        count = len(rows["task_id"])
        first = trainer.accelerator.process_index * count
        own = list(zip(rows["task_id"], map(succeeded, _by_row(rows)), strict=True))
        every: list[tuple[str, bool]] = trainer.gathered(own)
        changed = {key: list(value) for key, value in rows.items() if isinstance(value, list)}
        changed |= {"replayed": [False] * count, "replayed_logprobs": [None] * count}
        for at in range(0, len(every), trainer.group_size):
            group = every[at : at + trainer.group_size]
            task_id = group[0][0]
            if any(success for _, success in group) or not self._memories[task_id]:
                continue
            memory = self._next(task_id)  # on every rank, so that all stay alike
            place = at + len(group) - 1 - first
            if 0 <= place < count:
                _put(changed, place, memory)
        return {**rows, **changed}

    def credit(self, batch: Batch, trainer: "TurnLevelGRPOTrainer") -> None:
        """Weigh the tokens of replayed rows, and remember new successes."""
        if not any(one.success or one.replayed for one in batch.results):
            return
        sampler = trainer.corrects_sampler
        key = "sampling_per_token_logps"
        logprobs = batch.tensors[key] if sampler else trainer.old_logprobs(batch.tensors)
        found: list[tuple[str, Memory]] = []
        for number, row in enumerate(batch.inputs):
            result = batch.results[batch.first + number]
            if result.replayed:
                old = row["replayed_logprobs"]
                if old is not None and not sampler:
                    now = logprobs[number, : len(old)]
                    weight = (now - now.new_tensor(old)).exp().clamp(max=self._largest)
                    batch.tensors["advantages"][number, : len(old)] *= weight
            elif result.success and result.reward is not None and kept_turns(row) != []:
                found.append((result.task_id, self._memory(batch, number, logprobs[number])))
        for task_id, memory in trainer.gathered(found):
            self._memories[task_id].append(memory)

    def state_dict(self) -> dict[str, Any]:
        """Return the memories, and how often each task's were used."""
        kept = {
            task_id: [(memory.row, memory.logprobs) for memory in memories]
            for task_id, memories in self._memories.items()
        }
        return {"memories": kept, "used": dict(self._used)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        for task_id, memories in state["memories"].items():
            self._memories[task_id].extend(Memory(*memory) for memory in memories)
        self._used.update(state["used"])

    def _next(self, task_id: str) -> Memory:
        """Return the task's memories in turn, the newest first."""
        kept = self._memories[task_id]
        self._used[task_id] += 1
        return kept[-1 - (self._used[task_id] - 1) % len(kept)]

    def _memory(self, batch: Batch, number: int, logprobs: "torch.Tensor") -> Memory:
        row = batch.inputs[number]
        tokens = len(row["turn_ids"])
        read = batch.tensors["prompt_mask"][number].bool()
        kept = {
            **{key: value for key, value in row.items() if key in self._keys},
            "prompt_ids": batch.tensors["prompt_ids"][number][read].tolist(),
            "completion_ids": batch.tensors["completion_ids"][number, :tokens].tolist(),
            "env_mask": [int(turn != NOBODY) for turn in row["turn_ids"]],
        }
        if kept_turns(row) is not None:
            return Memory(cut(kept, undone_left_out(row)), None)
        return Memory(kept, logprobs[:tokens].tolist())


def _put(rows: dict[str, list[Any]], place: int, memory: Memory) -> None:
    """Put a memory in a row's place, so far as the rollout gives such keys at all."""
    for key, values in rows.items():
        if key in memory.row:
            values[place] = memory.row[key]
    rows["replayed"][place] = True
    rows["replayed_logprobs"][place] = memory.logprobs
    if "logprobs" in rows:  # TRL takes NaN for a token whose sampler is not known
        unknown = [math.nan] * len(memory.row["completion_ids"])
        rows["logprobs"][place] = unknown if memory.logprobs is None else memory.logprobs


def _by_row(rows: Rows) -> list[dict[str, Any]]:
    names = [key for key in ("grade", "success") if isinstance(rows.get(key), list)]
    return [{key: rows[key][number] for key in names} for number in range(len(rows["task_id"]))]
