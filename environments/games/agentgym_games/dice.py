"""Chance for generators, the same on every machine and in every version of Python.

`random.Random` promises that only of `random()`; its `choice`, `shuffle` and `sample` have changed
before. Here a draw is SHA-256 in counter mode, and all else is built on it.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_RANGE = 2**64


class Dice:
    """A stream of draws named by a key: the same key gives the same draws.

    Args:
        key: Names the stream, such as "maze:core:easy:17".
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._drawn = 0

    def below(self, count: int) -> int:
        """Draw a whole number from 0 to `count - 1`, each equally likely.

        Raises:
            ValueError: `count` is below 1.
        """
        if count < 1:
            raise ValueError(f"nothing is below {count}")
        fair = _RANGE - _RANGE % count  # what lies above would favour the small numbers
        while True:
            drawn = self._draw()
            if drawn < fair:
                return drawn % count

    def between(self, low: int, high: int) -> int:
        """Draw a whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order (Fisher and Yates, from the end)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw several different items.

        Raises:
            ValueError: There are fewer.
        """
        if count > len(items):
            raise ValueError(f"{count} of {len(items)} items")
        return self.shuffled(items)[:count]

    def _draw(self) -> int:
        text = f"{self._key}:{self._drawn}"
        self._drawn += 1
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
