"""How many sandboxes there may be at once: memory is reserved before one is started."""

import os
from collections.abc import Callable

from agentgym.errors import UsageError
from agentgym.sandbox.memory import available_memory, total_memory
from agentgym.sandbox.spec import MIB

_SHARE = 0.8
_RESERVED_SHARE = 0.05
_RESERVED_LEAST = 256 * MIB
_PER_CPU = 32
_MOST = 512
STARTS = max(4, 2 * (os.cpu_count() or 1))
"""Sandboxes that are being started at once; with more, no more of them are a second."""


class Admission:
    """What the sandboxes of one pool may take together. Who waits is the pool's business.

    A sandbox takes all the memory it may ever use, from before its start until it is gone.

    Args:
        max_memory: Bytes; None is four fifths of what is available now, but always enough for
            one sandbox.
        max_sandboxes: None is 32 for each processor, at most 512.
        starts: Sandboxes that are being started at once.
        available: Returns the bytes that the host has available.

    Attributes:
        memory: Bytes taken.
        sandboxes: Sandboxes that take them.
        starting: How many of those are being started.
    """

    def __init__(
        self,
        *,
        max_memory: int | None = None,
        max_sandboxes: int | None = None,
        starts: int = STARTS,
        available: Callable[[], int] = available_memory,
    ) -> None:
        self.memory = self.sandboxes = self.starting = 0
        self._leaving_memory = self._leaving = 0
        self._available = available
        total = total_memory()
        self._reserve = max(_RESERVED_LEAST, int(total * _RESERVED_SHARE))
        self._largest = total - self._reserve if max_memory is None else max_memory
        self._budget = int(available() * _SHARE) if max_memory is None else max_memory
        default = min(_MOST, _PER_CPU * (os.cpu_count() or 1))
        self._most = default if max_sandboxes is None else max_sandboxes
        self._starts = starts
        if self._most < 1 or starts < 1:
            raise UsageError("A pool needs room for at least one sandbox.")

    @property
    def can_start(self) -> bool:
        """Whether fewer are being started than may be at once."""
        return self.starting < self._starts

    def require(self, memory: int) -> None:
        """Refuse a sandbox that can never be had.

        Args:
            memory: Bytes it takes.

        Raises:
            UsageError: It takes more than all sandboxes may together.
        """
        if memory > self._largest:
            raise UsageError(
                f"A sandbox that takes {_mib(memory)} of memory never fits into the "
                f"{_mib(self._largest)} that all may take together.",
                remedy="Lower the memory of its spec, or raise the limit.",
            )

    def fits(self, memory: int, *, soon: bool = False) -> bool:
        """Whether one more fits into the limits.

        Args:
            memory: Bytes it takes.
            soon: Count what is being closed as gone.
        """
        taken, others = self.memory, self.sandboxes
        if soon:
            taken, others = taken - self._leaving_memory, others - self._leaving
        return others == 0 or (others < self._most and taken + memory <= self._budget)

    def host_has(self, memory: int) -> bool:
        """Whether the host, with all else that runs on it, has that much to spare just now."""
        return self._available() >= memory + self._reserve

    def begin(self, memory: int) -> None:
        """Take memory for a sandbox that is now started."""
        self.memory += memory
        self.sandboxes += 1
        self.starting += 1

    def started(self) -> None:
        """Note that a start is over."""
        self.starting -= 1

    def leave(self, memory: int) -> None:
        """Note that a sandbox is being closed."""
        self._leaving_memory += memory
        self._leaving += 1

    def gone(self, memory: int, *, left: bool = True) -> None:
        """Give back a sandbox's memory.

        Args:
            memory: Bytes it took.
            left: Whether it was closed, and not merely never came to be.
        """
        self.memory -= memory
        self.sandboxes -= 1
        if left:
            self._leaving_memory -= memory
            self._leaving -= 1


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"
