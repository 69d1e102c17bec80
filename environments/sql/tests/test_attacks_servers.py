"""What an agent may try on a server: refused with a clear message, and without effect."""

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, exc, make_url
from sqlalchemy.pool import NullPool

from agentgym_sql.results import StatementError
from agentgym_sql.servers import ServerBackend, ServerSession

CHANGES = (
    "INSERT INTO customer (name) VALUES ('x')",
    "UPDATE customer SET name = 'x'",
    "DELETE FROM customer",
    "CREATE TABLE t (a INTEGER)",
    "CREATE TEMPORARY TABLE t (a INTEGER)",
    "CREATE VIEW v AS SELECT 1",
    "DROP TABLE purchase",
    "ALTER TABLE customer ADD COLUMN x INTEGER",
    "TRUNCATE TABLE purchase",
    "/* SELECT */ -- SELECT\n DELETE FROM customer",
)
NO_QUERIES = (
    "BEGIN",
    "COMMIT",
    "COMMIT; CREATE TABLE t (a INTEGER)",
    "SET statement_timeout = 0",
    "SET SESSION max_statement_time = 0",
    "USE mysql",
    "GRANT ALL ON customer TO PUBLIC",
    "CREATE DATABASE other",
    "CREATE TEMPORARY TABLE t (a INTEGER)",
    "CREATE USER other",
    "CREATE FUNCTION f() RETURNS INTEGER RETURN 1",
    "CREATE TRIGGER t AFTER DELETE ON customer FOR EACH ROW SET @x = 1",
    "DROP DATABASE postgres",
    "LOCK TABLES customer WRITE",
    "CALL something()",
    "PREPARE p FROM 'SELECT 1'",
    "DO $$ BEGIN COMMIT; END $$",
    "KILL 1",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE customer",
    "COPY customer TO PROGRAM 'touch /tmp/agentgym-attack'",
)
POSTGRES_REACHES = (
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_export(1, '/tmp/agentgym-attack')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT set_config('statement_timeout', '0', false)",
    "SELECT pg_terminate_backend(pg_backend_pid())",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_reload_conf()",
    "SELECT inet_server_addr()",
    "SELECT current_setting('data_directory')",
    "SELECT datname FROM pg_database",
    "SELECT * FROM pg_stat_activity",
    "SELECT rolname FROM pg_roles",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_settings",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t (a int)",
    "SELECT * FROM postgres.public.customer",
    "SELECT * INTO copied FROM customer WHERE pg_read_file('/etc/passwd') <> ''",
    "WITH x AS (SELECT pg_ls_dir('/')) SELECT * FROM x",
    "EXPLAIN ANALYZE SELECT pg_read_file('/etc/passwd')",
)
MARIADB_REACHES = (
    "SELECT * FROM customer INTO OUTFILE '/tmp/agentgym-attack'",
    "SELECT name FROM customer LIMIT 1 INTO DUMPFILE '/tmp/agentgym-attack'",
    "SELECT load_file('/etc/passwd')",
    "SELECT /*! load_file('/etc/passwd') */",
    "SELECT user FROM mysql.user",
    "SELECT @@hostname",
    "SELECT @@global.datadir",
    "SELECT variable_value FROM information_schema.global_variables",
    "SHOW VARIABLES",
    "SHOW DATABASES",
    "SHOW GRANTS",
    "SHOW PROCESSLIST",
    "SELECT get_lock('x', 10)",
    "SELECT * FROM performance_schema.accounts",
)


async def refused(session: Any, run: Any, sql: str, *kinds: str) -> str:
    before = await session.state_hash()
    with pytest.raises(StatementError) as caught:
        await run(session, sql, timeout_s=0.5)
    assert caught.value.kind in (kinds or ("refused",)), caught.value
    assert "\n" not in caught.value.message
    assert "agentgym_" not in caught.value.message
    assert (await run(session, "SELECT count(*) FROM customer")).rows == [(3,)]
    assert await session.state_hash() == before
    return caught.value.message


@pytest.fixture(autouse=True)
def _no_file_written() -> Iterator[None]:
    written = Path("/tmp/agentgym-attack")
    assert not written.exists()
    yield
    assert not written.exists()


