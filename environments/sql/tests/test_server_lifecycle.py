import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from agentgym.errors import EnvironmentLostError
from agentgym_sql.servers import ServerBackend, open_server

NAMES = {
    "postgresql": "SELECT datname FROM pg_database UNION SELECT rolname FROM pg_roles",
    "mysql": "SELECT schema_name FROM information_schema.schemata "
    "UNION SELECT user FROM mysql.user",
}


def ask(url: str, sql: str) -> list[Any]:
    """Ask a server as its administrator."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.exec_driver_sql(sql)
        rows = [row[0] for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def session_names(url: str) -> set[str]:
    names = ask(url, NAMES[url.split("+")[0]])
    return {name for name in names if name.startswith("agentgym_s_")}


async def test_processes_that_load_one_file_at_once_share_its_template(
    server: Any, tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "shared.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        rows = [(number, str(number)) for number in range(5000)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()

    async def count(backend: ServerBackend) -> Any:
        async with backend, await backend.open(path) as session:
            return (await run(session, "SELECT count(*), max(b) FROM t")).rows

    backends = [open_server(server.url)[0] for _ in range(3)]
    assert await asyncio.gather(*map(count, backends)) == [[(5000, "999")]] * 3


async def test_nothing_is_left_on_the_server(server: Any, shop: Path, run: Any) -> None:
    before = session_names(server.url)
    backend, _ = open_server(server.url)
    async with backend:
        reader = await backend.open(shop)
        writer = await backend.open(shop, writable=True)
        await run(reader, "SELECT 1")
        await run(writer, "DELETE FROM purchase")
        await writer.save()
        assert len(session_names(server.url) - before) == 3
        await reader.close()
        await writer.close()
    assert session_names(server.url) == before


KILLED = """
import asyncio, sys
from agentgym_sql.servers import open_server

async def main():
    backend, _ = open_server(sys.argv[1])
    async with await backend.open(sys.argv[2], writable=True):
        print("open", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@contextmanager
def killed_process(url: str, path: Path) -> Iterator[None]:
    """Run inside while another process holds a session open; then kill it."""
    command = [sys.executable, "-c", KILLED, url, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        try:
            yield
        finally:
            process.kill()


async def test_what_a_killed_process_left_is_dropped(server: Any, shop: Path) -> None:
    before = session_names(server.url)
    with killed_process(server.url, shop):
        (left,) = session_names(server.url) - before
        backend, _ = open_server(server.url)
        async with backend, await backend.open(shop):
            assert left in session_names(server.url)  # its owner lives
    deadline = time.monotonic() + 60
    while left in session_names(server.url):
        backend, _ = open_server(server.url)  # until the server has seen the owner go
        async with backend, await backend.open(shop):
            assert time.monotonic() < deadline
    assert session_names(server.url) == before


ENDING = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE usename LIKE 'agentgym_s_%%'",
    "mysql": "SELECT concat('KILL ', id) FROM information_schema.processlist "
    "WHERE user LIKE 'agentgym_s_%%'",
}


async def test_the_loss_of_the_server_is_infrastructures(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    async with await servers.open(shop) as session:
        for statement in ask(server.url, ENDING[server.url.split("+")[0]]):
            if isinstance(statement, str):
                ask(server.url, statement)
        with pytest.raises(EnvironmentLostError):
            await run(session, "SELECT 1")
    async with await servers.open(shop) as fresh:
        assert (await run(fresh, "SELECT 1")).rows == [(1,)]


async def test_a_cancelled_statement_leaves_a_usable_session(
    servers: ServerBackend, server: Any, shop: Path, run: Any
) -> None:
    sql = "SELECT pg_sleep(60)" if "postgresql" in server.url else "SELECT sleep(60)"
    async with await servers.open(shop, writable=True) as session:
        await run(session, "DELETE FROM purchase")
        running = asyncio.create_task(run(session, sql))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await run(session, "SELECT count(*) FROM purchase")).rows == [(0,)]


async def test_sessions_outlive_the_administrators_worker(
    server: Any, shop: Path, run: Any
) -> None:
    others = workers("admin")
    backend, _ = open_server(server.url)
    async with backend, await backend.open(shop, writable=True) as session:
        await run(session, "DELETE FROM purchase")
        (worker,) = workers("admin") - others
        os.kill(int(worker.name), signal.SIGKILL)
        with pytest.raises(EnvironmentLostError):
            await backend.open(shop)
        async with await backend.open(shop) as other:
            assert (await run(other, "SELECT count(*) FROM purchase")).rows == [(4,)]
        assert (await run(session, "SELECT count(*) FROM purchase")).rows == [(0,)]


async def test_a_worker_is_given_nothing_of_the_administrators(
    servers: ServerBackend, server: Any, shop: Path
) -> None:
    async with await servers.open(shop) as session:
        assert "admin" not in session.url
        told = [
            (worker / part).read_text()
            for worker in workers("server") | workers("admin")
            for part in ("cmdline", "environ")
        ]
        assert told
        assert not [text for text in told if "admin@" in text or "admin:" in text]


def workers(kind: str) -> set[Path]:
    """Return the living workers of a kind that this process has started, as folders of /proc.

    Which of them is the youngest their numbers do not tell: those start again at their limit.
    """
    own = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    folders = {Path("/proc") / child for child in own}
    return {child for child in folders if f"\0{kind}\0" in (child / "cmdline").read_text()}
