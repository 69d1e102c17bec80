"""What the installed `bfcl-eval` wheel holds: entries, function documents and API classes.

Only the modules of the eight API classes are imported; they need `mpmath` and nothing else of
what the wheel lists as its dependencies.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any, NamedTuple

from agentgym.errors import TaskSetError, UsageError
from agentgym.types import Json

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")

MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""The module of each API class, and the file its functions are described in."""

_SOURCES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_REMEDY = "Install both: pip install mpmath && pip install --no-deps bfcl-eval"


class Entry(NamedTuple):
    """One conversation.

    Attributes:
        id: Its id in the wheel, such as "multi_turn_base_0".
        category: One of `CATEGORIES`.
        requests: What the user says, turn by turn; empty where withheld functions appear.
        gold: The calls that answer each turn, as Python source.
        classes: The API classes it is about.
        config: The state each class begins with.
        excluded: Functions that are never on offer.
        withheld: Functions that are not on offer before a turn, by that turn; without those
            that the wheel withholds although its own answers call them earlier.
    """

    id: str
    category: str
    requests: tuple[str, ...]
    gold: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...]
    config: Mapping[str, Json]
    excluded: frozenset[str]
    withheld: Mapping[int, frozenset[str]]

    @property
    def long_context(self) -> bool:
        """Whether the classes answer at great length."""
        return self.category == "long_context"


def wheel_version() -> str:
    """Return the installed wheel's version.

    Raises:
        UsageError: It is not installed.
    """
    try:
        return version("bfcl-eval")
    except PackageNotFoundError as error:
        raise UsageError("The package bfcl-eval is not installed.", remedy=_REMEDY) from error


@cache
def entries() -> Mapping[str, Entry]:
    """Return every conversation of the multi-turn categories, by id.

    Raises:
        UsageError: The wheel is not installed.
        TaskSetError: Its files are not as expected.
    """
    found = (entry for category in CATEGORIES for entry in _category(category))
    return {entry.id: entry for entry in found}


@cache
def documents(api: str) -> Mapping[str, Mapping[str, Json]]:
    """Return the documents of an API class's functions, by name."""
    lines = _lines(f"multi_turn_func_doc/{MODULES[api]}.json")
    return {document["name"]: document for document in lines}


def api_class(name: str) -> Any:
    """Import and return an API class.

    Raises:
        UsageError: The wheel, or what its module imports, is not installed.
    """
    wheel_version()
    try:
        return getattr(import_module(f"{_SOURCES}.{MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        missing = f"BFCL's {name} needs the package {error.name}, which is not installed."
        raise UsageError(missing, remedy=_REMEDY) from error


def _category(category: str) -> Iterator[Entry]:
    name = f"BFCL_v4_multi_turn_{category}.json"
    answers = {item["id"]: item["ground_truth"] for item in _lines(f"possible_answer/{name}")}
    for item in _lines(name):
        try:
            yield _entry(category, item, answers[item["id"]])
        except (KeyError, TypeError, ValueError) as error:
            raise TaskSetError(
                f"{name} of bfcl-eval {wheel_version()} is not as expected: {error!r}.",
                remedy="Version 2026.3.23 is known to work.",
            ) from error


def _entry(category: str, item: Mapping[str, Json], gold: Json) -> Entry:
    withheld = {
        int(turn): frozenset(names) - _called(gold[: int(turn)])
        for turn, names in item.get("missed_function", {}).items()
    }
    return Entry(
        id=item["id"],
        category=category,
        requests=tuple("\n".join(m["content"] for m in turn) for turn in item["question"]),
        gold=tuple(tuple(calls) for calls in gold),
        classes=tuple(item["involved_classes"]),
        config=item["initial_config"],
        excluded=frozenset(item.get("excluded_function", ())),
        withheld=withheld,
    )


def _called(gold: Json) -> frozenset[str]:
    return frozenset(source.partition("(")[0] for calls in gold for source in calls)


@cache
def _lines(path: str) -> list[dict[str, Json]]:
    """Read a file of the wheel's data that has one JSON object a line."""
    installed = wheel_version()
    file = files("bfcl_eval") / "data" / path
    try:
        return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise TaskSetError(f"bfcl-eval {installed} has no readable {path}: {error}.") from error
