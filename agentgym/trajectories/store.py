"""The store of runs, trajectories and what trainings measured: one SQLite file, or PostgreSQL.

What is saved is committed when `save` returns. Secrets are redacted on the way in. Several
processes may write to one store, also to one run.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from agentgym.errors import StoreError, UnknownNameError, UsageError
from agentgym.trajectories import codec
from agentgym.trajectories.database import open_engine, store_errors
from agentgym.trajectories.metrics import Metrics
from agentgym.trajectories.record import EpisodeKey, RunRecord, Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.rows import Row, episode_row, episode_summary, run_row, run_summary
from agentgym.trajectories.summaries import EpisodeSummary, RunSummary
from agentgym.trajectories.tables import episodes, insert_episode, run_counts, runs

_CHUNK = 16  # records held at once while a run is read


def run_exists(run_id: str) -> UsageError:
    """Return the error for a run that is there already."""
    return UsageError(
        f"The store already has a run {run_id!r}.",
        remedy="Go on with it by --resume, or choose another --run-id.",
    )


class TrajectoryStore:
    """Runs and their episodes; made by `open`, usable from several threads.

    Args:
        engine: An open database with the store's tables.
        redactor: Removes secrets from what is written.

    Attributes:
        metrics: What trainings measured.
    """

    def __init__(self, engine: sa.Engine, redactor: Redactor) -> None:
        self.metrics = Metrics(engine)
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
            StoreError: The store cannot be written, or a setting has no JSON form.
        """
        row = run_row(record, self._redactor)
        with store_errors(f"Run {record.run_id!r} cannot be added"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(runs.insert(), row)
            except IntegrityError as error:
                raise run_exists(record.run_id) from error

    def has_run(self, run_id: str) -> bool:
        """Whether there is a run of that id.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading() as connection:
            found = connection.scalar(sa.select(runs.c.id).where(runs.c.run_id == run_id))
        return found is not None

    def redacted(self, record: RunRecord) -> RunRecord:
        """Return a run as `get_run` gives it back once it is created: secrets left out."""
        return RunRecord.model_validate_json(run_row(record, self._redactor)["record"])

    def get_run(self, run_id: str) -> RunRecord:
        """Return a run's record.

        Raises:
            UnknownNameError: There is no such run.
            StoreError: It cannot be read.
        """
        with self._reading() as connection:
            text = connection.scalar(sa.select(runs.c.record).where(runs.c.run_id == run_id))
        if text is None:
            raise self._unknown(run_id)
        try:
            return RunRecord.model_validate_json(text)
        except ValueError as error:
            raise StoreError(
                f"The record of run {run_id!r} is damaged.", remedy="Restore it from a backup."
            ) from error

    def list_runs(self) -> list[RunSummary]:
        """Return every run, oldest first, without reading a record."""
        with self._reading() as connection:
            rows = connection.execute(run_counts()).all()
        return [run_summary(row) for row in rows]

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
        return episode_row(trajectory, self._run_key(trajectory.run_id), self._redactor)

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
        with self._reading() as connection:
            rows = connection.execute(query)
            return {EpisodeKey(task_id=task_id, epoch=epoch) for task_id, epoch in rows}

    def trajectories(self, run_id: str) -> Iterator[Trajectory]:
        """Yield a run's episodes in task order, then by epoch; few are in memory at once.

        What is saved while this runs may or may not be seen.

        Raises:
            UnknownNameError: There is no such run.
            StoreError: A record is damaged.
        """
        ordered = self._in_task_order(run_id, episodes.c.id)
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            query = sa.select(episodes.c.id, episodes.c.blob).where(
                episodes.c.id.in_([row.id for row in chunk])
            )
            with self._reading() as connection:
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
        query = sa.select(episodes.c.blob).where(
            episodes.c.run == self._run_key(run_id),
            episodes.c.task_id == key.task_id,
            episodes.c.epoch == key.epoch,
        )
        with self._reading() as connection:
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
        return [episode_summary(row) for row in self._in_task_order(run_id, *columns)]

    def _in_task_order(self, run_id: str, *columns: sa.Column[Any]) -> list[sa.Row[Any]]:
        """Return columns of a run's episodes, and `task_id` and `epoch`, in task order."""
        position = {task_id: i for i, task_id in enumerate(self.get_run(run_id).task_ids)}
        query = sa.select(episodes.c.task_id, episodes.c.epoch, *columns).where(
            episodes.c.run == self._run_key(run_id)
        )
        with self._reading() as connection:
            rows = list(connection.execute(query))
        last = len(position)
        return sorted(
            rows, key=lambda row: (position.get(row.task_id, last), row.task_id, row.epoch)
        )

    def _run_key(self, run_id: str) -> int:
        """Return the key that stands for a run in this store; it never changes."""
        if run_id not in self._run_keys:
            with self._reading() as connection:
                key = connection.scalar(sa.select(runs.c.id).where(runs.c.run_id == run_id))
            if key is None:
                raise self._unknown(run_id)
            self._run_keys[run_id] = key
        return self._run_keys[run_id]

    def _unknown(self, run_id: str) -> UnknownNameError:
        with self._reading() as connection:
            known = connection.scalars(sa.select(runs.c.run_id)).all()
        return UnknownNameError("run", run_id, known)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            yield connection
