"""The shell environment through its protocol: what an agent sees, and what stays between calls."""

import pickle
from collections.abc import Awaitable, Callable

import pytest

from agentgym import Action, Task, ToolCall, call, make
from agentgym.errors import UnknownNameError, UsageError
from agentgym_shell.env import ShellEnvironment
from agentgym_shell.tasks import ShellPrivate, ShellPublic

Run = Callable[..., Awaitable[str]]
MakeTask = Callable[..., Task[ShellPublic, ShellPrivate]]

OUT = {"state": {"paths": ["out"]}}


@pytest.fixture
async def begun(env: ShellEnvironment, task: MakeTask) -> ShellEnvironment:
    await env.reset(task("echo 1 > out", **OUT), seed=0)
    return env


async def test_the_first_words_give_the_task_and_how_it_ends(
    env: ShellEnvironment, task: MakeTask
) -> None:
    observation = await env.reset(task("echo 1 > out", **OUT), seed=0)
    assert "Do it." in observation.text
    assert "without an answer" in observation.text
    assert [tool.name for tool in observation.tools] == ["run", "submit"]
    assert "with the answer" in (await env.reset(task("echo 7", submits="7"), seed=0)).text


async def test_a_command_is_answered_with_output_errors_and_exit_code(
    begun: ShellEnvironment, run: Run
) -> None:
    assert await run(begun, "echo one; echo two") == "one\ntwo"
    assert await run(begun, "true") == "[no output]"
    assert await run(begun, "") == "[no output]"
    assert await run(begun, "echo a; echo b >&2; false") == "a\n[stderr]\nb\n[exit code 1]"
    assert "command not found" in await run(begun, "no-such-program")
    assert "[exit code 127]" in await run(begun, "no-such-program")
    assert "syntax error" in await run(begun, "if")
    assert await run(begun, "cat") == "[no output]"
    assert await run(begun, "printf 'é\\xff'") == "é\ufffd"
    assert await run(begun, "echo é | wc -m") == "2"


async def test_the_shell_stays_between_calls(begun: ShellEnvironment, run: Run) -> None:
    await run(begun, "mkdir -p a/b && cd a/b; x=5; export Y=6; f() { echo $((x + $1)); }")
    assert await run(begun, "pwd; f 1; bash -c 'echo $Y'") == "/work/a/b\n6\n6"
    await run(begun, "set -o pipefail; shopt -s nullglob; umask 077")
    assert await run(begun, "false | true; echo $?; echo *.x; umask") == "1\n\n0077"


async def test_background_processes_go_on(begun: ShellEnvironment, run: Run) -> None:
    await run(begun, "mkfifo p; (read -r line < p; echo got $line > got; echo done > q) & mkfifo q")
    assert await run(begun, "echo hello > p; read -r word < q; echo $word; cat got") == (
        "done\ngot hello"
    )


async def test_a_command_that_ends_the_shell_gets_a_new_one(
    begun: ShellEnvironment, run: Run
) -> None:
    await run(begun, "mkdir d; cd d; x=1; export Y=2")
    for ending, code in (
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("exec false", 1),
        ("set -e; false", 1),
    ):
        text = await run(begun, ending)
        assert f"[exit code {code}]" in text, ending
        assert "a new one, without its variables, is in /work/d]" in text
        assert await run(begun, "echo ${x-none} ${Y-none}; pwd") == "none none\n/work/d"


async def test_a_command_that_runs_out_of_time_is_killed_with_all_it_started(
    begun: ShellEnvironment, run: Run
) -> None:
    text = await run(begun, "echo started; (trap '' TERM; sleep 987) & sleep 987", timeout=1)
    assert text.startswith("started\n[timed out after 1 s")
    assert "a new one, without its variables, is in /work]" in text
    left = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 98[7]'"
    assert await run(begun, left) == "0\n[exit code 1]"


async def test_a_shell_whose_folder_is_gone_goes_on_elsewhere(
    begun: ShellEnvironment, run: Run
) -> None:
    await run(begun, "mkdir d; cd d; rmdir ../d")
    text = await run(begun, "exit 0")
    assert "is in /work]" in text
    assert await run(begun, "pwd") == "/work"
    await run(begun, "chmod 000 /work")
    fingerprint = await begun.fingerprint()
    await begun.restore(await begun.snapshot())
    assert await begun.fingerprint() == fingerprint
    assert "is in /]" in await run(begun, "exit 0")
    assert await run(begun, "chmod 755 /work; cd /work; pwd") == "/work"


