"""Calls of a suite's tools on a state, the same on any day and in any process."""

import copy
import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from types import SimpleNamespace
from typing import Any

from agentgym.errors import ToolError
from agentgym.tools import without_titles
from agentgym.types import Json, ToolSpec
from agentgym_tools.agentdojo.wheel import suites, wheel_module

_one_at_a_time = Lock()
"""Held for the microseconds of a call, while the wheel's modules have another clock."""

_CLOCKED = ("calendar_client", "cloud_drive_client", "email_client")


@cache
def tool_specs(suite: str) -> Mapping[str, ToolSpec]:
    """Return a suite's tools by name, in its order."""
    return {function.name: _spec(function) for function in suites()[suite].tools}


def make_call(suite: str, state: Any, name: str, arguments: Mapping[str, Json]) -> str:
    """Call a tool and return the answer's text; the state is changed.

    Raises:
        ToolError: The tool refused, or broke on the arguments.
    """
    given = copy.deepcopy(dict(arguments))
    with _repeatable(state):
        result, error = _runtime(suite).run_function(state, name, given)
    if error is not None:
        raise ToolError(error)
    return render(result)


def gold_calls(task: Any, state: Any) -> Sequence[tuple[str, dict[str, Json]]]:
    """Return the calls that carry out a user task or an injection task.

    Args:
        task: The wheel's object.
        state: The state they are to be made on, which some arguments are read from.
    """
    calls = task.ground_truth(state.model_copy(deep=True))
    return [(call.function, dict(call.args)) for call in calls]


def render(result: Any) -> str:
    """Write a tool's result as upstream does: objects as YAML, all else as text."""
    yaml = import_module("yaml")
    if hasattr(result, "model_dump"):
        return str(yaml.safe_dump(result.model_dump())).strip()
    if isinstance(result, list):
        parts = [p.model_dump() if hasattr(p, "model_dump") else str(p) for p in result]
        return str(yaml.safe_dump(parts)).strip()
    return str(result)


@cache
def _runtime(suite: str) -> Any:
    return wheel_module("functions_runtime").FunctionsRuntime(suites()[suite].tools)


def _spec(function: Any) -> ToolSpec:
    schema = without_titles(function.parameters.model_json_schema())
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    schema.pop("title", None)
    return ToolSpec(name=function.name, description=function.description, parameters=schema)


@contextmanager
def _repeatable(state: Any) -> Iterator[None]:
    """Let the wheel's tools see the suite's own day, and take participants in their order.

    The tools stamp what they make with the time of day, and put participants through a set,
    whose order differs from process to process.
    """
    day = state.calendar.current_day if hasattr(state, "calendar") else datetime.date.min
    noon = datetime.datetime.combine(day, datetime.time(12))
    moments = SimpleNamespace(now=lambda: noon, strptime=datetime.datetime.strptime)
    clock = SimpleNamespace(datetime=moments, date=datetime.date, timedelta=datetime.timedelta)
    modules = [wheel_module(f"default_suites.v1.tools.{name}") for name in _CLOCKED]
    with _one_at_a_time:
        for module in modules:
            module.datetime, module.set = clock, dict.fromkeys
        try:
            yield
        finally:
            for module in modules:
                module.datetime = datetime
                del module.set
