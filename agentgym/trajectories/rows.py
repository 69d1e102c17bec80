"""Records to rows of the store's tables, and rows to summaries."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any, TypeAlias

import sqlalchemy as sa

from agentgym.trajectories import codec
from agentgym.trajectories.record import EpisodeKey, RunRecord, Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.summaries import EpisodeSummary, RunSummary
from agentgym.types import Usage

Row: TypeAlias = dict[str, Any]
"""Values by column, redacted and encoded: ready to be inserted."""

_SAME = ("seed", "status", "detail", "score", "success", "turns", "attempts", "agent_faults")
_TIMES = ("model_s", "env_s")
_LISTED = ("run_id", "env", "agent", "tasks", "planned", "mean_score")


def run_row(record: RunRecord, redactor: Redactor) -> Row:
    """Return the row of a run, its settings redacted.

    Raises:
        StoreError: A setting has no JSON form.
    """
    fields = record.model_dump()
    for name in ("env_options", "agent_config", "limits", "provenance"):
        fields[name] = redactor.settings(fields[name])
    fields["tasks"] = redactor.text(record.tasks)
    return {
        "run_id": record.run_id,
        "env": record.env,
        "agent": record.agent,
        "tasks": fields["tasks"],
        "planned": len(record.task_ids) * record.epochs,
        "created_at": record.created_at.timestamp(),
        "record": codec.to_json(fields, what=f"run {record.run_id!r}"),
    }


def episode_row(trajectory: Trajectory, run: int, redactor: Redactor) -> Row:
    """Return the row of an episode, redacted.

    Args:
        trajectory: The episode.
        run: Its run's key in the store.
        redactor: Removes secrets.

    Raises:
        StoreError: The record holds something that has no JSON form.
    """
    fields = redactor.trajectory(codec.to_fields(trajectory))
    faults = Counter(fault.kind for fault in trajectory.faults)
    usage = trajectory.usage
    return {
        "run": run,
        "task_id": trajectory.key.task_id,
        "epoch": trajectory.key.epoch,
        "seed": trajectory.seed,
        "status": trajectory.outcome.status,
        "detail": fields["outcome"].get("detail", ""),
        "score": trajectory.grade.value if trajectory.grade else None,
        "success": trajectory.success,
        "turns": len(trajectory.turns),
        "attempts": trajectory.attempts,
        "agent_faults": trajectory.agent_faults,
        "faults": codec.to_json(faults, what="fault counts") if faults else None,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "model_s": trajectory.model_s,
        "env_s": trajectory.env_s,
        "started_at": trajectory.started_at.timestamp(),
        "blob": codec.pack(fields, episode=codec.name_episode(trajectory.run_id, trajectory.key)),
    }


def run_summary(row: sa.Row[Any]) -> RunSummary:
    """Return the listing's line of a run with its counts."""
    return RunSummary(
        **{name: getattr(row, name) for name in _LISTED},
        created_at=_utc(row.created_at),
        graded=row.graded or 0,
        errors=row.errors or 0,
    )


def episode_summary(row: sa.Row[Any]) -> EpisodeSummary:
    """Return the listing's line of an episode."""
    return EpisodeSummary(
        **{name: getattr(row, name) for name in (*_SAME, *_TIMES)},
        key=EpisodeKey(task_id=row.task_id, epoch=row.epoch),
        faults=json.loads(row.faults) if row.faults else {},
        usage=Usage(
            prompt_tokens=row.prompt_tokens,
            completion_tokens=row.completion_tokens,
            cost=row.cost,
        ),
        started_at=_utc(row.started_at),
    )


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