async def test_long_output_is_cut_in_the_middle_and_counted(run: Run, task: MakeTask) -> None:
    env = ShellEnvironment(max_output=200)
    try:
        await env.reset(task("echo 1 > out", **OUT), seed=0)
        text = await run(env, "seq 1 100000")
        assert text.startswith("1\n2\n3\n")
        assert text.endswith("99999\n100000")
        assert "[588695 characters left out here;" in text
        assert "not kept" in await run(env, "head -c 20000000 /dev/zero | tr '\\0' x")
    finally:
        await env.close()


async def test_wrong_calls_are_the_agents_mistakes(begun: ShellEnvironment, task: MakeTask) -> None:
    for arguments in ({"command": "a\0b"}, {"command": "ls", "timeout": 0}, {}):
        assert (await begun.step(call("run", **arguments))).observation.faults
    assert (await begun.step(call("submit", answer="a\0b"))).observation.faults == ("failed",)
    assert (await begun.step(call("submit", answer="x" * 20_000))).observation.faults == ("failed",)
    assert (await begun.step(Action(text="I am done."))).observation.faults == ("no_call",)
    await begun.reset(task("echo 7", submits="7"), seed=0)
    unanswered = await begun.step(call("submit"))
    assert unanswered.observation.faults == ("failed",)
    assert not unanswered.terminated


