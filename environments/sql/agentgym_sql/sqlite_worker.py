"""What a worker process does with SQLite: opens one private view at a time and serves it."""

import os
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeAlias

from agentgym_sql.guarded import GuardedConnection, connect_read_only, read_only_uri, unreadable
from agentgym_sql.results import DatabaseUnusableError, StatementError
from agentgym_sql.wire import Frame, Json

MEMORY_BYTES = 512 << 20
"""What SQLite may allocate, databases held in memory included."""

IN_MEMORY_BYTES = 16 << 20
"""Content up to this size is written in memory, larger content in a private file.

Beyond it a file of the same size is made faster than fresh memory, and needs none.
"""

GROWTH_BYTES = 64 << 20
"""What an episode may add: ten million tiny rows, which are still hashed in some seconds."""

_JOURNAL_MODES = slice(18, 20)
_WAL, _ROLLBACK = b"\2\2", b"\1\1"

Content: TypeAlias = bytes | mmap


class SqliteWorker:
    """Serves one session after another; nothing of one reaches the next."""

    def __init__(self) -> None:
        setter = sqlite3.connect(":memory:")
        setter.execute(f"PRAGMA hard_heap_limit={MEMORY_BYTES}")
        setter.close()
        self._database: GuardedConnection | None = None
        self.operations: dict[str, Callable[..., Frame]] = {
            "open": self.open,
            "load": self.load,
            "execute": self.execute,
            "tables": self.tables,
            "hash": self.hash,
            "save": self.save,
            "close": self.close,
        }

    def open(self, _blob: bytes, path: str, writable: bool, seed: int) -> Frame:
        """Open a file: read-only as it is, or writable as a copy that only this sees."""
        self.close(b"")
        file = Path(path)
        if writable:
            with _content(file) as content:
                connection = _writable(content)
        else:
            connection = connect_read_only(read_only_uri(file))
        self._database = GuardedConnection(connection, writable=writable, seed=seed)
        return None, b""

    def load(self, image: bytes, seed: int) -> Frame:
        """Open a saved image, writable."""
        self.close(b"")
        connection = _writable(image)
        self._database = GuardedConnection(connection, writable=True, seed=seed)
        return None, b""

    def execute(
        self,
        _blob: bytes,
        sql: str,
        number: int,
        timeout_s: float,
        max_rows: int,
        max_bytes: int,
    ) -> Frame:
        """Run a statement; answers with its result or fault, and whether it may have written."""
        database = self._open_database()
        try:
            result = database.run(
                sql, timeout_s=timeout_s, max_rows=max_rows, max_bytes=max_bytes, number=number
            )
        except StatementError as error:
            changed = database.wrote and error.kind == "error"
            return ["fault", changed, error.kind, error.message], b""
        return ["result", database.wrote, *result], b""

    def tables(self, _blob: bytes, timeout_s: float) -> Frame:
        """Answer with the tables."""
        found: Json = self._open_database().tables(timeout_s=timeout_s)
        return found, b""

    def hash(self, _blob: bytes, timeout_s: float, declared: list[str] | None) -> Frame:
        """Answer with the content's hash."""
        database = self._open_database()
        return database.state_hash(timeout_s=timeout_s, declared=declared), b""

    def save(self, _blob: bytes) -> Frame:
        """Answer with the database's image."""
        return None, self._open_database().connection.serialize()

    def close(self, _blob: bytes) -> Frame:
        """Close the database and free its memory; does nothing where none is open."""
        if self._database is not None:
            self._database.close()
            self._database = None
        return None, b""

    def _open_database(self) -> GuardedConnection:
        if self._database is None:
            raise DatabaseUnusableError("No database is open.", "Open one first.")
        return self._database


@contextmanager
def _content(file: Path) -> Iterator[Content]:
    # Mapped, so that it is copied once: from the page cache to where it is written.
    if not file.stat().st_size:
        yield b""
        return
    with file.open("rb") as source, mmap(source.fileno(), 0, access=ACCESS_READ) as content:
        yield content


def _writable(content: Content) -> sqlite3.Connection:
    if content[_JOURNAL_MODES] == _WAL:
        # A file left in WAL mode says so in two bytes, and cannot be opened where no shared
        # memory is; a rollback journal reads the same pages.
        content = content[: _JOURNAL_MODES.start] + _ROLLBACK + content[_JOURNAL_MODES.stop :]
    in_memory = len(content) <= IN_MEMORY_BYTES
    try:
        connection = _in_memory(content) if in_memory else _in_private_file(content)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages + GROWTH_BYTES // page_bytes}").close()
    except sqlite3.Error as error:
        raise unreadable(error) from error
    return connection


def _in_memory(content: Content) -> sqlite3.Connection:
    _limit_files(0)
    connection = _connect(":memory:")
    if len(content):
        connection.deserialize(content)
    return connection


def _in_private_file(content: Content) -> sqlite3.Connection:
    _limit_files(len(content) + GROWTH_BYTES)
    descriptor, name = tempfile.mkstemp(prefix="agentgym-sql-")
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
        connection = _connect(name)
        # Nothing but the file itself is ever on disk, and that has no name once it is open,
        # so however this process ends, nothing of it stays.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone()
        connection.execute("PRAGMA journal_mode=MEMORY").fetchone()
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        Path(name).unlink()
    return connection


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, isolation_level=None, cached_statements=0)


def _limit_files(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
