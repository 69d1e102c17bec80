import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ProtocolError, UsageError
from agentgym_sql.results import StatementError
from agentgym_sql.servers import ServerBackend, open_server
from agentgym_sql.sqlite import SqliteBackend


@pytest.mark.usefixtures("unchanged")
async def test_rows_are_those_of_sqlite(
    servers: ServerBackend, backend: SqliteBackend, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as there, await backend.open(shop) as here:
        for sql in (
            "SELECT * FROM customer ORDER BY id",
            "SELECT id, amount, note, receipt FROM purchase ORDER BY id",
            "SELECT c.name, sum(p.amount) AS total FROM customer c JOIN purchase p "
            "ON p.customer_id = c.id GROUP BY c.id, c.name ORDER BY total DESC",
            "SELECT count(*) FROM purchase WHERE note = 'Ü'",
            "SELECT name FROM customer WHERE name LIKE '%n%' ORDER BY id",
        ):
            assert (await run(there, sql)).rows == (await run(here, sql)).rows, sql


async def test_values_are_of_the_shared_types(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as session:
        result = await run(
            session,
            "SELECT CAST(2.50 AS DECIMAL(9, 2)), CAST(3 AS DECIMAL(9, 2)), 1 = 1, "
            "CAST('2024-02-29' AS DATE), CAST('10:20:30' AS TIME), NULL",
        )
    assert result.rows == [(2.5, 3, 1, "2024-02-29", "10:20:30", None)]


async def test_schema_is_that_of_the_file(servers: ServerBackend, shop: Path) -> None:
    async with await servers.open(shop) as session:
        customer, purchase = await session.schema()
    assert [column.name for column in customer.columns] == ["id", "name", "joined", "vip"]
    assert [column.nullable for column in customer.columns] == [False, False, True, True]
    assert [column.primary_key for column in purchase.columns] == [True] + [False] * 4
    assert customer.columns[2].type == "DATE"
    (key,) = purchase.foreign_keys
    assert (key.columns, key.table, key.references) == (("customer_id",), "customer", ("id",))


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO customer (name) VALUES ('Cy')",
        "UPDATE purchase SET amount = amount * 2 WHERE id = 1",
        "DELETE FROM purchase WHERE id = 4",
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(20))",
        "CREATE UNIQUE INDEX i ON purchase (amount, id)",
        "CREATE VIEW v AS SELECT name FROM customer",
        "CREATE OR REPLACE VIEW v AS SELECT name FROM customer",
        "ALTER TABLE customer ADD COLUMN mail VARCHAR(50) DEFAULT 'none'",
        "ALTER TABLE customer RENAME TO client",
        "DROP TABLE purchase",
        "TRUNCATE TABLE purchase",
    ],
)
async def test_a_writable_session_keeps_its_changes_to_itself(
    servers: ServerBackend, shop: Path, run: Any, sql: str
) -> None:
    async with (
        await servers.open(shop) as reader,
        await servers.open(shop, writable=True) as session,
        await servers.open(shop, writable=True) as other,
    ):
        before = await reader.state_hash()
        assert await session.state_hash() == before
        await run(session, sql)
        assert await session.state_hash() != before
        # Not the cached hash: a statement that may write and changes nothing makes it anew.
        await run(other, "DELETE FROM customer WHERE id = 99")
        assert await other.state_hash() == before
        assert (await run(reader, "SELECT count(*) FROM purchase")).rows == [(4,)]


async def test_a_query_that_makes_a_table_is_noticed(
    postgres_backend: ServerBackend, shop: Path, run: Any
) -> None:
    async with await postgres_backend.open(shop, writable=True) as session:
        before = await session.state_hash()
        await run(session, "SELECT name INTO names FROM customer")
        assert await session.state_hash() != before


async def test_keys_are_given_out_from_where_the_file_left_off(
    servers: ServerBackend, shop: Path, run: Any
) -> None:
    async with await servers.open(shop, writable=True) as session:
        assert (await run(session, "INSERT INTO customer (name) VALUES ('Cy')")).rowcount == 1
        assert (await run(session, "SELECT max(id) FROM customer")).rows == [(4,)]
        with pytest.raises(StatementError, match=r"(?i)foreign key"):
            await run(session, "INSERT INTO purchase (customer_id) VALUES (99)")


async def test_save_and_load_go_back_and_forth(
    servers: ServerBackend, shop: Path, run: Any
) -> None:
    async with await servers.open(shop, writable=True) as session:
        start = await session.save()
        await run(session, "CREATE VIEW names AS SELECT name FROM customer")
        await run(session, "CREATE TABLE extra (id INTEGER PRIMARY KEY)")
        await run(session, "DELETE FROM purchase")
        changed = await session.save()
        hash_changed = await session.state_hash()
        await run(session, "DROP TABLE purchase")
        await session.load(start)
        assert (await run(session, "SELECT count(*) FROM purchase")).rows == [(4,)]
        await session.load(changed)
        assert await session.state_hash() == hash_changed
        assert len((await run(session, "SELECT * FROM names")).rows) == 3
    async with await servers.open(shop, writable=True) as other:
        await other.load(changed)
        await run(other, "ALTER TABLE extra ADD COLUMN b INTEGER")
        await run(other, "DROP VIEW names")
        assert (await run(other, "SELECT count(*) FROM purchase")).rows == [(0,)]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT nope FROM customer", "error"),
        ("SELEC 1", "refused"),
        ("SELECT FROM WHERE", "error"),
        ("", "error"),
        ("-- nothing", "error"),
        ("SELECT '\ud800'", "error"),
        ("SELECT 'a\0b'", "error"),
        ("SELECT 1; SELECT 2", "refused"),
        ("SELECT 1; DROP TABLE customer", "refused"),
    ],
)
async def test_faults_are_told_clearly(
    servers: ServerBackend, shop: Path, run: Any, sql: str, kind: str
) -> None:
    async with await servers.open(shop, writable=True) as session:
        with pytest.raises(StatementError) as caught:
            await run(session, sql)
        assert caught.value.kind == kind
        assert "agentgym_" not in caught.value.message
        assert (await run(session, "SELECT count(*) FROM customer")).rows == [(3,)]


