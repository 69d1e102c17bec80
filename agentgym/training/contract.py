"""TRL's contract: what goes in and out of a `rollout_func`, checked before TRL sees it."""

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from agentgym.errors import UsageError
from agentgym.training.credit.base import Episode, Step
from agentgym.training.tokens import NOBODY, Row, rows
from agentgym.trajectories.record import Trajectory
from agentgym.types import TokenTrace

log = logging.getLogger("agentgym")

TASK_ID = "task_id"
"""Key of a prompt's messages: columns of the dataset do not reach a `rollout_func`."""

_PER_TOKEN = ("env_mask", "turn_ids")


def task_ids(prompts: Sequence[Any], group_size: int) -> list[str]:
    """Return the task of each prompt.

    Args:
        prompts: As TRL gives them, repeated `group_size` times in a row.
        group_size: Episodes of one prompt.

    Raises:
        UsageError: A prompt names no task, or groups are not whole.
    """
    found = [_task_id(number, prompt) for number, prompt in enumerate(prompts)]
    if len(found) % group_size == 0:
        for at in range(0, len(found), group_size):
            if len(set(found[at : at + group_size])) > 1:
                raise UsageError(
                    f"Prompts {at} to {at + group_size - 1} are of several tasks, where TRL "
                    f"repeats each prompt {group_size} times in a row.",
                    remedy="Leave the trainer's sampler as it is.",
                )
    return found


def _task_id(number: int, prompt: Any) -> str:
    last = prompt[-1] if isinstance(prompt, list) and prompt else None
    found = last.get(TASK_ID) if isinstance(last, Mapping) else None
    if not isinstance(found, str):
        raise UsageError(
            f"Prompt {number} names no task.", remedy="Pass train_dataset=spec.train_dataset."
        )
    return found


def rollout_rows(trajectories: Sequence[Trajectory], *, end_id: int) -> dict[str, Any]:
    """Return what a `rollout_func` returns for these episodes, one row each.

    An episode that infrastructure broke, or that had no room for a turn, keeps its row: one
    token that nobody sampled, and no grade.

    Args:
        trajectories: Of a policy that records tokens.
        end_id: The token such a row holds.

    Returns:
        TRL's `prompt_ids`, `completion_ids`, `logprobs` and `env_mask`, and for each row
        `turn_ids` (the turn that sampled each completion token, or -1), `episode` (the
        `credit.base.Episode`), `grade` (the `Reward`, or None), `success`, `task_id` and
        `outcome`.

    Raises:
        UsageError: An episode has no tokens, or its history was trimmed.
    """
    built = [_row(trajectory, end_id) for trajectory in trajectories]
    known = all(row.logprobs is not None for row in built)
    return {
        "prompt_ids": [list(row.prompt_ids) for row in built],
        "completion_ids": [list(row.completion_ids) for row in built],
        "logprobs": [list(row.logprobs or ()) for row in built] if known else None,
        "env_mask": [list(row.mask) for row in built],
        "turn_ids": [list(row.turns) for row in built],
        "episode": [_episode(trajectory) for trajectory in trajectories],
        "grade": [t.grade if _trained(t) else None for t in trajectories],
        "success": [t.success if _trained(t) else None for t in trajectories],
        "task_id": [trajectory.key.task_id for trajectory in trajectories],
        "outcome": [_outcome(trajectory) for trajectory in trajectories],
    }


def _trained(trajectory: Trajectory) -> bool:
    """Whether the row is the policy's doing."""
    return trajectory.grade is not None and bool(trajectory.turns)


def _row(trajectory: Trajectory, end_id: int) -> Row:
    traces = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
    if not _trained(trajectory):
        told = [fault.message for fault in trajectory.faults[-1:]]
        why = ": ".join([_outcome(trajectory), *told])
        log.warning("task %s is left out of its group: %s", trajectory.key.task_id, why)
        return _nothing(traces, end_id)
    if len(traces) < len(trajectory.turns):
        raise UsageError(
            f"Task {trajectory.key.task_id!r} has turns without tokens.",
            remedy="Play with a policy that records them.",
        )
    found = rows(traces)
    if len(found) > 1:
        raise UsageError(
            f"Task {trajectory.key.task_id!r} came to {len(found)} rows, and TRL trains one an "
            "episode.",
            remedy='Play with history="full".',
        )
    return found[0]


def _nothing(traces: Sequence[TokenTrace], end_id: int) -> Row:
    prompt = traces[0].prompt_ids if traces else (end_id,)
    return Row(prompt, (end_id,), (NOBODY,), (0.0,))


def _episode(trajectory: Trajectory) -> Episode:
    if not _trained(trajectory):
        return Episode(())
    states = [trajectory.first_fingerprint, *(turn.fingerprint for turn in trajectory.turns)]
    return Episode(
        tuple(
            Step(
                reward=turn.reward.value,
                state=state,
                tokens=len(turn.tokens.output_ids) if turn.tokens else 0,
                components=turn.reward.components,
            )
            for turn, state in zip(trajectory.turns, states, strict=False)
        )
    )


def _outcome(trajectory: Trajectory) -> str:
    outcome = trajectory.outcome
    return f"{outcome.status}:{outcome.detail}" if outcome.detail else outcome.status


def check_rows(output: Mapping[str, Any], prompts: int) -> None:
    """Find out whether TRL can train on what a `rollout_func` returns.

    Args:
        output: Lists of one entry a row, by name.
        prompts: How many prompts there were.

    Raises:
        UsageError: It cannot; key and row at fault are named.
    """
    for key in ("prompt_ids", "completion_ids", "logprobs"):
        if key not in output:
            raise UsageError(f"The rollout has no {key}.", remedy="TRL needs the key.")
    for key, values in output.items():
        if key == "logprobs" and values is None:
            continue
        if not isinstance(values, list):
            raise UsageError(f"{key} is a {type(values).__name__}, not a list of rows.")
        if len(values) != prompts:
            raise UsageError(
                f"{key} has {len(values)} rows for {prompts} prompts.",
                remedy="Return one row a prompt; TRL has repeated them already.",
            )
    for number in range(prompts):
        _check_row(output, number)


def _check_row(output: Mapping[str, Any], number: int) -> None:
    for key in ("prompt_ids", "completion_ids"):
        ids = output[key][number]
        if not ids:
            raise UsageError(f"Row {number} has empty {key}.", remedy="Give one token at least.")
        if not all(type(token) is int and token >= 0 for token in ids):
            raise UsageError(f"Row {number} has {key} that are no token ids.")
    tokens = len(output["completion_ids"][number])
    per_token = [key for key in _PER_TOKEN if key in output]
    if output["logprobs"] is not None:
        per_token.append("logprobs")
    for key in per_token:
        if len(output[key][number]) != tokens:
            raise UsageError(
                f"Row {number} has {tokens} completion_ids and {len(output[key][number])} {key}."
            )
    if "turn_ids" in output:
        _check_turns(output, number)


def _check_turns(output: Mapping[str, Any], number: int) -> None:
    turns = output["turn_ids"][number]
    mask = output["env_mask"][number] if "env_mask" in output else None
    if mask is not None and [int(turn != NOBODY) for turn in turns] != list(mask):
        raise UsageError(f"Row {number}: env_mask and turn_ids differ in what was sampled.")
    sampled = [turn for turn in turns if turn != NOBODY]
    if any(later < earlier for earlier, later in pairwise(sampled)):
        raise UsageError(f"Row {number} has turn_ids that go back.")
