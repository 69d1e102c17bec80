"""One pool of a backend for everything in an event loop that uses it."""

import asyncio
import os
import re
from types import TracebackType
from typing import NamedTuple

from agentgym.errors import UsageError
from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.pool import SandboxPool

SANDBOXES_VARIABLE = "AGENTGYM_SANDBOXES"
MEMORY_VARIABLE = "AGENTGYM_SANDBOX_MEMORY"
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Limits(NamedTuple):
    """What the sandboxes of a pool may take together; None is the pool's default."""

    max_sandboxes: int | None
    max_memory: int | None

    @classmethod
    def from_environ(cls) -> "Limits":
        """Read `AGENTGYM_SANDBOXES`, a number, and `AGENTGYM_SANDBOX_MEMORY`, such as `12G`.

        Raises:
            UsageError: One of them is something else.
        """
        return cls(
            _number(SANDBOXES_VARIABLE, r"(\d+)()", "a number, such as 64"),
            _number(MEMORY_VARIABLE, r"(\d+)([KMGT]?)", "bytes, such as 500M or 12G"),
        )


class _Entry:
    def __init__(self, pool: SandboxPool) -> None:
        self.pool = pool
        self.users = 0


_entries: dict[tuple[asyncio.AbstractEventLoop, str], _Entry] = {}


class SharedPool:
    """One user's claim on the pool of a backend; the last one's end is the pool's.

    Args:
        backend: The backend's name.
        warm: Sandboxes to keep ready of each spec; the most that any user asks for.

    Attributes:
        pool: The pool, that of everybody else in this event loop too.
    """

    def __init__(self, backend: str, *, warm: int = 0) -> None:
        self._key = (asyncio.get_running_loop(), backend)
        entry = _entries.get(self._key)
        if entry is None or entry.pool.closed:
            for key in [key for key in _entries if key[0].is_closed()]:
                _entries.pop(key, None)
            made = SandboxPool(
                make_backend(backend), owns_backend=True, **Limits.from_environ()._asdict()
            )
            entry = _entries[self._key] = _Entry(made)
        entry.users += 1
        self._entry: _Entry | None = entry
        self.pool = entry.pool
        self.pool.warm = max(self.pool.warm, warm)

    async def close(self) -> None:
        """Give the claim back; closing twice is allowed."""
        entry, self._entry = self._entry, None
        if entry is None:
            return
        entry.users -= 1
        if entry.users == 0:
            if _entries.get(self._key) is entry:
                del _entries[self._key]
            await entry.pool.close()

    async def __aenter__(self) -> SandboxPool:
        """Return the pool."""
        return self.pool

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the claim back."""
        await self.close()


def _number(variable: str, pattern: str, words: str) -> int | None:
    text = os.environ.get(variable, "")
    if not text:
        return None
    found = re.fullmatch(pattern, text.strip().upper())
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{variable} is {text!r}, not {words}.")
    return int(found[1]) << _UNITS[found[2]]
