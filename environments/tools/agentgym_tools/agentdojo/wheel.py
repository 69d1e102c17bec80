"""What the installed `agentdojo` wheel holds: suites of tools, user tasks and injection tasks.

The suites need no model, but importing them normally loads the wheel's package of model clients
and with it every vendor's library. Here that package is replaced by an empty one while the
suites are imported, and only then.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from agentgym.errors import UsageError

BENCHMARK = (1, 2, 2)
"""The benchmark's version: each task is taken as of its last correction up to it."""

SUITES = ("workspace", "travel", "banking", "slack")

_FORGOTTEN = "agentdojo.default_suites.v1_1_2"
"""Corrections of version 1.1.2, which the wheel itself never loads: without them a check of the
workspace suite does not see that its attack has succeeded."""

_PIPELINE = "agentdojo.agent_pipeline"
_REMEDY = (
    "Install both: pip install deepdiff email-validator pyyaml && pip install --no-deps agentdojo"
)


def wheel_version() -> str:
    """Return the installed wheel's version.

    Raises:
        UsageError: It is not installed.
    """
    try:
        return version("agentdojo")
    except PackageNotFoundError as error:
        raise UsageError("The package agentdojo is not installed.", remedy=_REMEDY) from error


@cache
def suites() -> Mapping[str, Any]:
    """Import and return the suites by name, as of version `BENCHMARK`.

    Raises:
        UsageError: The wheel, or what its suites import, is not installed.
    """
    wheel_version()
    try:
        with _without_model_clients():
            loading = import_module("agentdojo.task_suite.load_suites")
            import_module(_FORGOTTEN)
    except ModuleNotFoundError as error:
        missing = f"AgentDojo's suites need the package {error.name}, which is not installed."
        raise UsageError(missing, remedy=_REMEDY) from error
    first = loading.get_suites("v1")  # the ones that every later version's tasks are added to
    return {name: first[name].get_new_version(BENCHMARK) for name in SUITES}


def wheel_module(name: str) -> Any:
    """Return a module of the wheel, such as "functions_runtime"; the suites are imported first.

    Raises:
        UsageError: The wheel, or what its suites import, is not installed.
    """
    suites()
    return import_module(f"agentdojo.{name}")


@contextmanager
def _without_model_clients() -> Iterator[None]:
    spec = find_spec("agentdojo")
    if _PIPELINE in sys.modules or spec is None or spec.submodule_search_locations is None:
        yield
        return
    package = ModuleType(_PIPELINE)
    package.__path__ = [f"{place}/agent_pipeline" for place in spec.submodule_search_locations]
    # The suites name this pipeline, of which only their self-check makes use.
    gold = ModuleType(f"{_PIPELINE}.ground_truth_pipeline")
    vars(gold)["GroundTruthPipeline"] = None
    replaced = {_PIPELINE: package, gold.__name__: gold}
    sys.modules.update(replaced)
    try:
        yield
    finally:
        for name in replaced:
            del sys.modules[name]