@pytest.mark.parametrize("writable", [False, True])
async def test_what_does_not_end_is_stopped(
    servers: ServerBackend, server: Any, shop: Path, run: Any, writable: bool
) -> None:
    postgres = "postgresql" in server.url
    async with await servers.open(shop, writable=writable) as session:
        for sql in (
            "SELECT pg_sleep(60)" if postgres else "SELECT sleep(60)",
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 0 FROM c) SELECT count(*) FROM c"
            if postgres
            else "SELECT benchmark(1000000000000, md5('x'))",
            "SELECT sum(a.id * b.id) FROM purchase a, purchase b, purchase c, purchase d, "
            "purchase e, purchase f, purchase g, purchase h, purchase i, purchase j, purchase k, "
            "purchase l, purchase m",
        ):
            assert "time limit of 0.5 s" in await refused(session, run, sql, "timeout")


async def test_a_read_only_session_takes_no_change(
    servers: ServerBackend, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as session:
        for sql in CHANGES:
            assert "read-only" in await refused(session, run, sql)


@pytest.mark.parametrize("writable", [False, True])
async def test_statements_that_are_no_query_are_refused(
    servers: ServerBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with await servers.open(shop, writable=writable) as session:
        for sql in NO_QUERIES:
            await refused(session, run, sql)


async def test_text_of_ten_megabytes_is_refused(
    servers: ServerBackend, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as session:
        await refused(session, run, f"SELECT '{'x' * 10_000_000}'", "too_big")


async def test_a_gigabyte_of_rows_or_cells_is_cut(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    postgres = "postgresql" in server.url
    series = "generate_series(1, 100000000)" if postgres else "s.seq FROM seq_1_to_100000000 s"
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with await servers.open(shop) as session:
        many = await run(session, f"SELECT 'text', {series}", max_rows=1000)
        wide = await run(session, f"SELECT repeat('x', 30000), {series}")
        assert (len(many.rows), many.truncated) == (1000, True)
        assert (len(wide.rows), wide.truncated) == (3, True)
        await refused(session, run, "SELECT repeat('x', 16000000)", "too_big")
        if postgres:
            await refused(session, run, "SELECT repeat('x', 600000000)", "too_big", "timeout")
            spilled = "SELECT count(*) FROM generate_series(1, 100000000)"
            with pytest.raises(StatementError, match="temporary file") as caught:
                await run(session, spilled)
            assert caught.value.kind == "too_big"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - host < 100 * 1024


@pytest.mark.parametrize("writable", [False, True])
async def test_postgres_reaches_nothing_beyond_the_database(
    postgres_backend: ServerBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with await postgres_backend.open(shop, writable=writable) as session:
        for sql in POSTGRES_REACHES:
            await refused(session, run, sql, "refused", "error")


async def test_a_postgres_reader_writes_through_no_other_door(
    postgres_backend: ServerBackend, shop: Path, run: Any
) -> None:
    async with await postgres_backend.open(shop) as session:
        for sql in (
            "WITH gone AS (DELETE FROM customer RETURNING *) SELECT * FROM gone",
            "SELECT * INTO copied FROM customer",
            "EXPLAIN ANALYZE DELETE FROM customer",
            "SELECT * FROM customer FOR UPDATE",
            "SELECT nextval('customer_id_seq')",
        ):
            await refused(session, run, sql)


@pytest.mark.parametrize("writable", [False, True])
async def test_mariadb_reaches_nothing_beyond_the_database(
    mariadb_backend: ServerBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with await mariadb_backend.open(shop, writable=writable) as session:
        for sql in MARIADB_REACHES:
            await refused(session, run, sql, "refused", "error")


async def test_helpful_statements_are_allowed(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as session:
        for sql in (
            "EXPLAIN SELECT * FROM customer",
            "(SELECT id FROM customer) UNION (SELECT id FROM purchase)",
            "WITH c AS (SELECT 1 AS a) SELECT a FROM c;",
            "SELECT table_name FROM information_schema.tables",
        ):
            assert (await run(session, sql)).rows, sql
        if "mysql" in server.url:
            for sql in ("SHOW TABLES", "DESCRIBE customer", "SHOW CREATE TABLE customer"):
                assert (await run(session, sql)).rows, sql


def _execute(engine: Engine, statements: list[str]) -> None:
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def wall(session: ServerSession, sql: str, *before: str, **parts: str) -> str:
    """Try a statement as the session's role without the gate; return the server's refusal."""
    url = make_url(session.url).set(**parts)  # type: ignore[arg-type]
    engine = create_engine(
        url,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        execution_options={"no_parameters": True},
    )
    with pytest.raises(exc.DBAPIError) as caught:
        _execute(engine, [*before, sql])
    return str(caught.value.orig)


@pytest.mark.parametrize("writable", [False, True])
async def test_behind_the_gate_the_postgres_role_can_do_no_more(
    postgres_backend: ServerBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with (
        await postgres_backend.open(shop, writable=True) as other,
        await postgres_backend.open(shop, writable=writable) as session,
    ):
        off = "SET default_transaction_read_only = off"
        for sql in (
            "COPY customer TO PROGRAM 'touch /tmp/agentgym-attack'",
            "COPY customer TO '/tmp/agentgym-attack'",
            "COPY customer FROM '/etc/passwd'",
            "CREATE EXTENSION dblink",
            "CREATE EXTENSION hstore",
            "CREATE DATABASE other",
            "CREATE ROLE other",
            "CREATE TEMP TABLE t (a int)",
            "CREATE SCHEMA s",
            "SET temp_file_limit = -1",
            "SET ROLE admin",
            "ALTER SYSTEM SET work_mem = '1GB'",
            "DO $$ BEGIN PERFORM 1; END $$",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        ):
            message = wall(session, sql, off)
            assert any(word in message for word in ("denied", "must be", "untrusted")), message
        if not writable:
            for sql in ("DELETE FROM customer", "CREATE TABLE t (a int)"):
                assert "denied" in wall(session, sql, off)
        elsewhere = make_url(other.url).database or ""
        assert "denied" in wall(session, "SELECT 1", database=elsewhere)
        assert (await run(other, "SELECT count(*) FROM customer")).rows == [(3,)]


@pytest.mark.parametrize("writable", [False, True])
async def test_behind_the_gate_the_mariadb_role_can_do_no_more(
    mariadb_backend: ServerBackend, shop: Path, run: Any, writable: bool
) -> None:
    async with (
        await mariadb_backend.open(shop, writable=True) as other,
        await mariadb_backend.open(shop, writable=writable) as session,
    ):
        elsewhere = make_url(other.url).database
        for sql in (
            "SELECT * FROM customer INTO OUTFILE '/tmp/agentgym-attack'",
            "LOAD DATA INFILE '/etc/passwd' INTO TABLE customer",
            "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE customer",
            "SET GLOBAL max_connections = 1",
            "SELECT * FROM mysql.user",
            f"SELECT * FROM {elsewhere}.customer",
            f"USE {elsewhere}",
            "USE mysql",
            "CREATE DATABASE other",
            "CREATE USER other",
            "CREATE TEMPORARY TABLE t (a int)",
            "CREATE FUNCTION f() RETURNS int RETURN 1",
            "INSTALL SONAME 'x'",
            *(() if writable else ("DELETE FROM customer", "CREATE TABLE t (a int)")),
        ):
            message = wall(session, sql)
            assert any(word in message for word in ("denied", "not allowed", "disabled")), message
        assert (await run(other, "SELECT count(*) FROM customer")).rows == [(3,)]


async def test_settings_of_the_server_do_not_change_with_the_agents(
    postgres_backend: ServerBackend, shop: Path, run: Any
) -> None:
    async with await postgres_backend.open(shop) as session:
        assert (await run(session, "SELECT 1 + 1 AS two")).rows == [(2,)]
        with pytest.raises(StatementError):
            await run(session, "SET statement_timeout = 0")
        with pytest.raises(StatementError) as caught:
            await run(session, "SELECT pg_sleep(60)", timeout_s=0.2)
        assert caught.value.kind == "timeout"