async def test_the_commands_of_one_turn_share_its_time(
    begun: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_shell.env.TURN_S", 1.5)
    calls = tuple(
        ToolCall(name="run", arguments={"command": "sleep 100", "timeout": 100}) for _ in range(3)
    )
    observation = (await begun.step(Action(tool_calls=calls))).observation
    assert [message.fault for message in observation.messages] == [None, "failed", "failed"]
    assert "another turn" in observation.text
    assert (await begun.step(call("run", command="echo on"))).observation.text == "on"


async def test_only_work_and_tmp_can_be_written(
    any_env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    await any_env.reset(task("echo 1 > out", **OUT), seed=0)
    text = await run(
        any_env,
        "touch /work/a /tmp/a && echo fine; for d in / /etc /usr /usr/bin /home /root /var; do "
        "touch $d/x 2>/dev/null && echo $d; done; id -u; echo $HOME",
    )
    assert text == "fine\n1000\n/work"
    assert "[exit code" in await run(any_env, "exec 3<>/dev/tcp/1.1.1.1/80")


async def test_an_episode_leaves_nothing_for_the_next(
    begun: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    first = await begun.fingerprint()
    await run(begun, "echo x > a; echo y > /tmp/b; x=1; cd /tmp; sleep 1000 &")
    assert await begun.fingerprint() != first
    await begun.reset(task("echo 1 > out", **OUT), seed=0)
    assert await begun.fingerprint() == first
    assert await run(begun, "ls -A /work /tmp; echo ${x-none}; jobs; pwd") == (
        "/tmp:\n\n/work:\nnone\n/work"
    )


async def test_random_numbers_depend_on_task_and_seed(
    env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    async def drawn(task_id: str, seed: int) -> str:
        await env.reset(task("echo 1 > out", task_id=task_id, **OUT), seed=seed)
        return await run(env, "echo $RANDOM $RANDOM")

    assert await drawn("t", 0) == await drawn("t", 0)
    assert len({await drawn("t", 0), await drawn("t", 1), await drawn("u", 0)}) == 3


@pytest.mark.parametrize(
    "change",
    [
        "echo x > a",
        "chmod 700 /work",
        "ln -s a b",
        "mkfifo p",
        "mkdir d",
        "touch /tmp/x",
        "cd /tmp",
        "x=1",
        "f() { :; }",
        "set -u",
        "shopt -s dotglob",
        "umask 077",
        "alias ll=ls",
    ],
)
async def test_every_part_of_the_state_is_in_the_fingerprint(
    begun: ShellEnvironment, run: Run, change: str
) -> None:
    before = await begun.fingerprint()
    assert await begun.fingerprint() == before
    await run(begun, change)
    assert await begun.fingerprint() != before


async def test_times_are_not_in_the_fingerprint(begun: ShellEnvironment, run: Run) -> None:
    await run(begun, "echo x > a")
    before = await begun.fingerprint()
    await run(begun, "touch -d 2001-01-01 a")
    assert await begun.fingerprint() == before


STATE = (
    "mkdir -p 'd e' && cd 'd e' && echo text > file && chmod 640 file",
    "x='two words'; export Y=$'tab\\tline\\nend' Z; arr=(1 '2 3'); declare -A map=([k]=v)",
    "f() { echo \"f $1\"; }; alias ll='ls -A'; readonly R=1; unset LANG",
    "set -o pipefail; shopt -s extglob; umask 027; cd ..; cd - > /dev/null",
)
LOOK = (
    'pwd; cat file; stat -c %a file; echo "$x|$Y|${arr[1]}|${map[k]}|$R|${LANG-unset}"; f 1; '
    "bash -c 'echo $Y'; alias; false | true; echo $?; [[ aa == +(a) ]] && echo glob; umask; "
    "cd - > /dev/null; pwd; cd - > /dev/null"
)


async def test_a_snapshot_holds_files_and_shell(
    begun: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    fingerprint = await begun.fingerprint()
    await begun.restore(await begun.snapshot())
    assert await begun.fingerprint() == fingerprint
    for command in STATE:
        assert await run(begun, command) == "[no output]"
    fingerprint, snapshot = await begun.fingerprint(), await begun.snapshot()
    seen = await run(begun, LOOK)
    assert seen.startswith("/work/d e\ntext\n640\ntwo words|tab\tline\nend|2 3|v|1|unset\nf 1\n")
    await run(begun, "rm -rf /work/*; x=other; cd /tmp")
    other = ShellEnvironment()
    try:
        for env in (begun, other):
            await env.restore(pickle.loads(pickle.dumps(snapshot)))
            assert await env.fingerprint() == fingerprint
            assert await run(env, LOOK) == seen
    finally:
        await other.close()


async def test_a_snapshot_of_the_end_still_grades(env: ShellEnvironment, task: MakeTask) -> None:
    await env.reset(task("echo 1 > out", **OUT), seed=0)
    await env.step(call("run", command="echo 1 > out"))
    await env.step(call("submit"))
    fingerprint, snapshot = await env.fingerprint(), await env.snapshot()
    await env.reset(task("echo 1 > out", **OUT), seed=0)
    assert (await env.grade()).labels["outcome"] == "no_answer"
    await env.restore(snapshot)
    assert await env.fingerprint() == fingerprint
    assert (await env.grade()).value == 1


async def test_more_shell_state_than_is_kept_begins_anew(begun: ShellEnvironment, run: Run) -> None:
    await run(begun, "mkdir d; cd d; big=$(head -c 3000000 /dev/zero | tr '\\0' x)")
    snapshot = await begun.snapshot()
    assert await run(begun, "echo ${#big}") == "3000000"
    await begun.restore(snapshot)
    assert await run(begun, "echo ${#big}; pwd") == "0\n/work/d"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"grader": "nosuch"}, UnknownNameError, "grader"),
        ({"sandbox": "bubblewarp"}, UnknownNameError, "bubblewrap"),
        ({"timeout": 0}, UsageError, "timeout"),
        ({"timeout": 1000}, UsageError, "timeout"),
        ({"max_output": 1.5}, UsageError, "max_output"),
        ({"spec": {"memory": 1}}, UsageError, "memory"),
        ({"spec": {"privileged": True}}, UsageError, "privileged"),
        ({"nosuch": 1}, UnknownNameError, "nosuch"),
    ],
)
def test_options_are_checked(
    options: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make("shell", **options)


async def test_the_spec_is_what_is_asked_for(task: MakeTask, run: Run) -> None:
    env = ShellEnvironment(spec={"disk": 2 << 20, "env": {"COLOUR": "red"}})
    try:
        await env.reset(task("echo 1 > out", **OUT), seed=0)
        assert "No space left" in await run(env, "head -c 4000000 /dev/zero > big")
        assert await run(env, "echo $COLOUR") == "red"
    finally:
        await env.close()
