"""Checks of a sandbox's life: its start, its close, its listing, and its loss."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from agentgym.errors import AgentgymError, EpisodeError, SandboxLostError, SandboxTimeoutError
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import Context, still_works, token
from agentgym.sandbox.check.host import end, gone, host_pid
from agentgym.sandbox.check.registry import check, fail, holds, refused, same

_SOON_S = 20.0


def _calls(box: Sandbox, ctx: Context) -> dict[str, Callable[[], Awaitable[object]]]:
    """Return every call of the contract but `close`."""
    (ctx.folder / "source").write_text("x")
    return {
        "exec": lambda: box.exec(["true"]),
        "start": lambda: box.start(["true"]),
        "shell().run": lambda: box.shell().run("true"),
        "read_file": lambda: box.read_file("/etc/passwd"),
        "write_file": lambda: box.write_file("/tmp/x", "x"),
        "list_dir": lambda: box.list_dir("/"),
        "stat": lambda: box.stat("/"),
        "make_dir": lambda: box.make_dir("/tmp/d"),
        "remove": lambda: box.remove("/tmp/x"),
        "upload": lambda: box.upload(ctx.folder / "source", "/tmp/y"),
        "download": lambda: box.download("/etc/hostname", ctx.folder / "target"),
        "kill_all": box.kill_all,
        "snapshot": box.snapshot,
        "reset": box.reset,
        "fork": box.fork,
    }


async def _listed(ctx: Context, identity: str) -> bool:
    return any(item.id == identity for item in await ctx.backend.list())


@check("lifetime")
async def ids(ctx: Context) -> None:
    """Every sandbox has a name of its own, is listed with its owner, and starts with no files."""
    boxes = await asyncio.gather(*(ctx.fresh() for _ in range(3)))
    same("the different names", len({box.id for box in boxes}), 3)
    infos = {item.id: item for item in await ctx.backend.list()}
    for box in boxes:
        holds(box.id in infos, f"{box.id} to be listed", sorted(infos))
        info = infos[box.id]
        found = (info.backend, info.owner_pid, info.alive, info.what)
        same("its entry", found, (ctx.backend.name, os.getpid(), True, "sandbox"))
        same("`alive`", box.alive, True)
        same("its folder", (await box.exec(["ls", "-A"])).stdout, b"")


@check("lifetime")
async def closed(ctx: Context) -> None:
    """`close` ends what runs and removes the sandbox; closing again, or twice at once, is fine."""
    box, marker = await ctx.fresh(), token()
    await box.exec(f"setsid sleep 600.{marker} >/dev/null 2>&1 &")
    running = asyncio.create_task(box.exec(["sleep", f"600.{marker}"]))
    await box.exec(["true"])
    await asyncio.gather(box.close(), box.close())
    await box.close()
    same("`alive`", box.alive, False)
    holds(await gone(marker), "nothing to run after close", "a process of the sandbox's")
    same("that it is listed", await _listed(ctx, box.id), False)
    async with asyncio.timeout(_SOON_S):
        with refused("the command under way", EpisodeError):
            await running


@check("lifetime")
async def used_after_close(ctx: Context) -> None:
    """Every call after `close` raises an error of agentgym's that says so, at once."""
    box = await ctx.fresh()
    snapshot = await box.snapshot()
    await box.close()
    calls = _calls(box, ctx) | {"restore": lambda: box.restore(snapshot)}
    for name, call in calls.items():
        try:
            async with asyncio.timeout(_SOON_S):
                await call()
        except AgentgymError as error:
            holds("closed" in str(error), f"{name} to say that it is closed", str(error))
        else:
            fail(f"{name} to be refused after close", "that it was carried out")


@check("lifetime")
async def left_by_with(ctx: Context) -> None:
    """`async with` closes the sandbox, after an error too."""
    with suppress(KeyError):
        async with await ctx.fresh() as box:
            raise KeyError
    same("`alive`", box.alive, False)
    same("that it is listed", await _listed(ctx, box.id), False)


@check("lifetime")
async def many(ctx: Context) -> None:
    """8 sandboxes started at once are apart: their files, and their ends."""
    boxes = await asyncio.gather(*(ctx.fresh() for _ in range(8)))

    async def mark(number: int, box: Sandbox) -> None:
        await box.exec(f"echo {number} > mine")

    await asyncio.gather(*(mark(n, box) for n, box in enumerate(boxes)))
    await asyncio.gather(*(box.close() for box in boxes[:4]))
    found = await asyncio.gather(*(box.exec(["cat", "mine"]) for box in boxes[4:]))
    same("each one's own file", [item.text for item in found], [f"{n}\n" for n in range(4, 8)])


@check("lifetime")
async def reaping(ctx: Context) -> None:
    """`reap` takes nothing that belongs to a process that lives."""
    box = await ctx.fresh()
    taken = await ctx.backend.reap()
    holds(all(not item.alive for item in taken), "only what has no owner", taken)
    same("that this one is listed", await _listed(ctx, box.id), True)
    await still_works(box)


@check("lifetime", isolated=True)
async def lost(ctx: Context) -> None:
    """A sandbox that dies is SandboxLostError on the call under way and on every later one."""
    box, other = await ctx.fresh(), await ctx.fresh()
    snapshot = await box.snapshot()
    pid = await host_pid(box)
    process = await box.start("echo up; sleep 600", stdin=b"")
    same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
    waiting = [
        asyncio.create_task(box.exec(["sleep", "600"])),
        asyncio.create_task(process.wait()),
        asyncio.create_task(box.shell().run("sleep 600")),
    ]
    await box.exec(["true"])
    end(pid)
    async with asyncio.timeout(_SOON_S):
        for task in waiting:
            with refused("a call under way", SandboxLostError):
                await task
    calls = _calls(box, ctx) | {"restore": lambda: box.restore(snapshot)}
    for name, call in calls.items():
        async with asyncio.timeout(_SOON_S):
            with refused(name, SandboxLostError):
                await call()
    same("`alive`", box.alive, False)
    await still_works(other)
    await box.close()
    same("that it is listed once closed", await _listed(ctx, box.id), False)


@check("lifetime", isolated=True)
async def lost_in_transfer(ctx: Context) -> None:
    """A sandbox that dies while a file goes through is SandboxLostError, and no half file."""
    box = await ctx.fresh()
    pid = await host_pid(box)
    source = ctx.folder / "source"
    source.write_bytes(bytes(100 << 20))
    tasks = [
        asyncio.create_task(box.upload(source, "/work/copy")),
        asyncio.create_task(box.write_file("/work/file", bytes(20 << 20))),
        asyncio.create_task(box.exec(["cat"], stdin=bytes(20 << 20))),
    ]
    await asyncio.sleep(0)
    end(pid)
    async with asyncio.timeout(_SOON_S):
        for task in tasks:
            with refused("a call under way", SandboxLostError):
                await task


@check("lifetime", isolated=True, aside=True)
async def frozen(ctx: Context) -> None:
    """A sandbox that stops answering is SandboxTimeoutError, not a wait without end."""
    box = await ctx.fresh()
    end(await host_pid(box), signal.SIGSTOP)
    async with asyncio.timeout(55):
        with refused("a command", SandboxTimeoutError):
            await box.exec(["true"], timeout=0.2)
    same("`alive`", box.alive, False)
    async with asyncio.timeout(_SOON_S):
        with refused("a later call", EpisodeError):
            await box.exec(["true"])
        await box.close()
