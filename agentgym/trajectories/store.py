"""The store of runs and their trajectories: one SQLite file, or a PostgreSQL database.

What is saved is committed when `save` returns. Secrets are redacted on the way in. Several
processes may write to one store, also to one run.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from agentgym.errors import StoreError, UnknownNameError, UsageError
from agentgym.trajectories import codec
from agentgym.trajectories.database import open_engine, store_errors
from agentgym.trajectories.record import EpisodeKey, RunRecord, Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.summaries import EpisodeSummary, RunSummary
from agentgym.trajectories.tables import episodes, insert_episode, runs
from agentgym.types import Usage

Row: TypeAlias = dict[str, Any]
"""An episode ready to be inserted: redacted and packed."""

_CHUNK = 16  # records held at once while a run is read

_COUNTED = ("turns", "attempts", "agent_faults", "model_s", "env_s")
_PLAIN = ("seed", "status", "detail", "score", "success", *_COUNTED)


class TrajectoryStore:
    """Runs and their episodes; made by `open`, usable from several threads.

    Args:
        engine: An open database with the store's tables.
        redactor: Removes secrets from what is written.
    """

    def __init__(self, engine: sa.Engine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor
        self._insert = insert_episode(engine.dialect.name)
        self._run_keys: dict[str, int] = {}

    @classmethod
    def open(
        cls,
        location: str | Path | None = None,
        *,
        create: bool = True,
        redactor: Redactor | None = None,
    ) -> Self:
        """Open a store, making it where there is none.

        Args:
            location: A file's path, `sqlite:///PATH` or `postgresql://...`; None takes
                `AGENTGYM_STORE`, else a file in the user's data folder.
            create: Whether a missing store is made; otherwise it is an error.
            redactor: Removes secrets; None hides what this process's environment holds.

        Raises:
            StoreError: It cannot be opened, or is not a store that this version reads.
            MissingExtraError: A PostgreSQL URL without its driver.
        """
        engine = open_engine(location, create=create)
        return cls(engine, redactor or Redactor.from_environ())

    def close(self) -> None:
        """Let go of the database; may be called twice."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def create_run(self, record: RunRecord) -> None:
        """Add a run, its settings redacted.

        Raises:
            UsageError: The store has a run of that id.
            StoreError: It cannot be written.
        """
        row = {
            "run_id": record.run_id,
            "env": record.env,
            "agent": record.agent,
            "tasks": self._redactor.text(record.tasks),
            "planned": len(record.task_ids) * record.epochs,
            "created_at": record.created_at.timestamp(),
            "record": codec.to_json(self._redact_run(record).model_dump()),
        }
        with store_errors(f"Run {record.run_id!r} cannot be added"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(runs.insert(), row)
            except IntegrityError as error:
                raise UsageError(
                    f"The store already has a run {record.run_id!r}.",
                    remedy="Go on with it by --resume, or choose another --run-id.",
                ) from error

    def get_run(self, run_id: str) -> RunRecord:
        """Return a run's record.

        Raises:
            UnknownNameError: There is no such run.
            StoreError: It cannot be read.
        """
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            text = connection.scalar(sa.select(runs.c.record).where(runs.c.run_id == run_id))
        if text is None:
            raise self._unknown(run_id)
        try:
            return RunRecord.model_validate(json.loads(text))
        except ValueError as error:
            raise StoreError(
                f"The record of run {run_id!r} is damaged.", remedy="Restore it from a backup."
            ) from error

    def list_runs(self) -> list[RunSummary]:
        """Return every run, oldest first, without reading a record."""
        failed = sa.case((episodes.c.status == "error", 1), else_=0)
        counts = (
            sa.select(
                episodes.c.run,
                sa.func.sum(1 - failed).label("graded"),
                sa.func.sum(failed).label("errors"),
                sa.func.avg(episodes.c.score).label("mean_score"),
            )
            .group_by(episodes.c.run)
            .subquery()
        )
        columns = [runs.c[name] for name in ("run_id", "env", "agent", "tasks", "planned")]
        query = (
            sa.select(*columns, runs.c.created_at, counts)
            .outerjoin(counts, counts.c.run == runs.c.id)
            .order_by(runs.c.id)
        )
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [
            RunSummary(
                **{column.name: getattr(row, column.name) for column in columns},
                created_at=_utc(row.created_at),
                graded=row.graded or 0,
                errors=row.errors or 0,
                mean_score=row.mean_score,
            )
            for row in rows
        ]

    def save(self, trajectories: Sequence[Trajectory]) -> None:
        """Save episodes in one transaction; on return they are committed.

        An episode that infrastructure broke is replaced by a later one of the same key; a
        graded one never is.

        Raises:
            UnknownNameError: A run that was not created.
            StoreError: One cannot be stored, or the store cannot be written; none was saved.
        """
        self.insert([self.pack(trajectory) for trajectory in trajectories])

    def pack(self, trajectory: Trajectory) -> Row:
        """Return an episode redacted and encoded, for `insert`; `save` does both.

        Raises:
            UnknownNameError: A run that was not created.
            StoreError: It cannot be encoded.
        """
        name = codec.name_episode(trajectory.run_id, trajectory.key)
        fields = self._redactor.trajectory(codec.to_fields(trajectory))
        faults = Counter(fault.kind for fault in trajectory.faults)
        usage = trajectory.usage
        return {
            "run": self._run_key(trajectory.run_id),
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
            "faults": codec.to_json(faults) if faults else None,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost,
            "model_s": trajectory.model_s,
            "env_s": trajectory.env_s,
            "started_at": trajectory.started_at.timestamp(),
            "blob": codec.pack(fields, episode=name),
        }

    def insert(self, rows: Sequence[Row]) -> None:
        """Save packed episodes in one transaction, as `save` does.

        Raises:
            StoreError: The store cannot be written; none was saved.
        """
        if not rows:
            return
        # One order for all writers, so that two transactions never wait for each other.
        ordered = sorted(rows, key=lambda row: (row["run"], row["task_id"], row["epoch"]))
        with store_errors("The store cannot be written"), self._engine.begin() as connection:
            connection.execute(self._insert, ordered)

    def finished(self, run_id: str) -> set[EpisodeKey]:
        """Return the episodes of a run that have a grade; all others are still to be done.

        Raises:
            UnknownNameError: There is no such run.
        """
        query = sa.select(episodes.c.task_id, episodes.c.epoch).where(
            episodes.c.run == self._run_key(run_id), episodes.c.status != "error"
        )
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            rows = connection.execute(query)
            return {EpisodeKey(task_id=task_id, epoch=epoch) for task_id, epoch in rows}

    def trajectories(self, run_id: str) -> Iterator[Trajectory]:
        """Yield a run's episodes in task order, then by epoch; few are in memory at once.

        What is saved while this runs may or may not be seen.

        Raises:
            UnknownNameError: There is no such run.
            StoreError: A record is damaged.
        """
        ordered = self._in_task_order(run_id, sa.select(*_KEY, episodes.c.id))
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            query = sa.select(episodes.c.id, episodes.c.blob).where(
                episodes.c.id.in_([row.id for row in chunk])
            )
            with store_errors("The store cannot be read"), self._engine.connect() as connection:
                blobs = {row.id: row.blob for row in connection.execute(query)}
            for row in chunk:
                key = EpisodeKey(task_id=row.task_id, epoch=row.epoch)
                yield codec.decode(blobs[row.id], episode=codec.name_episode(run_id, key))

    def get(self, run_id: str, key: EpisodeKey) -> Trajectory:
        """Return one episode.

        Raises:
            UnknownNameError: There is no such run, or no such episode in it.
            StoreError: The record is damaged.
        """
        run = self._run_key(run_id)
        query = sa.select(episodes.c.blob).where(
            episodes.c.run == run, episodes.c.task_id == key.task_id, episodes.c.epoch == key.epoch
        )
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            blob = connection.scalar(query)
        if blob is None:
            known = [f"{row.task_id}#{row.epoch}" for row in self._in_task_order(run_id)]
            raise UnknownNameError("episode", f"{key.task_id}#{key.epoch}", known)
        return codec.decode(blob, episode=codec.name_episode(run_id, key))

    def summaries(self, run_id: str) -> list[EpisodeSummary]:
        """Return a line for each episode of a run, in task order, without decoding records.

        Raises:
            UnknownNameError: There is no such run.
        """
        columns = [column for column in episodes.c if column.name != "blob"]
        return [_summary(row) for row in self._in_task_order(run_id, sa.select(*columns))]
