import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.errors import ProtocolError, UsageError
from agentgym_sql.guarded import guarded_connect
from agentgym_sql.results import DatabaseUnusableError, StatementError
from agentgym_sql.session import Session
from agentgym_sql.sqlite import SqliteBackend

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20),
    st.binary(max_size=20),
)


async def test_rows_keep_their_types(reader: Session, run: Any) -> None:
    result = await run(reader, "SELECT id, amount, note, receipt FROM purchase ORDER BY id")
    assert result.columns == ("id", "amount", "note", "receipt")
    assert result.rows[:2] == [(1, 10.5, "first", b"\x00\xff"), (2, 20.25, None, None)]
    assert not result.truncated
    assert result.rowcount is None


async def test_any_stored_value_comes_back_as_it_was(
    backend: SqliteBackend, tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "any.sqlite"

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(VALUES, min_size=1, max_size=20))
    def stored(values: list[Any]) -> None:
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (v BLOB)")
            connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
        connection.close()
        with_guard = guarded_connect(path)
        rows = with_guard.run(
            "SELECT v FROM t ORDER BY rowid", timeout_s=5, max_rows=100, max_bytes=10_000
        ).rows
        with_guard.close()
        assert rows == [(v,) for v in values]
        expected.append(rows)

    expected: list[Any] = []
    stored()
    async with await backend.open(path) as session:
        assert (await run(session, "SELECT v FROM t ORDER BY rowid")).rows == expected[-1]


async def test_text_that_is_not_utf8_is_still_read(
    backend: SqliteBackend, tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "latin.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(x'4df86c' AS TEXT) AS name")
    connection.close()
    async with await backend.open(path) as session:
        assert (await run(session, "SELECT name FROM t")).rows == [("M\ufffdl",)]


@pytest.mark.parametrize(
    ("limits", "count"), [({"max_rows": 2}, 2), ({"max_rows": 0}, 0), ({"max_bytes": 35}, 4)]
)
async def test_limits_cut_the_rows_and_say_so(
    reader: Session, run: Any, limits: dict[str, int], count: int
) -> None:
    result = await run(reader, "SELECT id FROM purchase UNION ALL SELECT 9", **limits)
    assert len(result.rows) == count
    assert result.truncated


async def test_a_result_that_just_fits_is_whole(reader: Session, run: Any) -> None:
    result = await run(reader, "SELECT id FROM purchase", max_rows=4, max_bytes=32)
    assert len(result.rows) == 4
    assert not result.truncated


async def test_a_first_row_over_the_limit_is_too_big(reader: Session, run: Any) -> None:
    with pytest.raises(StatementError, match="larger than the limit of 100 bytes") as caught:
        await run(reader, "SELECT hex(zeroblob(400))", max_bytes=100)
    assert caught.value.kind == "too_big"


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        ("SELECT nope FROM customer", "error", "no such column: nope"),
        ("SELEC 1", "error", "syntax error"),
        ("", "error", "The statement is empty."),
        ("  -- nothing\n /* at all */ ;", "error", "The statement is empty."),
        ("SELECT 1; SELECT 2", "refused", "Send one statement at a time."),
        ("SELECT '\ud800'", "error", "not valid Unicode"),
        ("SELECT ?", "error", "binding"),
        ("SELECT 'a\0b'", "error", "null character"),
    ],
)
async def test_faults_are_told_clearly(
    reader: Session, run: Any, sql: str, kind: str, message: str
) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        await run(reader, sql)
    assert caught.value.kind == kind
    assert (await run(reader, "SELECT 1")).rows == [(1,)]


async def test_schema_names_columns_and_keys(writer: Session, run: Any) -> None:
    await run(writer, "CREATE VIEW vips AS SELECT name FROM customer WHERE vip")
    customer, purchase, vips = await writer.schema()
    assert (customer.name, customer.kind) == ("customer", "table")
    assert [(c.name, c.type, c.nullable, c.primary_key) for c in customer.columns] == [
        ("id", "INTEGER", False, True),
        ("name", "TEXT", False, False),
        ("joined", "DATE", True, False),
        ("vip", "BOOLEAN", True, False),
    ]
    (key,) = purchase.foreign_keys
    assert (key.columns, key.table, key.references) == (("customer_id",), "customer", ("id",))
    assert (vips.kind, [c.name for c in vips.columns]) == ("view", ["name"])


