"""Checks that the sandbox's first process, its guest, cannot be harmed or made to say things."""

from agentgym.sandbox.check.context import Context, still_works
from agentgym.sandbox.check.inside import DONE, PERMISSION, answer, python
from agentgym.sandbox.check.registry import check, holds, same

_SIGNALS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for number in range(1, 65):
    for target in (1, -1) if number in (1, 10, 34) else (1,):
        try:
            os.kill(target, number)
        except OSError:
            pass
"""

_TRACING = """
space = text(bytes(64))
here, there = (ctypes.c_ulong * 2)(space, 8), (ctypes.c_ulong * 2)(0x400000, 8)
vectors = ctypes.addressof(here), 1, ctypes.addressof(there), 1
denied("attach", (101, 117), 16, 1, 0, 0)
denied("seize", (101, 117), 0x4206, 1, 0, 0)
denied("read memory", (310, 270), 1, *vectors, 0)
denied("write memory", (311, 271), 1, *vectors, 0)
denied("compare files", (312, 272), 1, os.getpid(), 0, 0, 0)
denied("limits", (302, 261), 1, 7, 0, space)
denied("move pages", (279, 239), 1, 0, 0, 0, 0, 0)
denied("locks", (274, 100), 1, space, space)
first = libc.syscall(434, 1, 0)
for number in range(16 if first >= 0 else 0):
    denied(f"descriptor {number}", 438, first, number, 0)
if first >= 0:
    denied("advice", 440, first, ctypes.addressof(there), 1, 20, 0)
"""


@check("escape", isolated=True)
async def killing_the_first(ctx: Context) -> None:
    """No signal ends, stops or disturbs the sandbox's first process."""
    box = await ctx.fresh()
    await python(box, _SIGNALS)
    await still_works(box)
    for line in ("kill -9 1", "kill -STOP 1; kill -ABRT 1; kill -SEGV 1; kill -HUP 1", "kill -9 0"):
        await box.exec(line)
        await still_works(box)
    await box.restore(await box.snapshot())


@check("escape", isolated=True)
async def killing_all(ctx: Context) -> None:
    """A command that kills every process it may is an ordinary result."""
    box = await ctx.fresh()
    for line in ("kill -9 -1", "kill -STOP -1", "kill -TERM -1; kill -9 -1; true"):
        found = await box.exec(line, timeout=5)
        holds(0 <= found.exit_code <= 255, "an ordinary result", found)
        await box.kill_all()
        await still_works(box)


@check("escape", isolated=True)
async def tracing_the_first(ctx: Context) -> None:
    """The sandbox's first process cannot be traced, read, written, or have its files taken."""
    found = await answer(ctx.sandbox, PERMISSION + _TRACING + DONE)
    same("what is not refused", found, [])
    await still_works(ctx.sandbox)


@check("escape", isolated=True)
async def leaving_the_tree(ctx: Context) -> None:
    """A command cannot undo what keeps all it starts in its tree, for a timeout to find."""
    program = PERMISSION + 'denied("subreaper", (157, 167), 36, 0, 0, 0, 0)\n' + DONE
    same("what is not refused", await answer(ctx.sandbox, program), [])


@check("escape", isolated=True)
async def door_to_the_host(ctx: Context) -> None:
    """The folder through which the sandbox's first process was connected is empty."""
    found = await ctx.sandbox.exec("ls -A /.agentgym 2>/dev/null")
    same("what is in it", found.text, "")
    found = await ctx.sandbox.exec(["cat", "/proc/net/unix"])
    listening = [line for line in found.text.splitlines() if line.split()[3] == "00010000"]
    same("sockets that listen", listening, [])
