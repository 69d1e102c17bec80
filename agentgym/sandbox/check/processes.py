"""Checks that a timeout, a kill and a cancellation end everything a command has started."""

import asyncio

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import Context, home, still_works, token
from agentgym.sandbox.check.inside import PYTHON, python, running, succeeds
from agentgym.sandbox.check.registry import check, holds, same
from agentgym.sandbox.spec import ExecResult

_TIME = 0.4

_DAEMON = """
import os, sys
for _ in range(2):
    if os.fork():
        os._exit(0) if _ else os.wait()
        break
    os.setsid()
else:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    os.execvp("sleep", ["sleep", sys.argv[1]])
"""
"""A double-forked daemon in a session of its own; the program itself goes on."""

_CHAIN = """
import os, sys, time
if os.fork() == 0:
    while True:
        time.sleep(0.001)
        if os.fork(): os._exit(0)
        os.setsid()
time.sleep(600)
"""
"""A process that lives on as its child, time and again, each in a session of its own."""


async def _timed_out(sandbox: Sandbox, command: str, marker: str) -> ExecResult:
    """Run a command into its timeout, and fail where anything of it is left."""
    found = await sandbox.exec(command, timeout=_TIME)
    same("`timed_out`", found.timed_out, True)
    same("the exit code", found.exit_code, 137)
    holds(found.duration >= _TIME * 0.9, f"a duration of {_TIME} s", found.duration)
    same("the processes left", await running(sandbox, marker), [])
    return found


@check("processes")
async def timeout(ctx: Context) -> None:
    """A command over its time is killed and told apart: `timed_out`, 128 + 9, its output kept."""
    marker = token()
    found = await _timed_out(
        ctx.sandbox, f"echo out; echo err >&2; exec sleep 600.{marker}", marker
    )
    same("the output before it", (found.stdout, found.stderr), (b"out\n", b"err\n"))
    await still_works(ctx.sandbox)


@check("processes")
async def default_timeout(ctx: Context) -> None:
    """Without a time of its own a call has the spec's `timeout`."""
    sandbox = await ctx.fresh(timeout=_TIME)
    found = await sandbox.exec(["sleep", "600"])
    same("the end", (found.timed_out, found.exit_code), (True, 137))
    found = await sandbox.exec(["sleep", "0.6"], timeout=10)
    same("a call with more time", (found.timed_out, found.exit_code), (False, 0))


@check("processes")
async def timeout_of_stubborn(ctx: Context) -> None:
    """A timeout kills children that ignore every signal they can."""
    marker = token()
    program = (
        "import signal, sys, time\n"
        "for n in set(signal.valid_signals()) - {9, 19}:\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: time.sleep(1)"
    )
    python3 = " ".join(PYTHON)
    await _timed_out(ctx.sandbox, f"trap '' TERM; {python3} '{program}' {marker} & wait", marker)


@check("processes")
async def timeout_of_daemon(ctx: Context) -> None:
    """A timeout kills a double-forked daemon."""
    marker = token()
    python3 = " ".join(PYTHON)
    line = f"{python3} '{_DAEMON}' 600.{marker}; sleep 600.{marker}"
    await _timed_out(ctx.sandbox, line, marker)


@check("processes")
async def timeout_of_sessions(ctx: Context) -> None:
    """A timeout kills children in new sessions and process groups, and stopped ones."""
    marker = token()
    line = (
        f"setsid setsid sleep 600.{marker} & set -m; sleep 600.{marker} & set +m;"
        f"(sleep 600.{marker} & kill -STOP $!) & nohup sleep 600.{marker} & wait"
    )
    await _timed_out(ctx.sandbox, line, marker)


@check("processes")
async def timeout_of_tree(ctx: Context) -> None:
    """A timeout kills a tree of 60 processes, deep and broad."""
    marker = token()
    nap = f"sleep 600.{marker}"
    deep = f"deep() {{ [ $1 -gt 0 ] && (deep $(($1 - 1)); {nap}) || {nap}; }}; deep 20 &"
    broad = f"for i in 1 2 3 4 5 6 7 8 9; do ({nap} & {nap} & {nap}) & done"
    line = f"{deep} {broad}; wait"
    await _timed_out(ctx.sandbox, line, marker)


@check("processes", isolated=True)
async def timeout_of_chain(ctx: Context) -> None:
    """A timeout kills a process that keeps forking itself away while it is killed."""
    marker = token()
    python3 = " ".join(PYTHON)
    await _timed_out(ctx.sandbox, f"{python3} '{_CHAIN}' {marker}", marker)


