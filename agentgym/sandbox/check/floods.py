"""Checks that floods of output are bounded in memory on both sides."""

from agentgym.sandbox.check.context import Context, still_works
from agentgym.sandbox.check.host import Growth, host_pid, resident
from agentgym.sandbox.check.inside import python
from agentgym.sandbox.check.registry import check, holds, same
from agentgym.sandbox.spec import MIB

_GIGABYTE = "head -c 1000000000 /dev/zero"


@check("floods")
async def gigabyte(ctx: Context) -> None:
    """1 GB of output is cut at the limit and takes no memory of the host's."""
    async with Growth(64 * MIB):
        found = await ctx.sandbox.exec(_GIGABYTE, output_limit=MIB, timeout=50)
    same("the exit code", (found.exit_code, found.timed_out), (0, False))
    same("the bytes kept", (len(found.stdout), found.truncated), (MIB, True))
    await still_works(ctx.sandbox)


@check("floods", isolated=True)
async def gigabyte_in_guest(ctx: Context) -> None:
    """1 GB on both streams takes no memory inside either: a sandbox of 48 MiB bears it."""
    sandbox = await ctx.fresh(memory=48 * MIB)
    line = f"({_GIGABYTE} >&2) & {_GIGABYTE}; wait"
    found = await sandbox.exec(line, output_limit=MIB, timeout=50)
    same("the exit code", (found.exit_code, found.timed_out), (0, False))
    same("the bytes kept", (len(found.stdout), len(found.stderr)), (MIB, MIB))
    guest = resident(await host_pid(sandbox))
    holds(guest < 32 * MIB, "a guest below 32 MB", f"{guest >> 20} MB")
    await still_works(sandbox)


@check("floods")
async def endless(ctx: Context) -> None:
    """Output without end is ended by the timeout, and cut at the limit."""
    async with Growth(64 * MIB):
        found = await ctx.sandbox.exec("yes & yes >&2", timeout=0.5, output_limit=1000)
    same("the end", (found.timed_out, found.truncated, found.exit_code), (True, True, 137))
    same("the output", (found.stdout, len(found.stderr)), (b"y\n" * 500, 1000))
    await still_works(ctx.sandbox)


@check("floods")
async def small_writes(ctx: Context) -> None:
    """300,000 writes of two bytes each arrive whole."""
    program = "import os\nfor n in range(300_000): os.write(1, b'y\\n')"
    found = await python(ctx.sandbox, program, timeout=50)
    same("the bytes", len(found.stdout), 600_000)
    same("the end", (found.exit_code, found.truncated), (0, False))


@check("floods")
async def eight_at_once(ctx: Context) -> None:
    """Several floods at once stay within their limits, and other commands go on."""
    floods = [
        await ctx.sandbox.start("yes", stdin=b"", timeout=20, output_limit=MIB) for _ in range(8)
    ]
    async with Growth(128 * MIB):
        for _ in range(10):
            same("a command beside", (await ctx.sandbox.exec(["true"], timeout=15)).exit_code, 0)
        for flood in floods:
            await flood.kill()
            found = await flood.wait()
            holds(len(found.stdout) <= MIB, "at most the limit", len(found.stdout))
    await still_works(ctx.sandbox)
