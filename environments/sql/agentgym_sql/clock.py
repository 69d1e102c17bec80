"""SQLite functions that read the wall clock or chance, replaced by reproducible ones.

`'now'` and CURRENT_TIMESTAMP are always `NOW`, the time zone is UTC, and `random()` and
`randomblob()` draw from a generator seeded by the episode's seed and the statement's number,
so that a statement gives the same rows whenever it is run again at the same place.
"""

import random
import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial

from agentgym_sql.results import Value

NOW = "2025-06-15 12:00:00"
"""The instant every episode happens in, UTC."""

MAX_BLOB = 1_000_001

# Each function of date and time, with the positions of its time values. Positions that are
# missing from a call stand for 'now', except for timediff, which has no such form.
_TIME_VALUES: dict[str, tuple[int, ...]] = {
    "date": (0,),
    "time": (0,),
    "datetime": (0,),
    "julianday": (0,),
    "unixepoch": (0,),
    "strftime": (1,),
    "timediff": (0, 1),
}
_ZONES = ("localtime", "utc")


def _is_now(value: Value) -> bool:
    # SQLite reads a blob as text, and text up to its first NUL, in any case of letters.
    if isinstance(value, str):
        value = value.encode("utf-8", "replace")
    return isinstance(value, bytes) and value.split(b"\0", 1)[0].lower() == b"now"


def _is_zone(value: Value) -> bool:
    return isinstance(value, str) and value.lower() in _ZONES


class Reproducible:
    """The replaced functions of one connection.

    Args:
        connection: Where they are installed.
        seed: The episode's seed.
    """

    def __init__(self, connection: sqlite3.Connection, seed: int) -> None:
        self._seed = seed
        self._number = 0
        self._random: random.Random | None = None
        self._native: sqlite3.Connection | None = None
        self._cached = lru_cache(maxsize=4096, typed=True)(self._call_native)
        connection.create_function("random", 0, self._random_integer)
        connection.create_function("randomblob", 1, self._random_blob)
        for name, value in (("timestamp", NOW), ("date", NOW[:10]), ("time", NOW[11:])):
            connection.create_function(
                f"current_{name}", 0, partial(str, value), deterministic=True
            )
        for name, positions in _TIME_VALUES.items():
            if name != "timediff" or sqlite3.sqlite_version_info >= (3, 43):
                function = self._time_function(name, positions)
                connection.create_function(name, -1, function, deterministic=True)

    def begin(self, number: int) -> None:
        """Start the episode's statement of that number; its draws depend on it alone."""
        self._number = number
        self._random = None

    def close(self) -> None:
        """Release what the functions hold; may be called again."""
        if self._native is not None:
            self._native.close()
            self._native = None

    def _generator(self) -> random.Random:
        if self._random is None:
            self._random = random.Random(f"{self._seed}/{self._number}")
        return self._random

    def _random_integer(self) -> int:
        return self._generator().getrandbits(64) - (1 << 63)

    def _random_blob(self, size: Value) -> bytes:
        count = int(size) if isinstance(size, int | float) else 1
        return self._generator().randbytes(min(max(count, 1), MAX_BLOB))

    def _call_native(self, name: str, arguments: tuple[Value, ...]) -> Value:
        if self._native is None:
            self._native = sqlite3.connect(":memory:", check_same_thread=False)
        marks = ",".join("?" * len(arguments))
        value: Value = self._native.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]
        return value

    def _time_function(self, name: str, positions: tuple[int, ...]) -> Callable[..., Value]:
        last = positions[-1]
        implied = name != "timediff"

        def call(*arguments: Value) -> Value:
            values = list(arguments)
            if implied and len(values) == last:
                values.append(NOW)
            for position in positions:
                if position < len(values) and _is_now(values[position]):
                    values[position] = NOW
            if len(values) > last + 1:
                values[last + 1 :] = [m for m in values[last + 1 :] if not _is_zone(m)]
            return self._cached(name, tuple(values))

        return call