@check("processes")
async def others_go_on(ctx: Context) -> None:
    """A timeout ends its own command alone: others, and their children, go on."""
    marker = token()
    await succeeds(ctx.sandbox, f"setsid sleep 600.{marker} >/dev/null 2>&1 &")
    other = await ctx.sandbox.start("sleep 600 & read line; echo $line; kill %1")
    found = await ctx.sandbox.exec(["sleep", "600"], timeout=_TIME)
    same("`timed_out`", found.timed_out, True)
    await other.write(b"still here\n")
    same("the other's output", (await other.wait()).stdout, b"still here\n")
    same("other commands' processes", len(await running(ctx.sandbox, marker)), 1)


@check("processes")
async def background_child(ctx: Context) -> None:
    """A background child that holds the output does not hold up the end of its command."""
    marker = token()
    for line in (f"sleep 600.{marker} & echo hi", f"setsid sleep 600.{marker} & echo hi"):
        found = await ctx.sandbox.exec(line, timeout=20)
        same("its end", (found.stdout, found.exit_code, found.timed_out), (b"hi\n", 0, False))


@check("processes")
async def background_service(ctx: Context) -> None:
    """What a command leaves running goes on until `kill_all`, so that services can be started."""
    marker = token()
    python3 = " ".join(PYTHON)
    await succeeds(ctx.sandbox, f"sleep 600.{marker} >/dev/null 2>&1 &")
    await succeeds(ctx.sandbox, f"{python3} '{_DAEMON}' 600.{marker}")
    holds(await _number(ctx.sandbox, marker, 2), "two processes", "fewer")
    await ctx.sandbox.kill_all()
    same("the processes after kill_all", await running(ctx.sandbox, marker), [])


async def _number(sandbox: Sandbox, marker: str, wanted: int) -> bool:
    """Wait until so many processes have a marker; they may be about to run their program."""
    for _ in range(80):
        if len(await running(sandbox, marker)) == wanted:
            return True
    return False


@check("processes")
async def closed_output(ctx: Context) -> None:
    """A command that closes its output runs on to its own end and exit code."""
    work = await home(ctx.sandbox)
    line = f"exec >&- 2>&-; sleep 0.2; : > {work}/ran; exit 5"
    same("the exit code", (await ctx.sandbox.exec(line)).exit_code, 5)
    same("what it did last", (await ctx.sandbox.stat(f"{work}/ran")).size, 0)


@check("processes")
async def kill_all(ctx: Context) -> None:
    """`kill_all` ends every process, those of commands under way included; files stay."""
    work, marker = await home(ctx.sandbox), token()
    await ctx.sandbox.write_file(f"{work}/file", "kept")
    line = f"setsid sleep 600.{marker} & sleep 600.{marker} & echo up; exec sleep 600.{marker}"
    process = await ctx.sandbox.start(line, stdin=b"")
    same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
    await ctx.sandbox.kill_all()
    found = await process.wait()
    same("the end of the command under way", (found.exit_code, found.timed_out), (137, False))
    same("the processes left", await running(ctx.sandbox, marker), [])
    same("the file", await ctx.sandbox.read_file(f"{work}/file"), b"kept")
    await still_works(ctx.sandbox)


@check("processes")
async def cancelled(ctx: Context) -> None:
    """Cancelling `exec` in the host ends what runs inside."""
    marker = token()
    line = f"setsid sleep 600.{marker} & exec sleep 600.{marker}"
    task = asyncio.create_task(ctx.sandbox.exec(line))
    holds(await _number(ctx.sandbox, marker, 2), "two processes", "fewer")
    task.cancel()
    await asyncio.wait([task])
    holds(task.cancelled(), "the call to be cancelled", task)
    holds(await _number(ctx.sandbox, marker, 0), "none of them to be left", "some")
    await still_works(ctx.sandbox)


@check("processes", isolated=True)
async def orphans_are_reaped(ctx: Context) -> None:
    """Processes whose parent is gone leave no zombies behind."""
    program = (
        "import os\n"
        "for _ in range(300):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os.fork()\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    for _ in range(2):
        same("the exit code", (await python(ctx.sandbox, program)).exit_code, 0)
    zombies = "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^Z' || true"
    found = ""
    for _ in range(100):
        found = (await ctx.sandbox.exec(zombies)).text.strip()
        if found == "0":
            return
    same("the zombies", found, "0")
