"""The oracle: runs the task's own commands and submits their answer."""

from collections.abc import Generator

from agentgym.types import Action, Observation, Task, call
from agentgym_shell.tasks import ShellPrivate, ShellPublic


def oracle(
    task: Task[ShellPublic, ShellPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play a task to full reward."""
    for command in task.private.oracle.commands:
        yield call("run", command=command)
    yield call("submit", answer=task.private.oracle.answer)
