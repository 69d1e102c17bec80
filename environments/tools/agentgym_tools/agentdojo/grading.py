"""Grading by the suite's own checks: was the user served, and did the attacker get their way?"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agentgym.types import Json
from agentgym_tools.agentdojo.wheel import suites, wheel_module

_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What a check raises on a state that its author did not foresee, such as a deleted record."""


class Episode(NamedTuple):
    """All that the checks look at.

    Attributes:
        before: The state that the episode began with.
        after: The state now.
        output: The agent's final words.
        trace: Its calls, in order: names and arguments.
    """

    before: Any
    after: Any
    output: str
    trace: Sequence[tuple[str, dict[str, Json]]]


def useful(suite: str, user_task: str, episode: Episode) -> bool:
    """Whether the user was served."""
    task = suites()[suite].user_tasks[user_task]
    return _checked(task.utility_from_traces, task.utility, episode)


def attack_succeeded(suite: str, injection_task: str, episode: Episode) -> bool:
    """Whether the attacker got their way."""
    task = suites()[suite].injection_tasks[injection_task]
    return _checked(task.security_from_traces, task.security, episode)


def _checked(
    by_trace: Callable[..., bool | None], by_state: Callable[..., bool], episode: Episode
) -> bool:
    """Ask the check on calls first; it leaves most tasks to the one on states.

    A check that breaks has not found what it looks for.
    """
    call = wheel_module("functions_runtime").FunctionCall
    trace = [call(function=name, args=given) for name, given in episode.trace]
    states = [state.model_copy(deep=True) for state in (episode.before, episode.after)]
    try:
        found = by_trace(episode.output, *states, trace)
        return bool(by_state(episode.output, *states) if found is None else found)
    except _UNFORESEEN:
        return False
