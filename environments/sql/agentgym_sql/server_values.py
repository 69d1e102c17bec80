"""Values of server drivers as the cells every engine shares."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal

from agentgym_sql.results import Value

_EXACT = Decimal(10) ** 18


def _decimal(value: Decimal) -> Value:
    if value.is_finite() and abs(value) < _EXACT and value == value.to_integral_value():
        return int(value)
    return float(value)


def _datetime(value: dt.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return value.isoformat(sep=" ")


def _timedelta(value: dt.timedelta) -> str:
    # MySQL's TIME and PostgreSQL's interval; hours may exceed a day.
    sign = "-" if value < dt.timedelta(0) else ""
    seconds, micros = divmod(abs(value) // dt.timedelta(microseconds=1), 1_000_000)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{micros:06d}" if micros else text


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)


_NORMAL: dict[type, Callable[..., Value]] = {
    bool: int,
    Decimal: _decimal,
    dt.datetime: _datetime,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: _timedelta,
    memoryview: bytes,
    bytearray: bytes,
    list: _json,
    dict: _json,
}
_PLAIN = frozenset({type(None), int, float, str, bytes})


def normal(value: object) -> Value:
    """Return a cell of the shared types.

    Booleans become int, integral decimals int and others float, dates and times ISO text
    (UTC, without a zone), arrays and JSON their JSON text, anything else its text.
    """
    convert = _NORMAL.get(type(value), str)
    return convert(value)


def normal_row(row: Sequence[object]) -> tuple[Value, ...]:
    """Return a row of the shared types."""
    return tuple(
        value if type(value) in _PLAIN else normal(value)  # type: ignore[misc]
        for value in row
    )
