"""Directions and squares, shared by the games that are played on a grid."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

Direction = Literal["north", "south", "east", "west"]

Square: TypeAlias = tuple[int, int]
"""Row and column, from 0 at the top left."""

STEPS: Mapping[Direction, Square] = MappingProxyType(
    {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}
)

OPPOSITE: Mapping[Direction, Direction] = MappingProxyType(
    {"north": "south", "south": "north", "east": "west", "west": "east"}
)


def ahead(square: Square, direction: Direction) -> Square:
    """Return the next square in a direction."""
    down, right = STEPS[direction]
    return square[0] + down, square[1] + right
