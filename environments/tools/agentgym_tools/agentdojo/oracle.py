"""The oracle: makes the user task's gold calls, and leaves the attacker's alone."""

from collections.abc import Generator
from typing import Any

from agentgym.types import Action, Observation, Task, call
from agentgym_tools.agentdojo.calls import gold_calls
from agentgym_tools.agentdojo.tasks import begin
from agentgym_tools.agentdojo.wheel import suites


def oracle(task: Task[Any, Any], observation: Observation) -> Generator[Action, Observation, None]:
    """Make the gold calls one by one, then give the gold's answer."""
    suite = task.public.suite
    user_task = suites()[suite].user_tasks[task.private.user_task]
    for name, arguments in gold_calls(user_task, begin(suite, task.private)):
        yield call(name, **arguments)
    yield Action(text=user_task.GROUND_TRUTH_OUTPUT)
