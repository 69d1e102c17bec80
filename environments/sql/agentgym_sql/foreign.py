"""Task sets out of the folders of other benchmarks."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from agentgym.errors import TaskSetError
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.types import Task
from agentgym_sql.guarded import GuardedConnection, guarded_connect
from agentgym_sql.layouts import ForeignQuestion, detect_layout, read_layout
from agentgym_sql.results import DatabaseUnusableError, StatementError
from agentgym_sql.tasks import SqlPrivate, SqlPublic

SqlTask = Task[SqlPublic, SqlPrivate]

GOLD_TIMEOUT_S = 60.0
GOLD_MAX_BYTES = 1_000_000


def read_folder(folder: Path) -> TaskSet | None:
    """Read an InterCode, Spider or BIRD folder.

    Every gold query is run once: a task whose gold fails or returns nothing cannot tell a right
    answer from an empty one, so it is flagged `gold_failed` or `gold_empty`.

    Returns:
        None where the folder is in none of these layouts.

    Raises:
        TaskSetError: A file of a known layout is malformed; file, index and field are named.
    """
    layout = detect_layout(folder)
    if layout is None:
        return None
    info = TaskSetInfo(
        name=f"{layout}:{folder.resolve().name}",
        environment="sql",
        description=f"Questions in the {layout} layout.",
        licence="see the folder",
    )
    return TaskSet(info, list(_tasks(read_layout(folder))), str(folder.resolve()))


def _tasks(questions: Iterable[ForeignQuestion]) -> Iterator[SqlTask]:
    connections: dict[Path, GuardedConnection] = {}
    try:
        for question in questions:
            path = question.db_path
            if path not in connections:
                connections[path] = _connect(path)
            yield _task(question, connections[path])
    finally:
        for connection in connections.values():
            connection.close()


def _task(question: ForeignQuestion, connection: GuardedConnection) -> SqlTask:
    flag = _gold_flag(question.gold, connection)
    return SqlTask(
        id=question.id,
        split=question.split,
        public=SqlPublic(
            db=question.db_path.stem, question=question.question, hint=question.evidence
        ),
        private=SqlPrivate(
            gold=question.gold, file=question.db_path, file_hash=_file_hash(question.db_path)
        ),
        tags={"difficulty": question.difficulty} if question.difficulty else {},
        flags=(flag,) if flag else (),
    )


def _connect(path: Path) -> GuardedConnection:
    try:
        return guarded_connect(path)
    except DatabaseUnusableError as error:
        raise TaskSetError(f"{path}: {error.message}", remedy=error.remedy) from error


def _gold_flag(gold: str, connection: GuardedConnection) -> str | None:
    try:
        result = connection.run(
            gold, timeout_s=GOLD_TIMEOUT_S, max_rows=1, max_bytes=GOLD_MAX_BYTES
        )
    except StatementError:
        return "gold_failed"
    return None if result.rows else "gold_empty"


@cache
def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
