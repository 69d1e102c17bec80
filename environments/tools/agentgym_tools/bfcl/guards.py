"""What keeps a model's arguments from hurting the process that the wheel's classes run in.

The classes touch no file, network or interpreter: the file system is virtual. Four things are
not safe or not repeatable, and are guarded here: numbers without measure (`power(10, 10**9)`,
a precision of a billion digits), directories copied into themselves or doubled without end,
the precision that the mathematical class sets for the whole process, and an age that depends on
today's date.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import localcontext
from importlib import import_module
from typing import Any

from agentgym.errors import ToolError
from agentgym.types import Json

LARGEST = 10**100
MOST_BITS = 10_000
"""Size of a power that is still worked out; Python refuses to write numbers above 14,000 bits."""

MOST_DIGITS = 300
MOST_ENTRIES = 5_000
MOST_LEVELS = 40
MOST_PATH_CHARACTERS = 1_000_000

TODAY = date(2024, 9, 1)
"""The day that the trading class takes for today."""

_GROWING = frozenset({"cp", "mkdir", "mv", "touch"})


def check_arguments(name: str, arguments: Mapping[str, Json]) -> None:
    """Refuse arguments that would take the process's time or memory.

    Raises:
        ToolError: They would.
    """
    if any(isinstance(n, int) and abs(n) > LARGEST for n in _leaves(arguments)):
        raise ToolError("A number has more than 100 digits.")
    for digits in ("precision", "decimal_places"):
        if abs(arguments.get(digits, 0)) > MOST_DIGITS:
            raise ToolError(f"{digits} is above {MOST_DIGITS}.")
    if name == "power" and _bits(arguments["base"], arguments["exponent"]) > MOST_BITS:
        raise ToolError("The result is too large.")


def pinned(name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """Return arguments by which a function that looks at the clock answers as on `TODAY`.

    Of a date of birth only whether it makes an adult counts, so one that does so on any day
    takes its place.
    """
    if name != "verify_traveler_information":
        return arguments
    try:
        born = datetime.strptime(arguments["date_of_birth"], "%Y-%m-%d").date()
    except ValueError:
        return arguments
    adult = (TODAY.year - born.year, TODAY.month, TODAY.day) >= (18, born.month, born.day)
    return {**arguments, "date_of_birth": "1900-01-01" if adult else "9999-12-31"}


@contextmanager
def own_precision() -> Iterator[None]:
    """Keep the precision of decimal and mpmath numbers as it is outside."""
    mpmath = import_module("mpmath")
    with localcontext(), mpmath.workdps(mpmath.mp.dps):
        yield


def within_measure(api: Any, name: str, call: Callable[[], Any]) -> Any:
    """Make a call of the file system; one that makes it grow without measure changes nothing.

    Raises:
        ToolError: It would.
    """
    if name not in _GROWING:
        return call()
    before = copy.deepcopy(vars(api))
    result = call()
    if not _measured(api.root):
        vars(api).update(before)
        raise ToolError("There would be too many files, or directories inside each other.")
    return result


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, dict | list | Mapping):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)
    else:
        yield value


def _bits(base: float, exponent: float) -> float:
    if not (isinstance(base, int) and isinstance(exponent, int)):
        return 0  # floating-point numbers overflow, which is an answer
    return base.bit_length() * max(exponent, 0)


def _measured(root: Any) -> bool:
    """Walk a directory, which may contain itself, until it ends or is too large."""
    entries = characters = 0
    waiting = [(root, 0, 0)]
    while waiting:
        directory, level, path = waiting.pop()
        for name, item in directory.contents.items():
            entries += 1
            characters += path + len(name)
            if hasattr(item, "contents"):
                waiting.append((item, level + 1, path + len(name) + 1))
        too_large = entries > MOST_ENTRIES or characters > MOST_PATH_CHARACTERS
        if too_large or level > MOST_LEVELS:
            return False
    return True
