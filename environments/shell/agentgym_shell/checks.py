"""The checks of a task on what an agent left, each out of the agent's reach.

Every process of the agent is dead, and its sandbox given back, before the first check begins.
What runs then does so in another sandbox, on a copy of the files, in an environment that is the
task's alone.
"""

from contextlib import suppress
from typing import NamedTuple

from agentgym.sandbox import Sandbox
from agentgym_shell.stage import BASH, Files, ShellTask, Stage
from agentgym_shell.tasks import AnswerCheck, RunCheck
from agentgym_shell.texts import same
from agentgym_shell.trees import differences

PATIENCE_S = 30.0
"""Seconds that a check's command may take."""

_OUTPUT = 1 << 20
_SAID = 500
_NOT_RUN = -1
# The agent's files lie in /work: nothing there configures the programs a check calls.
_CLEAN = {"HOME": "/nonexistent"}


class Left(NamedTuple):
    """What an agent left.

    Attributes:
        files: None where there is more in them than is graded.
        answer: What it submitted.
        output: What its last command had written.
    """

    files: Files | None
    answer: str | None
    output: str = ""


async def problems(stage: Stage, task: ShellTask, left: Left) -> dict[str, list[str]]:
    """Return, for each check of a task, why it does not hold; nothing where it does."""
    private = task.private
    found: dict[str, list[str]] = {}
    if private.answer is not None:
        found["answer"] = _answer(private.answer, left.answer, private.oracle.answer or "")
    files = left.files
    if files is None:
        too_much = ["the files are too large to be graded"]
        others = (("state", private.state), ("runs", private.runs), ("script", private.script))
        return found | {name: too_much for name, check in others if check}
    if private.state is not None:
        gold = await stage.gold(task)
        found["state"] = differences(files.tree, gold.tree, private.state)
    if private.runs:
        found["runs"] = await _runs(stage, task, files)
    if private.script is not None:
        found["script"] = await _script(stage, files, private.script, left.answer or "")
    return found


def _answer(check: AnswerCheck, answer: str | None, expected: str) -> list[str]:
    accepted = (expected, *check.accept)
    if answer is not None and any(
        same(check.compare, answer, one, tolerance=check.tolerance) for one in accepted
    ):
        return []
    return ["the answer is another"]


async def _runs(stage: Stage, task: ShellTask, files: Files) -> list[str]:
    for check in task.private.runs:  # after one that fails the others decide nothing
        if problem := await _run(stage, task, files, check):
            return [problem]
    return []


async def _run(stage: Stage, task: ShellTask, files: Files, check: RunCheck) -> str | None:
    if check.stdout is None:
        gold = await stage.gold(task)
        async with stage.blank() as sandbox:
            expected = (await _output(stage, sandbox, gold, check))[0]
    else:
        expected = check.stdout
    async with stage.blank() as sandbox:
        output, code = await _output(stage, sandbox, files, check)
    if code == _NOT_RUN:
        return output
    if code is None:
        return f"`{check.command}` ran out of time"
    if check.exit_code not in (None, code):
        return f"`{check.command}` ended with {code}"
    if not same(check.compare, output, expected):
        return f"`{check.command}` wrote something else"
    return None


async def _output(
    stage: Stage, sandbox: Sandbox, files: Files, check: RunCheck
) -> tuple[str, int | None]:
    """Return what a check's command wrote and how it ended, None where it had to be ended."""
    await stage.put_back(sandbox, files.archive)
    try:
        for path, content in check.files.items():
            await _replace(sandbox, path, content)
    except OSError as error:  # the agent has put something in the way
        return f"{error.filename}: {error.strerror}", _NOT_RUN
    result = await sandbox.exec(
        [*BASH, "-c", check.command],
        stdin=check.stdin,
        timeout=PATIENCE_S,
        output_limit=_OUTPUT,
    )
    return result.text, None if result.timed_out else result.exit_code


async def _replace(sandbox: Sandbox, path: str, content: str) -> None:
    with suppress(FileNotFoundError):
        await sandbox.remove(path)
    await sandbox.write_file(path, content)


async def _script(stage: Stage, files: Files, script: str, answer: str) -> list[str]:
    async with stage.blank() as sandbox:
        await stage.put_back(sandbox, files.archive)
        result = await sandbox.exec(
            [*BASH, "-c", script],
            env={**_CLEAN, "ANSWER": answer},
            timeout=PATIENCE_S,
            output_limit=_OUTPUT,
        )
    if result.timed_out:
        return ["the check ran out of time"]
    said = (result.text + result.error_text)[-_SAID:].strip()
    return [said or f"the check ended with {result.exit_code}"] if result.exit_code else []
