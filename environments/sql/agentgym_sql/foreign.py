"""Task sets out of the folders of other benchmarks."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.types import Task
from agentgym_sql.guard import guarded_connect
from agentgym_sql.layouts import ForeignQuestion, detect, read_layout
from agentgym_sql.tasks import SqlPrivate, SqlPublic

SqlTask = Task[SqlPublic, SqlPrivate]


def read_folder(folder: Path) -> TaskSet | None:
    """Read an InterCode, Spider or BIRD folder.

    Every gold query is run once: a task whose gold fails or returns nothing cannot tell a right
    answer from an empty one, so it is flagged `gold_failed` or `gold_empty`.

    Returns:
        None where the folder is in none of these layouts.

    Raises:
        TaskSetError: A file of a known layout is malformed; file, index and field are named.
    """
    layout = detect(folder)
    if layout is None:
        return None
    questions = list(read_layout(folder, layout))
    info = TaskSetInfo(
        name=f"{layout}:{folder.resolve().name}",
        environment="sql",
        description=f"Questions in the {layout} layout.",
        licence="see the folder",
    )
    return TaskSet(info, list(_tasks(questions)), str(folder.resolve()))


def _tasks(questions: list[ForeignQuestion]) -> Iterator[SqlTask]:
    for path in dict.fromkeys(question.db_path for question in questions):
        _file_hash(path)
    for question in questions:
        flag = _gold_flag(question)
        yield SqlTask(
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


def _gold_flag(question: ForeignQuestion) -> str | None:
    try:
        with closing(guarded_connect(question.db_path)) as connection:
            first = connection.execute(question.gold).fetchone()
    except sqlite3.Error:
        return "gold_failed"
    return "gold_empty" if first is None else None


@cache
def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