async def test_a_key_that_names_no_column_points_to_the_primary_key(
    writer: Session, run: Any
) -> None:
    await run(writer, "CREATE TABLE child (c INTEGER REFERENCES customer)")
    (key,) = (await writer.schema())[-1].foreign_keys
    assert key.references == ("id",)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO customer (name) VALUES ('Cy')",
        "UPDATE purchase SET amount = amount * 2 WHERE id = 1",
        "DELETE FROM purchase WHERE id = 4",
        "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT)",
        "CREATE TABLE t AS SELECT * FROM customer",
        "CREATE UNIQUE INDEX i ON customer (name, joined)",
        "CREATE INDEX i ON customer (lower(name)) WHERE vip",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER DELETE ON purchase BEGIN DELETE FROM customer; END",
        "ALTER TABLE customer ADD COLUMN mail TEXT DEFAULT 'none'",
        "ALTER TABLE customer RENAME TO client",
        "ALTER TABLE customer RENAME COLUMN name TO label",
        "ALTER TABLE customer DROP COLUMN joined",
        "DROP TABLE purchase",
        "DROP INDEX purchase_customer",
        "INSERT INTO purchase (customer_id, amount) SELECT id, 1 FROM customer",
    ],
)
@pytest.mark.usefixtures("unchanged")
async def test_a_writable_view_takes_every_change_and_keeps_it_to_itself(
    backend: SqliteBackend, shop: Path, run: Any, sql: str
) -> None:
    async with await backend.open(shop) as pristine:
        before = await pristine.state_hash()
    async with await backend.open(shop, writable=True) as session:
        assert await session.state_hash() == before
        await run(session, sql)
        assert await session.state_hash() != before
    async with await backend.open(shop, writable=True) as fresh:
        assert await fresh.state_hash() == before


async def test_rowcount_tells_what_changed(writer: Session, run: Any) -> None:
    assert (await run(writer, "UPDATE purchase SET note = 'x'")).rowcount == 4
    returned = await run(writer, "DELETE FROM purchase RETURNING id", max_rows=1)
    assert (returned.rows, returned.truncated) == ([(1,)], True)
    assert (await run(writer, "SELECT count(*) FROM purchase")).rows == [(0,)]


async def test_foreign_keys_hold(writer: Session, run: Any) -> None:
    with pytest.raises(StatementError, match="FOREIGN KEY"):
        await run(writer, "INSERT INTO purchase (customer_id) VALUES (99)")


async def test_state_hash_is_of_content_alone(backend: SqliteBackend, shop: Path, run: Any) -> None:
    async with (
        await backend.open(shop, writable=True) as first,
        await backend.open(shop, writable=True) as second,
    ):
        await run(first, "CREATE TABLE total (a REAL, b TEXT)")
        await run(first, "INSERT INTO total VALUES (0.1 + 0.2 + 0.3, 'x'), (5, 'y'), (5, 'y')")
        await run(second, "create  table TOTAL(a real,\n b text)")
        for row in ("5, 'y'", "0.3 + 0.2 + 0.1, 'x'"):
            await run(second, f"INSERT INTO total VALUES ({row})")
        assert await first.state_hash() != await second.state_hash()
        await run(second, "INSERT INTO total VALUES (5, 'y')")
        assert await first.state_hash() == await second.state_hash()


async def test_save_and_load_go_back_and_forth(
    backend: SqliteBackend, shop: Path, run: Any
) -> None:
    async with await backend.open(shop, writable=True) as session:
        start = await session.save()
        await run(session, "DELETE FROM purchase")
        emptied = await session.save()
        hash_emptied = await session.state_hash()
        await run(session, "DROP TABLE purchase")
        await session.load(start)
        assert (await run(session, "SELECT count(*) FROM purchase")).rows == [(4,)]
        await session.load(emptied)
        assert await session.state_hash() == hash_emptied
    async with await backend.open(shop, writable=True) as other:
        await other.load(emptied)
        assert (await run(other, "SELECT count(*) FROM purchase")).rows == [(0,)]


async def test_chance_and_clock_are_the_episodes_own(
    backend: SqliteBackend, shop: Path, run: Any
) -> None:
    sql = "SELECT random(), hex(randomblob(8)), date('now'), datetime(), current_timestamp"

    async def draws(seed: int) -> list[Any]:
        async with await backend.open(shop, seed=seed) as session:
            return [(await run(session, sql)).rows[0] for _ in range(3)]

    first, again, other = await draws(1), await draws(1), await draws(2)
    assert first == again
    assert first != other
    assert len({row[0] for row in first}) == 3
    assert first[0][2:] == ("2025-06-15", "2025-06-15 12:00:00", "2025-06-15 12:00:00")


@pytest.mark.parametrize(
    "expression",
    [
        "date('n' || 'ow')",
        "datetime('NOW', '+1 day', 'localtime')",
        "strftime('%s')",
        "strftime('%s', x'6e6f77')",
        "julianday('now' || char(0) || 'x')",
        "unixepoch()",
        "time()",
    ],
)
async def test_no_spelling_of_now_reads_the_wall_clock(
    reader: Session, run: Any, expression: str
) -> None:
    fixed = expression.replace("()", "('2025-06-15 12:00:00')").replace("'%s')", "'%s', 'now')")
    for spelling in ("'n' || 'ow'", "'NOW'", "x'6e6f77'", "'now' || char(0) || 'x'", "'now'"):
        fixed = fixed.replace(spelling, "'2025-06-15 12:00:00'")
    fixed = fixed.replace(", 'localtime'", "")
    result = await run(reader, f"SELECT {expression}, {fixed}")
    assert result.rows[0][0] is not None
    assert result.rows[0][0] == result.rows[0][1]


