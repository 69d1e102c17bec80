"""JSON that a model wrote: read leniently where the meaning is plain, never with an exception."""

import json
import math
from typing import NoReturn

from agentgym.types import Json


def parse_arguments(raw: Json) -> dict[str, Json] | str:
    """Read a tool call's arguments.

    Args:
        raw: The model's text, or an object where the server has parsed it already.

    Returns:
        The arguments by name; nothing written (null or blank) is no arguments. What is not a
        JSON object comes back as text, for the environment to answer as the model's mistake.
    """
    if isinstance(raw, str):
        if not raw.strip():
            return {}
        found = leading_object(raw)
        if found is None or raw[found[1] :].strip():
            return raw
        return found[0]
    if raw is None:
        return {}
    return raw if isinstance(raw, dict) else json.dumps(raw)


def leading_object(text: str) -> tuple[dict[str, Json], int] | None:
    """Read the JSON object that `text` begins with, blanks aside.

    Line breaks inside strings are accepted, numbers that are not finite are not.

    Returns:
        The object and where it ends in `text`, or None where there is none.
    """
    start = len(text) - len(text.lstrip())
    if not text.startswith("{", start):
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value, end


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is out of range")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_refuse)
