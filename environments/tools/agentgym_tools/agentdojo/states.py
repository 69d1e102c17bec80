"""A suite's state with chosen words at the places that an attacker can write to."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from agentgym.types import Json
from agentgym_tools.agentdojo.wheel import suites, wheel_module

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Private-use characters around a place's name, in the suite's data as it is kept here."""


def open_state(suite: str, user_task: str, injections: Mapping[str, str]) -> Any:
    """Return a fresh state of a suite, as a user task begins with it.

    Args:
        suite: Its name.
        user_task: The user task's id.
        injections: Words by place; the places that are not named hold the suite's own.
    """
    words = {**places(suite), **injections}
    state = suites()[suite].environment_type.model_validate(_filled(_data(suite), words))
    return suites()[suite].user_tasks[user_task].init_environment(state)


@cache
def places(suite: str) -> Mapping[str, str]:
    """Return what stands at each place where no attacker wrote."""
    yaml = import_module("yaml")
    defaults = suites()[suite].get_injection_vector_defaults()
    # They are written as the inside of a YAML text in double quotes, escapes and all.
    return {place: yaml.safe_load(f'"{default}"') for place, default in defaults.items()}


@cache
def data_hash(suite: str) -> str:
    """Hash the suite's data as the wheel has it."""
    return hashlib.sha256(repr([_data(suite), dict(places(suite))]).encode()).hexdigest()


@cache
def _data(suite: str) -> Json:
    yaml = import_module("yaml")
    read = wheel_module("task_suite.task_suite").read_suite_file
    marks = {place: f"{_OPEN}{place}{_CLOSE}" for place in places(suite)}
    return yaml.safe_load(read(suite, "environment.yaml", None).format(**marks))


def _filled(value: Json, words: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {key: _filled(part, words) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, words) for part in value]
    if isinstance(value, str) and _OPEN in value:
        for place, text in words.items():
            value = value.replace(f"{_OPEN}{place}{_CLOSE}", text)
    return value
