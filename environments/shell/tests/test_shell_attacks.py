"""What an agent may try against its grade: it scores nothing, and never voids the episode.

An `EpisodeError` would have the episode retried, so nothing an agent leaves may raise one.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from agentgym import Task, call
from agentgym.errors import SandboxLostError
from agentgym.types import Reward
from agentgym_shell.env import ShellEnvironment
from agentgym_shell.tasks import ShellPrivate, ShellPublic

Run = Callable[..., Awaitable[str]]
Play = Callable[..., Awaitable[Reward]]
MakeTask = Callable[..., Task[ShellPublic, ShellPrivate]]

# The check calls what an agent would like to replace: programs, shell functions, an interpreter.
CHECK = """
grep -qx right out || exit 1
[ "$(sort out | head -n 1)" = right ] || exit 1
test "$(bash -c 'cat out')" = right || exit 1
[ "$(awk 'END { print $0 }' out)" = right ]
"""
TOOLS = "grep sort head bash cat awk test env sh"

FAKE = (
    f"mkdir -p bin; for t in {TOOLS}; do printf '#!/bin/sh\\necho right\\n' > bin/$t; done; "
    "chmod +x bin/*"
)
HIJACKS = {
    "programs on the path": f"{FAKE}; cp bin/* .; export PATH=/work/bin:/work:.:$PATH; hash -r",
    "start-up files": (
        f"{FAKE}; echo 'PATH=/work/bin:$PATH; exit 0' | tee .bashrc .bash_profile .profile "
        ".bash_login .bash_logout .inputrc rc > x; export BASH_ENV=/work/rc ENV=/work/rc"
    ),
    "exported functions": (
        "for t in grep sort head cat awk test '['; do eval \"$t() { echo right; }\"; "
        'export -f "$t"; done'
    ),
    "aliases": "shopt -s expand_aliases; alias grep=true test=true '[=true' bash=true; alias",
    "variables": (
        "export LD_PRELOAD=/work/x.so LD_LIBRARY_PATH=/work PYTHONPATH=/work SHELLOPTS "
        "PS4='$(echo right)' IFS=x POSIXLY_CORRECT=1 CDPATH=/tmp GREP_OPTIONS=-v AWKPATH=/work"
    ),
    "traps": "trap 'exit 0' EXIT ERR DEBUG RETURN; set -T",
    "the shell's own builtins": "enable -n test '[' ; test() { return 0; }; exit() { :; }; echo",
    "a folder in place of the file": "mkdir out; echo right > out/right",
    "a link to what it should be": "ln -s /work/other out; echo right > /tmp/other",
    "nothing readable": "echo wrong > out; chmod 000 out",
    "a name with the verdict": "touch 'out; exit 0' 'right' '-qx right out'",
}


@pytest.mark.parametrize("hijack", HIJACKS.values(), ids=HIJACKS)
async def test_what_a_check_calls_cannot_be_replaced(
    env: ShellEnvironment, play: Play, task: MakeTask, hijack: str
) -> None:
    asked = task("echo right > out", script=CHECK, state={"paths": ["out"]})
    reward = await play(env, asked, hijack)
    assert reward.components == {"script": 0, "state": 0, "correct": 0}
    assert (await play(env, asked, "echo right > out")).value == 1


PYTHON = 'python3 -I -S -c \'import json, sys; sys.exit(open("out").read() != "right\\n")\''


async def test_an_interpreter_reads_nothing_of_the_agents(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("echo right > out", script=PYTHON)
    fakes = (
        "cat > sitecustomize.py <<< 'import os; os._exit(0)'",
        "cp sitecustomize.py usercustomize.py; cp sitecustomize.py json.py; cp json.py sys.py",
        "d=.local/lib/python3.11/site-packages; mkdir -p $d; cp *.py $d; echo import x > $d/a.pth",
        "printf '#!/bin/sh\\nexit 0\\n' > python3; chmod +x python3; mkdir bin; cp python3 bin",
        "export PYTHONPATH=/work PYTHONHOME=/work PYTHONSTARTUP=/work/json.py PYTHONINSPECT=1",
        "mkdir -p .config; echo 'home = /work' > pyvenv.cfg",
    )
    assert (await play(env, asked, *fakes)).value == 0
    assert (await play(env, asked, *fakes, "echo right > out")).value == 1


async def test_no_process_of_the_agents_outlives_the_submission(
    any_env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    waiting = "while [ ! -e /work/grading ]; do :; done; echo right > /work/out; touch /work/woken"
    asked = task(
        "echo right > out",
        script="touch grading; for i in $(seq 20); do [ ! -e woken ] || exit 0; sleep 0.05; done; "
        "exit 1",
    )
    reward = await play(
        any_env,
        asked,
        f"({waiting}) &",
        f"setsid bash -c '{waiting}' > /dev/null 2>&1 &",
        f"(trap '' TERM HUP INT; (setsid bash -c '{waiting}' &) &) > /dev/null 2>&1",
    )
    assert reward.value == 0


async def test_a_file_that_changes_all_the_time_is_graded_once(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task("echo right > out", state={"paths": ["out"]}, script="grep -qx right out")
    flicker = "(while :; do echo right > new; mv new out; echo wrong > new; mv new out; done) &"
    reward = await play(env, asked, flicker, "until [ -e out ]; do :; done")
    assert reward.components["state"] == reward.components["script"]


SECRET = "Zanzibar-4711"


async def test_nothing_private_can_be_read(
    any_env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    asked = task(
        f"echo {SECRET}-oracle > /dev/null; echo 1 > out",
        submits=f"{SECRET}-answer",
        state={"paths": ["out"]},
        runs=[{"command": f"echo {SECRET}-run", "stdout": SECRET}],
        script=f"# {SECRET}-script",
        setup={
            "script": f"# {SECRET}-setup\necho $0 $BASH_EXECUTION_STRING > /dev/null; sleep 99 &"
        },
    )
    await any_env.reset(asked, seed=0)
    for look in (
        "grep -rI --devices=skip Zanzibar-471[1] /work /tmp /dev/shm /etc /run /var /home /opt",
        "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/self/mountinfo | tr '\\0' '\\n' "
        "| grep Zanzibar-471[1]",
        "set | grep Zanzibar-471[1]; ls -laR /work /tmp /dev/shm | grep Zanzibar-471[1]",
    ):
        assert SECRET not in await run(any_env, f"{look} 2>/dev/null"), look
    transition = await any_env.step(call("submit", answer="x"))
    assert SECRET not in transition.observation.text


async def test_a_program_under_test_learns_nothing_of_what_is_expected(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task(
        "echo 'wc -l' > count.sh",
        runs=[{"command": "bash count.sh", "stdin": "a\nb\n", "stdout": f"{SECRET}2"}],
    )
    spy = (
        "for p in /proc/[0-9]*; do cat $p/cmdline $p/environ | tr '\\0' '\\n'; ls -l $p/fd; done; "
        "set; cat /work/* /tmp/*; cat"
    )
    reward = await play(env, asked, f"cat > count.sh <<'X'\n{spy}\nX")
    assert reward.components["runs"] == 0
    guess = f"({spy}) 2>/dev/null | grep -o '{SECRET[:-1]}.*' | head -n 1"
    assert (await play(env, asked, f"cat > count.sh <<'X'\n{guess}\nX")).value == 0


@pytest.mark.parametrize(
    "answer",
    [
        "$(echo 42)",
        "`echo 42`",
        "42; exit 0",
        "'; exit 0; '",
        '"; exit 0; "',
        "42\n43",
        "${ANSWER:=42}",
        "%s\\n",
        "*",
        "-n 42",
        "\u202e42",
    ],
)
async def test_an_answer_is_text_and_never_run(
    env: ShellEnvironment, play: Play, task: MakeTask, answer: str
) -> None:
    asked = task("echo 42", submits="42", script='[ "$ANSWER" = 42 ]')
    reward = await play(env, asked, "touch 42", answer=answer)
    assert reward.components == {"answer": 0, "script": 0, "correct": 0}


BLOCKING = {
    "pipe": "mkfifo out",
    "link to a pipe": "mkfifo p; ln -s p out",
    "link to itself": "ln -s out out",
    "endless device": "ln -s /dev/zero out",
}


@pytest.mark.parametrize("trap", BLOCKING.values(), ids=BLOCKING)
async def test_what_never_ends_reading_ends_the_check(
    env: ShellEnvironment,
    play: Play,
    task: MakeTask,
    monkeypatch: pytest.MonkeyPatch,
    trap: str,
) -> None:
    monkeypatch.setattr("agentgym_shell.checks.PATIENCE_S", 1.0)
    asked = task(
        "echo right > out",
        state={"paths": ["out"]},
        runs=[
            {"command": "cat out", "stdout": "right"},
            {"command": "cat out/x", "files": {"out/x": "right"}, "stdout": "right"},
        ],
        script="grep -qx right out",
    )
    reward = await play(env, asked, trap)
    assert reward.components == {"state": 0, "runs": 0, "script": 0, "correct": 0}


async def test_what_lies_where_a_checks_file_goes_is_replaced(
    env: ShellEnvironment, play: Play, task: MakeTask
) -> None:
    asked = task(":", runs=[{"command": "cat in/a", "files": {"in/a": "1"}, "stdout": "1"}])
    for way in ("mkdir -p in/a/b", "mkdir in; mkfifo in/a", "mkdir in; ln -s /etc/passwd in/a"):
        assert (await play(env, asked, way)).value == 1, way
    for way in ("touch in", "ln -s /etc in", "mkdir in; chmod 000 in", "ln -s in in"):
        assert (await play(env, asked, way)).value == 0, way


WRECKS = {
    "full disk": "head -c 200000000 /dev/zero > big; head -c 200000000 /dev/zero > /tmp/big",
    "sparse files": "for i in $(seq 300); do truncate -s 60M s$i; done; truncate -s 100T t",
    "many files": "for i in $(seq 30000); do : > f$i; done",
    "deep folders": "for i in $(seq 3000); do mkdir dddddddddd && cd dddddddddd || break; done",
    "odd names": "touch $'a\\nb' $'\\xff\\xfe' '-rf' ' ' \"$(printf 'n%.0s' $(seq 255))\"",
    "hard links": "touch a; for i in $(seq 1000); do ln a l$i; done",
    "no permissions": "mkdir d; touch d/a; chmod 000 d/a d /work",
    "everything removed": "rm -rf /work /tmp/* /dev/shm/* 2>/dev/null; true",
    "moved mount": "mv /work /tmp/x 2>/dev/null; ln -s /etc /tmp/work",
    "socket": "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => q(s), Listen => 1)'",
    "fork bomb": "b() { b | b & }; b; true",
    "memory hog": "head -c 1000000000 /dev/zero | tail -c 900000000 > /dev/null; true",
    "closed streams": "exec 0<&- 1>&- 2>&-",
    "killed processes": "kill -9 -1",
    "flood": "yes & yes",
    "stopped shell": "kill -STOP $$",
    "open files": 'for i in $(seq 10 5000); do eval "exec $i< /dev/null" || break; done',
}


@pytest.mark.parametrize("wreck", WRECKS.values(), ids=WRECKS)
async def test_no_wreck_voids_the_episode(
    any_env: ShellEnvironment, run: Run, task: MakeTask, wreck: str
) -> None:
    asked = task("echo right > out", state={"paths": ["out"]}, script="grep -qx right out")
    await any_env.reset(asked, seed=0)
    await run(any_env, wreck, timeout=5)
    await any_env.fingerprint()
    await run(any_env, "echo still", timeout=5)
    reward = (await any_env.step(call("submit"))).reward
    assert reward.value == 0
    await any_env.reset(asked, seed=0)
    assert await run(any_env, "ls -A; echo right > out") == "[no output]"
    assert (await any_env.step(call("submit"))).reward.value == 1


async def test_a_wrecked_shell_can_still_be_worked_with(
    env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    await env.reset(task("echo right > out", state={"paths": ["out"]}), seed=0)
    for wreck in (
        "exec 0<&- 1>&- 2>&-",
        "kill -9 -1",
        "b() { b | b & }; b",
        "read() { exit; }",
        "printf() { :; }; eval() { :; }",
        "set -n",
        "exec 3>&1 4>&1",
        "PATH=; IFS=x",
        "while :; do :; done",
        "trap 'exit 1' DEBUG",
        "ulimit -n 4",
        "cd /; PWD=/nowhere",
    ):
        await run(env, wreck, timeout=2)
        await env.fingerprint()
        await env.snapshot()
        await run(env, "exit", timeout=2)
        assert await run(env, "echo alive", timeout=5) == "alive", wreck


RACES = {
    "folders": "while :; do mkdir -p a/b/c; mv a/b e; mv e/c a/x; rm -rf a e; done",
    "kinds": "while :; do : > f; rm f; ln -s / f; rm f; mkfifo f; rm f; mkdir f; rmdir f; done",
    "sizes": "while :; do truncate -s 1G f; echo x >> f; truncate -s 5 f; done",
    "many": "while :; do for i in $(seq 500); do : > f$i; done; rm -f f*; done",
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
async def test_files_that_change_while_they_are_read_void_no_episode(
    env: ShellEnvironment, run: Run, task: MakeTask, race: str
) -> None:
    await env.reset(task("echo right > out", state={"paths": ["out"]}), seed=0)
    for _ in range(3):
        await run(env, f"({race}) 2>/dev/null &")
    for _ in range(20):
        assert await env.fingerprint()
    await env.restore(await env.snapshot())
    await run(env, "echo right > out")
    assert (await env.step(call("submit"))).reward.value == 1


async def test_a_sandbox_that_dies_is_the_infrastructures_fault(
    env: ShellEnvironment, run: Run, task: MakeTask
) -> None:
    asked = task("echo right > out", state={"paths": ["out"]})
    before = descendants("self")
    await env.reset(asked, seed=0)
    for pid in descendants("self") - before:
        with suppress(ProcessLookupError):  # it went with its parent
            os.kill(int(pid), signal.SIGKILL)
    with pytest.raises(SandboxLostError) as raised:
        await until_it_fails(env, run)
    assert raised.value.retryable
    await env.reset(asked, seed=0)
    assert await run(env, "echo alive") == "alive"


async def until_it_fails(env: ShellEnvironment, run: Run) -> None:
    async with asyncio.timeout(60):
        while True:
            await run(env, "true")


def descendants(pid: str) -> set[str]:
    """Processes that this one has started, with theirs."""
    found: set[str] = set()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            found |= {child} | descendants(child)
    return found