async def test_limits_cut_the_rows_and_say_so(servers: ServerBackend, shop: Path, run: Any) -> None:
    async with await servers.open(shop) as session:
        for limits, kept in (({"max_rows": 2}, 2), ({"max_bytes": 24}, 3), ({"max_rows": 4}, 4)):
            result = await run(session, "SELECT id FROM purchase", **limits)
            assert len(result.rows) == kept
            assert result.truncated == (kept < 4)
        assert (await run(session, "SELECT 1")).rows == [(1,)]


async def test_random_numbers_follow_from_the_seed(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    sql = "SELECT random()" if "postgresql" in server.url else "SELECT rand()"

    async def draws(seed: int) -> list[Any]:
        async with await servers.open(shop, seed=seed) as session:
            return [(await run(session, sql)).rows for _ in range(2)]

    first, again, other = await draws(1), await draws(1), await draws(2)
    assert first == again != other
    assert first[0] != first[1]


async def test_many_sessions_at_once_do_not_meet(
    servers: ServerBackend, shop: Path, run: Any
) -> None:
    async def one(number: int) -> Any:
        async with await servers.open(shop, writable=True) as session:
            await run(session, f"UPDATE customer SET name = 'c{number}'")
            return (await run(session, "SELECT DISTINCT name FROM customer")).rows

    assert await asyncio.gather(*map(one, range(5))) == [[(f"c{n}",)] for n in range(5)]


async def test_a_closed_session_says_so(servers: ServerBackend, shop: Path, run: Any) -> None:
    session = await servers.open(shop)
    await session.close()
    await session.close()
    with pytest.raises(ProtocolError):
        await run(session, "SELECT 1")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://nobody@127.0.0.1:1/postgres",
        "mysql+pymysql://nobody:x@127.0.0.1:1/mysql",
    ],
)
async def test_an_unreachable_server_is_the_callers_error(url: str, shop: Path) -> None:
    backend, _ = open_server(url)
    async with backend:
        with pytest.raises(UsageError, match="cannot be used") as caught:
            await backend.open(shop)
    assert caught.value.remedy


@pytest.mark.parametrize("url", ["not a url", "oracle://x@y/z", "postgresql+asyncpg://x@y/z"])
def test_a_wrong_url_is_the_callers_error(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_server(url)
    assert caught.value.remedy


async def test_a_user_without_the_rights_is_the_callers_error(
    server: Any, servers: ServerBackend, shop: Path
) -> None:
    async with await servers.open(shop) as session:
        backend, _ = open_server(session.url)
        async with backend:
            with pytest.raises(UsageError):
                await backend.open(shop)


ODD = """
CREATE TABLE "Order Line" ("select" TEXT PRIMARY KEY, "Per%cent" NUMERIC, mixed, empty,
    born DATETIME DEFAULT CURRENT_TIMESTAMP, flag BOOL NOT NULL DEFAULT 1,
    state TEXT DEFAULT 'it''s');
INSERT INTO "Order Line" VALUES
    ('a', 1, 'x', NULL, '2020-01-01 10:00:00', 1, '50%'), ('A', 2.5, 3, NULL, NULL, 0, ':y');
CREATE TABLE broken (id INT PRIMARY KEY, parent REFERENCES "Order Line" ("select"),
    nowhere REFERENCES missing (id), loose INT REFERENCES "Order Line" (flag), self INT
    REFERENCES broken (id) ON DELETE CASCADE);
INSERT INTO broken VALUES (1, 'gone', 5, 7, 1), (2, 'a', NULL, NULL, 1);
"""


async def test_odd_files_are_loaded(
    servers: ServerBackend, server: Any, tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "odd.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(ODD)
    connection.close()
    quote = '"' if "postgresql" in server.url else "`"
    line = f"{quote}order line{quote}"
    async with await servers.open(path, writable=True) as session:
        rows = (await run(session, f"SELECT * FROM {line} ORDER BY flag DESC")).rows
        assert rows == [
            ("a", 1.0, "x", None, "2020-01-01 10:00:00", 1, "50%"),
            ("A", 2.5, "3", None, None, 0, ":y"),
        ]
        await run(session, f"INSERT INTO {line} ({quote}select{quote}) VALUES ('b')")
        added = await run(
            session, f"SELECT flag, state FROM {line} WHERE born IS NULL AND flag = 1"
        )
        assert added.rows == [(1, "it's")]
        await run(session, "DELETE FROM broken WHERE id = 1")
        assert (await run(session, "SELECT count(*) FROM broken")).rows == [(0,)]
        foreign = [key for table in await session.schema() for key in table.foreign_keys]
        assert sorted(key.table for key in foreign) == ["broken", "order line"]
