import hashlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from agentgym_sql.results import Result
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
