import asyncio
import hashlib
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from sqlalchemy import create_engine, exc

from agentgym_sql.results import Result
from agentgym_sql.servers import ServerBackend, open_server
from agentgym_sql.session import Session
from agentgym_sql.sqlite import SqliteBackend

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, joined DATE, vip BOOLEAN);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    amount REAL,
    note TEXT,
    receipt BLOB
);
CREATE INDEX purchase_customer ON purchase (customer_id);
INSERT INTO customer VALUES
    (1, 'Ann', '2021-03-01', 1), (2, 'Bo', '2022-07-15', 0), (3, 'Ann', NULL, NULL);
INSERT INTO purchase VALUES
    (1, 1, 10.5, 'first', x'00ff'), (2, 1, 20.25, NULL, NULL), (3, 2, 7, 'ü', NULL),
    (4, 2, 7, 'ü', NULL);
"""


def make_shop(path: Path) -> Path:
    """Write the small database most tests run on."""
    with sqlite3.connect(path) as connection:
        connection.executescript(SHOP)
    connection.close()
    return path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop.sqlite")


@pytest.fixture
def unchanged(shop: Path) -> Iterator[None]:
    """Hold the test to leaving the file and its folder as they are."""
    before = hashlib.sha256(shop.read_bytes()).hexdigest()
    yield
    assert hashlib.sha256(shop.read_bytes()).hexdigest() == before
    assert [entry.name for entry in shop.parent.iterdir()] == [shop.name]


@pytest.fixture
async def backend() -> AsyncIterator[SqliteBackend]:
    async with SqliteBackend() as opened:
        yield opened


@pytest.fixture
async def reader(backend: SqliteBackend, shop: Path) -> AsyncIterator[Session]:
    async with await backend.open(shop) as session:
        yield session


@pytest.fixture
async def writer(backend: SqliteBackend, shop: Path) -> AsyncIterator[Session]:
    async with await backend.open(shop, writable=True) as session:
        yield session


class Runner(Protocol):
    """Runs a statement with limits that do not matter to the test."""

    def __call__(
        self,
        session: Session,
        sql: str,
        *,
        timeout_s: float = ...,
        max_rows: int = ...,
        max_bytes: int = ...,
    ) -> Awaitable[Result]: ...


async def _run(
    session: Session,
    sql: str,
    *,
    timeout_s: float = 20.0,
    max_rows: int = 100,
    max_bytes: int = 100_000,
) -> Result:
    return await session.execute(sql, timeout_s=timeout_s, max_rows=max_rows, max_bytes=max_bytes)


@pytest.fixture
def run() -> Runner:
    return _run


class Server(NamedTuple):
    """A private database server.

    Attributes:
        url: Its administrator's.
        folder: Everything it writes.
        process: The server's own.
    """

    url: str
    folder: Path
    process: "subprocess.Popen[bytes]"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Serve PostgreSQL on a port and in a folder of its own."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = shutil.which("initdb", path=":".join(map(str, reversed(programs)))) or _absent(
        "initdb", "postgresql"
    )
    with _server_folder("pg") as folder:
        data, port = folder / "data", _free_port()
        _as_server_user(initdb, "-D", data, "-U", "admin", "--auth=trust", "-E", "UTF8", "-N")
        command = _user_command(
            Path(initdb).with_name("postgres"),
            "-D",
            data,
            "-p",
            port,
            "-k",
            folder,
            "-F",
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=60",
        )
        url = f"postgresql+psycopg://admin@127.0.0.1:{port}/postgres"
        with _serving(command, folder, url) as process:
            yield Server(url, folder, process)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    """Serve MariaDB on a port and in a folder of its own."""
    install = shutil.which("mariadb-install-db") or _absent("mariadb-install-db", "mariadb-server")
    daemon = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin") or _absent(
        "mariadbd", "mariadb-server"
    )
    with _server_folder("maria") as folder:
        data, port = folder / "data", _free_port()
        start = folder / "start.sql"
        start.write_text(
            "CREATE USER admin@localhost IDENTIFIED BY 'pw';\n"
            "GRANT ALL ON *.* TO admin@localhost WITH GRANT OPTION;\n"
        )
        start.chmod(0o644)
        _as_server_user(install, "--no-defaults", f"--datadir={data}", "--skip-test-db")
        command = _user_command(
            daemon,
            "--no-defaults",
            f"--datadir={data}",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--socket={folder}/socket",
            f"--init-file={start}",
            f"--pid-file={folder}/pid",
            "--lower-case-table-names=1",
            f"--tmpdir={folder}",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=64M",
            "--skip-log-bin",
        )
        url = f"mysql+pymysql://admin:pw@127.0.0.1:{port}/mysql"
        with _serving(command, folder, url) as process:
            yield Server(url, folder, process)


def _absent(program: str, package: str) -> str:
    reason = f"{program} is not installed: apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _server_user() -> str | None:
    """Return whom servers run as: they refuse to be root."""
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "mysql", "nobody") if name in users)


def _user_command(*words: object) -> list[str]:
    command = [str(word) for word in words]
    user = _server_user()
    return command if user is None else ["setpriv", f"--reuid={user}", "--clear-groups", *command]


def _as_server_user(*words: object) -> None:
    done = subprocess.run(_user_command(*words), capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr + done.stdout


@contextmanager
def _server_folder(name: str) -> Iterator[Path]:
    # Not under tmp_path: a socket's path has to be short, and the server's user to reach it.
    folder = Path(tempfile.mkdtemp(prefix=f"agentgym-{name}-"))
    try:
        user = _server_user()
        if user is not None:
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _serving(command: list[str], folder: Path, url: str) -> Iterator["subprocess.Popen[bytes]"]:
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/")
    try:
        _await_connection(process, url, log)
        yield process
    finally:
        process.send_signal(signal.SIGINT if "postgres" in url else signal.SIGTERM)
        process.wait(timeout=60)


def _await_connection(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    engine = create_engine(url)
    deadline = time.monotonic() + 60
    while True:
        try:
            engine.connect().close()
        except exc.OperationalError:
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.05)  # between two tries to reach a server that is starting
        else:
            engine.dispose()
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    """Run the test on each server."""
    running: Server = request.getfixturevalue(request.param)
    return running


@pytest.fixture(scope="session")
def postgres_backend(postgres: Server) -> Iterator[ServerBackend]:
    backend, _ = open_server(postgres.url)
    yield backend
    asyncio.run(backend.close())


@pytest.fixture(scope="session")
def mariadb_backend(mariadb: Server) -> Iterator[ServerBackend]:
    backend, _ = open_server(mariadb.url)
    yield backend
    asyncio.run(backend.close())


@pytest.fixture
def servers(server: Server, request: pytest.FixtureRequest) -> ServerBackend:
    """Return the backend of the test's server, which all tests share."""
    name = "postgres" if "postgresql" in server.url else "mariadb"
    backend: ServerBackend = request.getfixturevalue(f"{name}_backend")
    return backend
