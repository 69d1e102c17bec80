"""The shipped databases, and the gold of every question about them."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agentgym.content import content_path
from agentgym.errors import UnknownNameError
from agentgym.tasks import read_task_set
from agentgym.types import Task
from agentgym_sql.catalog import state_hash
from agentgym_sql.databases import DATABASES, build
from agentgym_sql.tasks import SqlPrivate, SqlPublic

SEEDS = (0, 1, 2)
SqlTask = Task[SqlPublic, SqlPrivate]
Open = Callable[[str, int], sqlite3.Connection]

TASKS: dict[str, SqlTask] = {
    task.id: task
    for task in read_task_set(content_path("tasks", "sql", "core"), SqlTask, "core")
    if task.public.db in DATABASES
}

BUILD = """
import sys
from pathlib import Path
from agentgym_sql.databases import build
build(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
"""


def dump_hash(connection: sqlite3.Connection) -> str:
    return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()


def gold(task: SqlTask) -> tuple[str, ...]:
    return task.private.statements("sqlite")


def of_kind(kind: str, db: str) -> list[SqlTask]:
    return [t for t in TASKS.values() if t.public.db == db and t.public.kind == kind]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    folder = tmp_path_factory.mktemp("databases")
    paths = {(name, seed): folder / f"{name}{seed}.sqlite" for name in DATABASES for seed in SEEDS}
    for (name, seed), path in paths.items():
        build(name, path, seed)
    return paths


@pytest.fixture
def copy_of(files: dict[tuple[str, int], Path]) -> Iterator[Open]:
    opened: list[sqlite3.Connection] = []

    def open_copy(name: str, seed: int) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        opened.append(connection)
        with closing(sqlite3.connect(files[name, seed])) as source:
            source.backup(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    yield open_copy
    for connection in opened:
        connection.close()


@pytest.mark.parametrize("name", DATABASES)
def test_same_seed_gives_the_same_rows_in_another_process(
    name: str, copy_of: Open, tmp_path: Path
) -> None:
    path = tmp_path / "again.sqlite"
    subprocess.run(
        [sys.executable, "-c", BUILD, name, str(path), "1"],
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with closing(sqlite3.connect(path)) as again:
        assert dump_hash(again) == dump_hash(copy_of(name, 1))
    assert dump_hash(copy_of(name, 0)) != dump_hash(copy_of(name, 1))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", DATABASES)
def test_size_and_foreign_keys(name: str, seed: int, copy_of: Open) -> None:
    connection = copy_of(name, seed)
    tables = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    counts = [connection.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in tables]
    assert 7 <= len(tables) <= 11
    assert 2000 <= sum(counts) <= 8000
    assert min(counts) > 0
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_build_replaces_a_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    path.write_bytes(b"not a database")
    build("shop", path)
    assert list(tmp_path.iterdir()) == [path]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="library"):
        build("libary", tmp_path / "x.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", DATABASES)
def test_gold_queries_answer_on_every_seed(name: str, copy_of: Open) -> None:
    answers = {}
    for seed in SEEDS:
        connection = copy_of(name, seed)
        for task in of_kind("query", name):
            (query,) = gold(task)
            answers[task.id, seed] = connection.execute(query).fetchall()
    assert [key for key, rows in answers.items() if key[1] == 0 and not rows] == []
    assert [key for key, rows in answers.items() if len(rows) > 250] == []
    hard_coded = [
        task.id
        for task in of_kind("query", name)
        if all(answers[task.id, seed] == answers[task.id, 0] for seed in SEEDS)
    ]
    assert hard_coded == []


@pytest.mark.parametrize("name", DATABASES)
def test_gold_mutations_change_the_state_and_keep_it_sound(name: str, copy_of: Open) -> None:
    for task in of_kind("mutation", name):
        for seed in SEEDS:
            connection = copy_of(name, seed)
            before = state_hash(connection)
            for statement in gold(task):
                connection.execute(statement)
            assert seed != 0 or state_hash(connection) != before, task.id
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == [], task.id


@pytest.mark.parametrize("name", DATABASES)
def test_questions_cover_every_difficulty_in_both_splits(name: str) -> None:
    tasks = [task for task in TASKS.values() if task.public.db == name]
    cells = Counter((task.tags["difficulty"], task.split) for task in tasks)
    assert len(tasks) >= 60
    assert set(cells) == {
        (level, split)
        for level in ("easy", "medium", "hard", "extra")
        for split in ("train", "test")
    }


def test_no_question_or_gold_occurs_twice() -> None:
    questions = Counter(task.public.question.casefold() for task in TASKS.values())
    golds = Counter((task.public.db, gold(task)) for task in TASKS.values())
    assert [question for question, n in questions.items() if n > 1] == []
    assert [statements for statements, n in golds.items() if n > 1] == []
