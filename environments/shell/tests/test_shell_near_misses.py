"""The shipped tasks hold against what is nearly right, guessed or half done, and tell nothing."""

import asyncio
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from agentgym import Task, call, load_tasks, spec
from agentgym_shell.env import ShellEnvironment
from agentgym_shell.tasks import ShellPrivate, ShellPublic

ShellTask = Task[ShellPublic, ShellPrivate]
TASKS: dict[str, ShellTask] = {task.id: task for task in load_tasks(spec("shell"))}

AT_ONCE = 4
GUESSES = ("", "0", "1", "yes", "done", "flag{}", "flag{...}")
TELLING = 40
"""Characters from which on a line of a script tells something."""
SHARED = 0.6
"""The part of two tasks' words that both may have, being about different things."""


class Attempt(NamedTuple):
    """A way to play a task.

    Attributes:
        why: What is wrong with it.
    """

    task: str
    why: str = ""
    commands: tuple[str, ...] = ()
    answer: str | None = None


async def play(env: ShellEnvironment, attempt: Attempt) -> float:
    await env.reset(TASKS[attempt.task], seed=0)
    for command in attempt.commands:
        await env.step(call("run", command=command))
    transition = await env.step(call("submit", answer=attempt.answer))
    assert transition.terminated, attempt
    return transition.reward.value


async def scores(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Play attempts, some at once, and return what each scores."""
    waiting = list(attempts)
    found: dict[str, float] = {}

    async def work() -> None:
        env = ShellEnvironment()
        try:
            while waiting:
                attempt = waiting.pop()
                found[f"{attempt.task}: {attempt.why}"] = await play(env, attempt)
        finally:
            await env.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return found


async def successes(attempts: Sequence[Attempt]) -> list[str]:
    return [name for name, score in (await scores(attempts)).items() if score > 0]


def attempts_of(name: str) -> list[Attempt]:
    """Read attempts from a file beside this one."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Attempt(**{**row, "commands": tuple(row.get("commands", ()))}) for row in rows]


async def test_what_is_nearly_right_scores_nothing() -> None:
    attempts = attempts_of("near_misses.jsonl")
    assert len({attempt.task for attempt in attempts}) >= 70
    assert not await successes(attempts)


async def test_another_way_is_as_good_as_the_oracles() -> None:
    attempts = attempts_of("other_ways.jsonl")
    assert len({attempt.task for attempt in attempts}) >= 30
    assert set((await scores(attempts)).values()) == {1.0}


async def test_guesses_score_nothing() -> None:
    asked = [task for task in TASKS.values() if task.public.answer]
    attempts = [Attempt(t.id, repr(g), (), g) for t in asked for g in GUESSES]
    attempts += [Attempt(t.id, "the task's words", (), t.public.instruction) for t in asked]
    assert not await successes(attempts)


async def test_a_flag_counts_only_as_a_whole() -> None:
    attempts = []
    for name, task in TASKS.items():
        flag = task.private.oracle.answer or ""
        if flag.startswith("flag{"):
            for part in (flag[5:-1], f"{flag[:-2]}}}", flag.replace("flag", "FLAG")):
                attempts.append(Attempt(name, part, (), part))
    assert attempts
    assert not await successes(attempts)


async def test_the_oracle_without_its_final_command_is_not_done() -> None:
    attempts = []
    for name, task in TASKS.items():
        commands = task.private.oracle.commands
        if not task.public.answer and len(commands) > 1:
            attempts.append(Attempt(name, "one command less", commands[:-1]))
    assert len(attempts) >= 10
    assert not await successes(attempts)


def needles(task: ShellTask) -> list[str]:
    """Return the lines of a task's private part that nobody would write by chance."""
    private = task.private
    texts = [private.setup.script, private.script or "", *private.oracle.commands]
    texts += [part for run in private.runs for part in (run.command, run.stdout or "")]
    lines = {line.strip() for text in texts for line in text.splitlines()}
    found = [line for line in lines if len(line) >= TELLING]
    answer = private.oracle.answer or ""
    return [*found, answer] if len(answer) >= 10 and "\n" not in answer else found


async def test_nothing_private_is_in_the_words_or_the_sandbox() -> None:
    env = ShellEnvironment()
    try:
        for name, task in TASKS.items():
            hidden = needles(task)
            observation = await env.reset(task, seed=0)
            assert not [needle for needle in hidden if needle in observation.text], name
            pattern = "\n".join(hidden) or "no needle at all"
            look = (
                "chmod -R u+rwX /work; grep -rlaF -D skip -f - /work /tmp <<'__NEEDLES__' || true\n"
                f"{pattern}\n__NEEDLES__\nfind /work /tmp -name '*flag{{*'"
            )
            seen = (await env.step(call("run", command=look))).observation.text
            assert seen == "[no output]", name
    finally:
        await env.close()


def test_no_two_tasks_are_nearly_the_same() -> None:
    asked = [(t.id, set(t.public.instruction.lower().split()), t.private) for t in TASKS.values()]
    for (one, words, private), (other, more, as_private) in combinations(asked, 2):
        assert len(words & more) < SHARED * len(words | more), (one, other)
        if private.setup == as_private.setup:
            assert not private.setup.script, (one, other)
            assert not private.setup.files, (one, other)


def test_every_task_says_what_is_wanted() -> None:
    for name, task in TASKS.items():
        assert task.tags["difficulty"] in ("easy", "medium", "hard"), name
        assert task.public.answer == ("submit" in task.public.instruction.lower()), name
        assert "/work" in task.public.instruction, name
