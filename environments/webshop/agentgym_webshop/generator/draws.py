"""Draws that are the same on every machine: digits of a hash of a key.

The standard library's and numpy's generators keep their raw bits but may change how choices are
made from them; a hash and integer division never change. Each key has its own stream, so that
product i is drawn without drawing those before it.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_BITS = 512
_SPARE_BITS = 64
"""Left over at least when a choice is made, so that its bias is below 2**-32."""


class Draws:
    """A stream of choices.

    Args:
        key: Names the stream; the same key gives the same choices.
    """

    def __init__(self, *key: int | str) -> None:
        self._key = repr(key).encode()
        self._hashes = 0
        self._pool = 0
        self._pool_bits = 0

    def below(self, bound: int) -> int:
        """Draw a whole number from 0 to `bound` - 1; `bound` is below 2**32."""
        if self._pool_bits < _SPARE_BITS + 32:
            data = hashlib.blake2b(self._key, salt=self._hashes.to_bytes(16, "little")).digest()
            self._hashes += 1
            self._pool, self._pool_bits = int.from_bytes(data, "little"), _BITS
        self._pool, drawn = divmod(self._pool, bound)
        self._pool_bits -= bound.bit_length()
        return drawn

    def between(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Draw whether something with this chance happens."""
        return self.below(100) < percent

    def choice(self, values: Sequence[T]) -> T:
        """Draw one of the values."""
        return values[self.below(len(values))]

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """Draw different places' values, in random order; all where there are not so many."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def run(self, values: Sequence[T], count: int) -> list[T]:
        """Draw `count` neighbouring values, in order."""
        start = self.below(max(1, len(values) - count + 1))
        return list(values[start : start + count])
