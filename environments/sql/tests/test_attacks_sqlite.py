"""What an agent may try on SQLite: refused with a clear message, and without effect."""

import asyncio
import os
import resource
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import EnvironmentLostError
from agentgym_sql.results import StatementError
from agentgym_sql.session import Session
from agentgym_sql.sqlite import SqliteBackend

FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
# One call that compares for minutes without ever coming back to SQLite's loop.
LATE = "instr(hex(zeroblob(490000)), hex(zeroblob(240000)) || '1')"

pytestmark = pytest.mark.usefixtures("unchanged")


async def refused(session: Session, run: Any, sql: str, kind: str = "refused") -> str:
    limit = 1.0 if kind == "timeout" else 60.0  # no other refusal may hang on the machine's load
    with pytest.raises(StatementError) as caught:
        await run(session, sql, timeout_s=limit)
    assert caught.value.kind == kind, caught.value
    assert "\n" not in caught.value.message
    assert (await run(session, "SELECT count(*) FROM customer")).rows == [(3,)]
    return caught.value.message


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("ATTACH DATABASE 'attached.sqlite' AS other", "ATTACH"),
        ("ATTACH 'file:attached.sqlite?mode=rwc' AS other", "ATTACH"),
        ("DETACH main", "DETACH"),
        ("VACUUM", "VACUUM"),
        ("VACUUM INTO 'copy.sqlite'", "VACUUM"),
        ("SELECT load_extension('libm.so.6')", "load_extension"),
        ("SELECT fts3_tokenizer('simple')", "fts3_tokenizer"),
        ("PRAGMA writable_schema = ON", "PRAGMA writable_schema"),
        ("PRAGMA query_only = OFF", "PRAGMA query_only"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode"),
        ("PRAGMA temp_store_directory = '/tmp'", "PRAGMA temp_store_directory"),
        ("PRAGMA hard_heap_limit = 0", "PRAGMA hard_heap_limit"),
        ("PRAGMA user_version = 7", "PRAGMA user_version can be read"),
        ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys can be read"),
        ("PRAGMA database_list", "PRAGMA database_list"),
        ("SELECT * FROM pragma_database_list", "PRAGMA database_list"),
        ("BEGIN", "Transaction"),
        ("COMMIT", "Transaction"),
        ("SAVEPOINT s", "Savepoint"),
    ],
)
async def test_what_reaches_beyond_the_database_is_refused(
    backend: SqliteBackend,
    shop: Path,
    run: Any,
    sql: str,
    message: str,
    writable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(shop.parent)  # where `unchanged` sees every file
    async with await backend.open(shop, writable=writable) as session:
        before = await session.state_hash()
        assert message in await refused(session, run, sql)
        assert await session.state_hash() == before


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TEMP TRIGGER t AFTER DELETE ON customer BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "ANALYZE",
    ],
)
async def test_what_a_writable_view_does_not_offer(writer: Session, run: Any, sql: str) -> None:
    await refused(writer, run, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO customer (name) VALUES ('x')",
        "UPDATE customer SET name = 'x'",
        "DELETE FROM customer",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "DROP TABLE purchase",
        "ALTER TABLE customer ADD COLUMN x",
        "REINDEX",
        "WITH x AS (SELECT 1) DELETE FROM customer",
    ],
)
async def test_a_read_only_view_takes_no_change(reader: Session, run: Any, sql: str) -> None:
    assert "read-only" in await refused(reader, run, sql)


@pytest.mark.parametrize("sql", ["UPDATE sqlite_master SET sql = ''", "DELETE FROM sqlite_master"])
@pytest.mark.parametrize("writable", [False, True])
async def test_the_schema_table_is_not_written(
    backend: SqliteBackend, shop: Path, run: Any, sql: str, writable: bool
) -> None:
    async with await backend.open(shop, writable=writable) as session:
        with pytest.raises(StatementError):
            await run(session, sql)
        assert len(await session.schema()) == 2


@pytest.mark.parametrize("writable", [False, True])
async def test_reading_helpers_are_allowed(
    backend: SqliteBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with await backend.open(shop, writable=writable) as session:
        for sql, rows in (
            ("PRAGMA table_info(purchase)", 5),
            ("SELECT * FROM pragma_table_info('purchase')", 5),
            ("PRAGMA foreign_key_list(purchase)", 1),
            ("PRAGMA index_list(purchase)", 1),
            ("SELECT * FROM json_each('[1, 2]')", 2),
            ("SELECT name FROM sqlite_master", 3),
        ):
            assert len((await run(session, sql)).rows) == rows, sql
        assert len((await run(session, "EXPLAIN QUERY PLAN SELECT * FROM customer")).rows) == 1


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize(
    "sql",
    [
        f"{FOREVER} SELECT count(*) FROM c",
        f"{FOREVER}, d AS (SELECT * FROM c LIMIT 4000) SELECT count(*) FROM d, d, d",
        f"{FOREVER} SELECT x FROM c WHERE x < 0",
        f"SELECT {LATE}, {LATE}, {LATE}",
    ],
)
async def test_what_does_not_end_is_stopped(
    backend: SqliteBackend, shop: Path, run: Any, sql: str, writable: bool
) -> None:
    async with await backend.open(shop, writable=writable) as session:
        message = await refused(session, run, sql, "timeout")
        assert message.startswith("The statement was stopped at its time limit of 1 s.")


async def test_a_stopped_change_leaves_the_database_as_it_was(writer: Session, run: Any) -> None:
    await run(writer, "INSERT INTO customer (name, joined) VALUES (hex(randomblob(9)), 'x')")
    await run(writer, "DELETE FROM customer WHERE id = 2 AND id NOT IN (SELECT 2)")
    before = await writer.state_hash()
    saved = await writer.save()
    await run(writer, "UPDATE customer SET joined = hex(randomblob(9))")
    after = await writer.state_hash()
    for sql in (
        f"INSERT INTO customer (name) {FOREVER} SELECT x FROM c",
        f"INSERT INTO customer (id, name) VALUES ({LATE}, {LATE})",  # its worker is killed
    ):
        with pytest.raises(StatementError) as caught:
            await run(writer, sql, timeout_s=0.5)
        assert caught.value.kind == "timeout"
        assert await writer.state_hash() == after
    await writer.load(saved)
    assert await writer.state_hash() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hex(zeroblob(2e8))",
        "SELECT randomblob(2000000000)",
        "SELECT replace(hex(zeroblob(400000)), '0', 'xxxxxxxxxx')",
        "SELECT '" + "x" * 10_000_000 + "'",
        f"{FOREVER} SELECT group_concat(y) FROM (SELECT hex(zeroblob(9999)) AS y FROM c LIMIT 99)",
        "SELECT " + ", ".join(f"hex(zeroblob(4e5 + {i}))" for i in range(1500)),
    ],
    ids=["blob", "random", "replace", "text", "concat", "row"],
)
async def test_what_is_too_big_is_refused_and_memory_stays_bounded(
    reader: Session, run: Any, sql: str
) -> None:
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await refused(reader, run, sql, "too_big")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - host < 100 * 1024