async def test_dates_are_otherwise_sqlites_own(reader: Session, run: Any) -> None:
    cases = (
        "date('2024-02-30'), strftime('%W %j', '2024-05-05'), date(NULL), date('x'), "
        "unixepoch('2000-01-01'), date(2460000.5), datetime(1e9, 'unixepoch', 'weekday 0')"
    )
    with sqlite3.connect(":memory:") as plain:
        expected = plain.execute(f"SELECT {cases}").fetchall()
    plain.close()
    assert (await run(reader, f"SELECT {cases}")).rows == expected


async def test_default_clock_of_a_column_is_fixed(writer: Session, run: Any) -> None:
    await run(writer, "CREATE TABLE log (at TEXT DEFAULT CURRENT_TIMESTAMP, what TEXT)")
    await run(writer, "INSERT INTO log (what) VALUES ('x')")
    assert (await run(writer, "SELECT at FROM log")).rows == [("2025-06-15 12:00:00",)]


@pytest.mark.parametrize("writable", [False, True])
async def test_many_sessions_at_once_do_not_meet(
    backend: SqliteBackend, shop: Path, run: Any, writable: bool
) -> None:
    async def one(number: int) -> list[Any]:
        async with await backend.open(shop, writable=writable, seed=number) as session:
            if writable:
                await run(session, f"UPDATE customer SET name = 'c{number}'")
            rows = await run(session, "SELECT name FROM customer WHERE id = 1")
            return [*rows.rows, (await run(session, "SELECT random()")).rows]

    alone = await one(7)
    together = await asyncio.gather(*(one(number) for number in range(12)))
    assert together[7] == alone
    assert len({row[0] for row, _ in together}) == (12 if writable else 1)


async def test_a_file_in_wal_mode_and_with_an_odd_name_is_opened(
    backend: SqliteBackend, tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "50% of ?#ü.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.commit()
    connection.close()
    for writable in (False, True):
        async with await backend.open(path, writable=writable) as session:
            assert (await run(session, "SELECT a FROM t")).rows == [(1,)]


async def test_a_large_file_is_written_in_a_private_copy_that_leaves_nothing(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, scratch = tmp_path / "large.sqlite", tmp_path / "scratch"
    scratch.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT zeroblob(900000) AS a")
        for _ in range(7):
            connection.execute("INSERT INTO t SELECT a FROM t")
    connection.close()
    before = path.stat()
    monkeypatch.setenv("TMPDIR", str(scratch))
    async with (
        SqliteBackend() as backend,
        await backend.open(path, writable=True) as session,
    ):
        assert (await run(session, "DELETE FROM t WHERE rowid > 1")).rowcount == 127
        assert list(scratch.iterdir()) == []
        saved = await session.save()
        await run(session, "DELETE FROM t")
        await session.load(saved)
        assert (await run(session, "SELECT count(*) FROM t")).rows == [(1,)]
    assert list(scratch.iterdir()) == []
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("content", [None, b"", b"not a database" * 100])
async def test_what_is_no_database_is_the_callers_error(
    backend: SqliteBackend, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "bad.sqlite"
    if content == b"":  # SQLite reads an empty file as an empty database
        path.write_bytes(content)
        async with await backend.open(path) as session:
            assert await session.schema() == []
        return
    if content is not None:
        path.write_bytes(content)
    for writable in (False, True):
        with pytest.raises(UsageError, match="database") as caught:
            await backend.open(path, writable=writable)
        assert caught.value.remedy
    with pytest.raises(DatabaseUnusableError):
        guarded_connect(path)


async def test_a_closed_session_says_so(backend: SqliteBackend, shop: Path, run: Any) -> None:
    session = await backend.open(shop)
    await session.close()
    await session.close()
    with pytest.raises(ProtocolError):
        await run(session, "SELECT 1")


def test_sessions_serve_one_event_loop_after_another(shop: Path, run: Any) -> None:
    backend = SqliteBackend()

    async def episode() -> Any:
        async with await backend.open(shop) as session:
            return (await run(session, "SELECT count(*) FROM customer")).rows

    assert [asyncio.run(episode()) for _ in range(3)] == [[(3,)]] * 3
    asyncio.run(backend.close())


def test_gold_queries_run_guarded_in_process(shop: Path) -> None:
    connection = guarded_connect(shop)
    rows = connection.run("SELECT name FROM customer", timeout_s=5, max_rows=2, max_bytes=1000)
    assert (rows.rows, rows.truncated) == ([("Ann",), ("Bo",)], True)
    for sql, kind in (("ATTACH 'x' AS y", "refused"), ("DELETE FROM customer", "refused")):
        with pytest.raises(StatementError) as caught:
            connection.run(sql, timeout_s=5, max_rows=1, max_bytes=1000)
        assert caught.value.kind == kind
    connection.close()
