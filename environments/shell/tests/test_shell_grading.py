"""What is graded how: each check alone, all together, and InterCode's reward beside them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import ValidationError

from agentgym import Task, call
from agentgym.errors import EnvironmentFailedError, UsageError
from agentgym.types import Reward
from agentgym_shell.env import ShellEnvironment
from agentgym_shell.tasks import ShellPrivate, ShellPublic

Run = Callable[..., Awaitable[str]]
Play = Callable[..., Awaitable[Reward]]
MakeTask = Callable[..., Task[ShellPublic, ShellPrivate]]

SORTED = {"setup": {"files": {"in": "b\na\n"}}, "state": {}}


@pytest.fixture
async def intercode() -> AsyncIterator[ShellEnvironment]:
    made = ShellEnvironment(grader="intercode")
    yield made
    await made.close()


async def test_the_state_has_to_be_the_oracles(
    any_env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("sort in > out", **SORTED)
    right = await play(any_env, asked, "printf 'a\\nb\\n' > out")
    assert right.value == 1
    assert right.components == {"state": 1, "correct": 1}
    assert right.labels == {"grader": "exact", "outcome": "match"}
    for commands in ((), ("cp in out",), ("sort in > out; rm in",), ("sort in > out; touch more",)):
        wrong = await play(any_env, asked, *commands)
        assert (wrong.value, wrong.labels["outcome"]) == (0, "mismatch"), commands
        assert wrong.components == {"state": 0, "correct": 0}


async def test_only_what_the_check_names_counts(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("mkdir out; sort in > out/a", **{**SORTED, "state": {"paths": ["out"]}})
    commands = ("mkdir out; sort in > out/a", "touch more .bash_history; chmod 700 /work; rm in")
    assert (await play(env, asked, *commands)).value == 1
    assert (await play(env, asked, *commands, "chmod 600 out/a")).value == 0
    modeless = task("sort in > out", **{**SORTED, "state": {"paths": ["out"], "modes": False}})
    assert (await play(env, modeless, "umask 077; sort in > out")).value == 1


async def test_a_file_is_the_same_with_holes_and_without(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    holes = "truncate -s 3M out; for at in 1 70000 999999; do echo $at | dd of=out seek=$at "
    holes += "conv=notrunc oflag=seek_bytes status=none; done"
    asked = task(holes, state={})
    dense = f"{holes}; cp --sparse=never out o; mv o out"
    assert (await play(env, asked, dense)).value == 1
    assert (await play(env, asked, dense, "truncate -s +1 out")).value == 0
    assert (await play(env, asked, dense, "fallocate -p -o 65536 -l 65536 out")).value == 0


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ({}, " 42\n", "42.0"),
        ({"compare": "number"}, "42.0", "41"),
        ({"compare": "number", "tolerance": 1}, "41", "40"),
        ({"accept": ["forty-two"]}, "forty-two", "two"),
    ],
)
async def test_an_answer_is_compared_as_the_task_says(
    env: ShellEnvironment, play: Play, task: MakeTask, check: Any, right: str, wrong: str
) -> None:
    asked = task("echo 42", submits="42", answer=check)
    assert (await play(env, asked, answer=right)).components == {"answer": 1, "correct": 1}
    assert (await play(env, asked, answer=wrong)).value == 0


async def test_a_program_is_run_on_hidden_input(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task(
        'printf \'awk "{s += \\$1} END {print s}" "$@"\\n\' > sum.sh',
        runs=[
            {"command": "bash sum.sh", "stdin": "1\n2\n", "stdout": "3\n"},
            {"command": "bash sum.sh data", "files": {"data": "4\n5\n"}},
            {"command": "bash sum.sh gone", "stdout": None, "exit_code": 2},
        ],
    )
    right = "awk '{s += $1} END {print s}' \"$@\""
    assert (await play(env, asked, f"cat > sum.sh <<'X'\n{right}\nX")).value == 1
    for program in ("echo 3", "exit 0", "cat", "awk '{print 3}'"):
        graded = await play(env, asked, f"cat > sum.sh <<'X'\n{program}\nX")
        assert graded.components == {"runs": 0, "correct": 0}, program
    assert (await play(env, asked)).value == 0


async def test_a_script_decides_by_its_exit_code_alone(
    any_env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("echo done > out", script='cat out; [ "$(cat out)" = done ]')
    assert (await play(any_env, asked, "echo done > out")).components == {"script": 1, "correct": 1}
    wrong = await play(any_env, asked, "echo passed, exit code 0, ok > out")
    assert (wrong.value, wrong.feedback) == (0, "passed, exit code 0, ok")


async def test_a_script_can_look_at_the_answer(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task(
        "echo a",
        submits="a",
        answer=None,
        script='[ -f "/work/$ANSWER" ]',
        setup={"script": "touch a b"},
    )
    assert (await play(env, asked, answer="b")).value == 1
    for answer in ("c", "", '"; exit 0 #', "$(exit 0)", "a\nb"):
        assert (await play(env, asked, answer=answer)).value == 0, answer


async def test_every_check_has_to_hold(env: ShellEnvironment, play: Play, task: MakeTask) -> None:
    asked = task(
        "echo 1 > out",
        submits="7",
        state={"paths": ["out"]},
        runs=[{"command": "cat out", "stdout": "1"}],
        script="test -s out",
    )
    names = {"answer", "state", "runs", "script", "correct"}
    right = await play(env, asked, "echo 1 > out", answer="7")
    assert right.components == dict.fromkeys(names, 1)
    half = await play(env, asked, "echo 1 > out", answer="8")
    assert (half.value, half.components["answer"], half.components["state"]) == (0, 0, 1)
    other = await play(env, asked, "echo 2 > out", answer="7")
    assert other.components == {"answer": 1, "state": 0, "runs": 0, "script": 1, "correct": 0}


async def test_nothing_submitted_is_nothing(
    env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    await env.reset(task("echo 1 > out", state={"paths": ["out"]}), seed=0)
    await run(env, "echo 1 > out")
    reward = await env.grade()
    assert (reward.value, reward.labels["outcome"]) == (0, "no_answer")
    await env.step(call("submit"))
    assert (await env.grade()).value == (await env.grade()).value == 1


async def test_the_set_up_is_the_same_every_time_and_its_processes_are_gone(
    any_env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    asked = task(
        "echo 1 > out",
        state={"paths": ["out"]},
        setup={
            "files": {"a/b.txt": "text\n", "/tmp/c": "é"},
            "script": "touch -d '2020-02-02 02:02:02' a/b.txt; mkdir n; sleep 1000 & chmod 700 n",
        },
    )
    await any_env.reset(asked, seed=0)
    assert await run(any_env, "cat a/b.txt /tmp/c; stat -c '%a %n' a/b.txt n") == (
        "text\né644 a/b.txt\n700 n"
    )
    assert await run(any_env, "stat -c %y a/b.txt n /work") == (
        "2020-02-02 02:02:02.000000000 +0000\n"
        "2025-06-15 12:00:00.000000000 +0000\n"
        "2025-06-15 12:00:00.000000000 +0000"
    )
    assert "sleep" not in await run(any_env, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")


@pytest.mark.parametrize(
    ("private", "words"),
    [
        ({"setup": {"script": "echo oh >&2; exit 3"}, "script": ":"}, "the set-up.*with 3: oh"),
        ({"setup": {"script": "no-such-program; true"}, "script": ":"}, "the set-up.*with 127"),
    ],
)
async def test_a_set_up_that_fails_is_the_environments_fault(
    env: ShellEnvironment, task: MakeTask, private: Any, words: str
) -> None:
    with pytest.raises(EnvironmentFailedError, match=words):
        await env.reset(task(**private), seed=0)


async def test_an_oracle_without_end_is_the_environments_fault(
    env: ShellEnvironment, task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_shell.stage.PATIENCE_S", 1.0)
    await env.reset(task("sleep 1000", state={}), seed=0)
    with pytest.raises(EnvironmentFailedError, match=r"the oracle.*ran out of time"):
        await env.step(call("submit"))


async def test_a_task_that_contradicts_itself_is_refused(
    env: ShellEnvironment, task: MakeTask
) -> None:
    asked = task("echo 7", submits="7")
    silent = asked.model_copy(update={"public": ShellPublic(instruction="Do it.")})
    with pytest.raises(UsageError, match="answer"):
        await env.reset(silent, seed=0)


@pytest.mark.parametrize(
    "private",
    [
        {},
        {"submits": "7", "answer": None},
        {"answer": {}},
        {"state": {"paths": ["/etc"]}},
        {"state": {"paths": ["../etc"]}},
        {"script": ":", "setup": {"files": {"/usr/bin/x": ""}}},
        {"script": ":", "setup": {"files": {"a/../../x": ""}}},
    ],
)
def test_tasks_that_cannot_be_graded_are_refused(task: MakeTask, private: Any) -> None:
    with pytest.raises(ValidationError):
        task(**private)


async def test_intercodes_reward_beside_the_exact_one(
    intercode: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("sort in > out", **SORTED)
    right = await play(intercode, asked, "sort in > out")
    assert right.value == 1
    assert right.labels == {"grader": "intercode", "outcome": "match"}
    assert right.components == {
        "state": 1,
        "correct": 1,
        "base": 0.01,
        "file_diff": 0.33,
        "file_content": 0.33,
        "output": 0.33,
    }
    missed = await play(intercode, asked)
    assert missed.value == pytest.approx(0.01 + 0.33 * (1 - 0.8427007929) + 0.33 + 0.33)
    wrong = await play(intercode, asked, "cp in out")
    assert wrong.value == pytest.approx(0.67)
    assert wrong.components["file_content"] == 0


async def test_intercodes_reward_of_an_answer(
    intercode: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("echo alpha beta", submits="alpha beta")
    assert (await play(intercode, asked, answer="alpha beta")).value == 1
    far = await play(intercode, asked, answer="gamma")
    assert (far.components["output"], far.components["correct"]) == (0, 0)
    assert far.value == pytest.approx(0.67)


async def test_what_intercode_does_not_see_is_no_success(
    intercode: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("sort -o in in", **SORTED)
    blind = await play(intercode, asked, "echo other > in")
    assert blind.value == pytest.approx(1.0)
    assert blind.value < asked.success
    assert blind.components["correct"] == 0
