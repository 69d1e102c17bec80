"""Query results as the comparators see them, and when two values count as equal."""

import math
import reprlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = Sequence[Row]
Column: TypeAlias = tuple[Value, ...]

_DIGITS = 10
_DECIMALS = 15


def as_rows(rows: Iterable[Iterable[Value]]) -> list[Row]:
    """Return rows as tuples in which every NaN is one and the same object.

    Two NaN objects neither compare nor hash alike, but Python's containers take a value as
    equal to itself: with one object, NaN equals NaN in every set, counter and tuple.
    """
    return [_one_nan(tuple(row)) for row in rows]


def _one_nan(row: Row) -> Row:
    if all(value == value for value in row):
        return row
    return tuple(math.nan if value != value else value for value in row)


def canonical(value: Value) -> Value:
    """Return what stands for a value in the default comparison; equal means equal.

    Floats are rounded to 10 significant digits, but never coarser than a whole number and
    never finer than 15 decimals. Unlike a tolerance, rounding is an equivalence, so results
    can be hashed and counted; the price is that two neighbours on either side of a rounding
    boundary differ. A float that is a whole number equals the integer. NULL equals NULL, text
    is exact, and text never equals a number or bytes.
    """
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        return value
    decimals = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(value, min(_DECIMALS, max(0, decimals)))


def columns(rows: Rows) -> list[Column]:
    """Return the columns of rows of equal width, with canonical values."""
    return [_canonical_column(column) for column in zip(*rows, strict=True)]


def _canonical_column(column: Column) -> Column:
    # Most columns hold no float: looking at the types first is ten times cheaper.
    return tuple(map(canonical, column)) if float in set(map(type, column)) else column


def widths(rows: Rows) -> list[int]:
    """Return the different numbers of columns among the rows, smallest first."""
    return sorted(set(map(len, rows)))


def shown(row: Row) -> str:
    """Return a row for a message, long ones cut short."""
    return reprlib.repr(row)
