"""One episode's instances of the wheel's API classes, and the calls on them."""

import copy
import inspect
import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from agentgym.types import Json
from agentgym_tools.bfcl.guards import (
    check_arguments,
    own_precision,
    pinned,
    within_measure,
)
from agentgym_tools.bfcl.plain import plain
from agentgym_tools.bfcl.schemas import functions
from agentgym_tools.bfcl.wheel import Entry, api_class

STATELESS = "MathAPI"

_FROM_ARGUMENTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an API class raises where the arguments are of no use to it."""

_one_at_a_time = Lock()
"""Held for the microseconds of a call: some of the precision is the process's, not a call's."""


class Answer(NamedTuple):
    """What a call was answered with.

    Attributes:
        text: The result as upstream writes it, which is also what is compared.
        error: What the class raised, where it did.
    """

    text: str
    error: str | None = None


class Apis:
    """The instances that one conversation's calls change.

    Args:
        entry: The conversation, for the classes and the state they begin with.
    """

    def __init__(self, entry: Entry) -> None:
        self._owners = functions(entry, turn=len(entry.requests))
        self.instances: dict[str, Any] = {name: _open(name, entry) for name in entry.classes}

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a function; what a class raises because of the arguments is an answer.

        Raises:
            ToolError: The arguments would take the process's time or memory.
        """
        api = self._owners[name]
        check_arguments(name, arguments)
        given = pinned(name, copy.deepcopy(dict(arguments)))
        method = getattr(self.instances[api], name)
        precision = own_precision() if api == STATELESS else nullcontext()
        with _one_at_a_time, precision:
            try:
                return Answer(
                    _render(self._made(api, name, partial(method, **_full(method, given))))
                )
            except _FROM_ARGUMENTS as error:
                return Answer(f"Error during execution: {error}", f"{name}: {error}")

    def state(self) -> Json:
        """Return all that later calls depend on, as JSON."""
        return {name: plain(instance) for name, instance in self.instances.items()}

    def _made(self, api: str, name: str, call: "partial[Any]") -> Any:
        if api == "GorillaFileSystem":
            return within_measure(self.instances[api], name, call)
        return call()


def _open(name: str, entry: Entry) -> Any:
    instance = api_class(name)()
    if name != STATELESS:
        config = copy.deepcopy(entry.config.get(name, {}))
        instance._load_scenario(config, long_context=entry.long_context)
    # Some classes hold lists of their module itself, which must not be shared between episodes.
    return copy.deepcopy(instance)


def _full(method: Any, arguments: dict[str, Json]) -> dict[str, Json]:
    """Add the lists that are defaults, copied: the classes keep and change what they are given."""
    for name, parameter in inspect.signature(method).parameters.items():
        if isinstance(parameter.default, list):
            arguments.setdefault(name, list(parameter.default))
    return arguments


def _render(result: Any) -> str:
    """Write a result as upstream does: dicts as JSON where they can be, all else as text."""
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except TypeError:
            return str(result)
    return str(result)