async def test_memory_for_sorting_and_hashing_is_bounded(reader: Session, run: Any) -> None:
    sql = f"{FOREVER} SELECT hex(zeroblob(50000)) || x AS y FROM c ORDER BY y"
    with pytest.raises(StatementError) as caught:
        await run(reader, sql, timeout_s=10)
    assert caught.value.kind == "too_big"
    assert (await run(reader, "SELECT 1")).rows == [(1,)]


async def test_a_gigabyte_of_rows_or_cells_is_cut(reader: Session, run: Any) -> None:
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = await run(reader, f"{FOREVER} SELECT x, 'text' FROM c", max_rows=1000)
    wide = await run(
        reader, f"{FOREVER} SELECT hex(zeroblob(20000)) FROM c", max_rows=10**6, max_bytes=100_000
    )
    assert (len(many.rows), many.truncated) == (1000, True)
    assert (len(wide.rows), wide.truncated) == (2, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - host < 100 * 1024


async def test_a_sixteen_million_row_join_is_stopped(
    backend: SqliteBackend, tmp_path: Path, run: Any
) -> None:
    path = tmp_path.with_name(f"{tmp_path.name}-join") / "join.sqlite"
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t AS {FOREVER} SELECT x FROM c LIMIT 4000")
    connection.close()
    async with await backend.open(path) as session:
        joined = "SELECT sum(a.x * b.x % 7) FROM t a, t b"
        with pytest.raises(StatementError) as caught:
            await run(session, joined, timeout_s=0.1)
        assert caught.value.kind == "timeout"
        cut = await run(session, "SELECT * FROM t a, t b", max_rows=10)
        assert (len(cut.rows), cut.truncated) == (10, True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "+".join("1" * 5000),
        "SELECT " + " UNION SELECT ".join("1" * 5000),
        "SELECT 1 WHERE " + "NOT " * 5000 + "1",
    ],
    ids=["parentheses", "sum", "union", "not"],
)
async def test_deep_statements_are_errors(reader: Session, run: Any, sql: str) -> None:
    await refused(reader, run, sql, "error")


async def test_the_loss_of_a_worker_is_infrastructures(
    backend: SqliteBackend, shop: Path, run: Any
) -> None:
    async with await backend.open(shop) as session:
        (worker,) = children()
        running = asyncio.create_task(run(session, f"{FOREVER} SELECT count(*) FROM c"))
        await asyncio.sleep(0)
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(EnvironmentLostError, match="signal 9"):
            await running
        with pytest.raises(EnvironmentLostError):
            await run(session, "SELECT 1")
    async with await backend.open(shop) as fresh:
        assert (await run(fresh, "SELECT 1")).rows == [(1,)]


async def test_a_cancelled_statement_leaves_a_usable_session(writer: Session, run: Any) -> None:
    await run(writer, "DELETE FROM purchase")
    running = asyncio.create_task(run(writer, f"{FOREVER} SELECT count(*) FROM c"))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await run(writer, "SELECT count(*) FROM purchase")).rows == [(0,)]


async def test_a_worker_holds_no_secret_and_no_other_descriptor(
    backend: SqliteBackend, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    async with await backend.open(shop):
        (worker,) = children()
        names, targets = inside(worker)
    assert names <= {"TZ", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"}
    sockets = [target for target in targets if target.startswith("socket:")]
    assert len(sockets) == 1, targets


async def test_no_worker_outlives_its_backend(shop: Path) -> None:
    backend = SqliteBackend()
    session = await backend.open(shop)
    (worker,) = children()
    await session.close()
    await backend.close()
    assert worker not in children()


def children() -> list[int]:
    """Return the SQLite workers of this process that still run."""
    own = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [
        int(child)
        for child in own
        if "\0sqlite\0" in (Path("/proc") / child / "cmdline").read_text()
    ]


def inside(process: int) -> tuple[set[str], list[str]]:
    """Return the names in a process's environment, and what its descriptors point to."""
    own = Path(f"/proc/{process}")
    environment = (own / "environ").read_text()
    names = {entry.split("=")[0] for entry in environment.split("\0") if entry}
    return names, [str(entry.readlink()) for entry in (own / "fd").iterdir()]
