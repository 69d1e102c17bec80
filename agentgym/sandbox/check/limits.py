"""Checks that each limit of a spec holds, and that the sandbox goes on after it is hit."""

import time

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check import hogs
from agentgym.sandbox.check.context import Context, still_works
from agentgym.sandbox.check.inside import answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, same
from agentgym.sandbox.spec import MIB

WRITABLE = ("/work", "/tmp", "/dev/shm")
"""Folders that every isolated sandbox has."""
MEMORY = 96 * MIB


def _last(output: bytes) -> int:
    words = output.split()
    return int(words[-1]) if words else 0


async def _hog(sandbox: Sandbox, program: str, what: str) -> None:
    found = await python(sandbox, program, timeout=40)
    holds(not found.timed_out and found.exit_code != 0, f"{what} to be ended", found)
    holds(_last(found.stdout) <= MEMORY, f"at most {MEMORY} bytes", f"{_last(found.stdout)}")
    await still_works(sandbox)


@check("limits", isolated=True)
async def memory(ctx: Context) -> None:
    """A program that takes all memory is ended at the limit; the sandbox goes on."""
    sandbox = await ctx.fresh(memory=MEMORY)
    other = await sandbox.start("read line; echo $line")
    for _ in range(3):
        await _hog(sandbox, hogs.MEMORY, "a memory hog")
    await other.write(b"on\n")
    found = await other.wait()
    holds(found.exit_code in (0, 137), "another command to go on or be killed", found)


@check("limits", isolated=True)
async def shared_memory(ctx: Context) -> None:
    """Shared memory counts as memory does."""
    await _hog(await ctx.fresh(memory=MEMORY), hogs.SHARED_MEMORY, "a hog of shared memory")


@check("limits", isolated=True)
async def memory_by_files(ctx: Context) -> None:
    """Writable folders, full to the brim, leave memory for commands to run in."""
    sandbox = await ctx.fresh(memory=MEMORY)
    for folder in WRITABLE:
        await answer(sandbox, hogs.DISK, folder)
    same("a command meanwhile", (await python(sandbox, "print(1)")).stdout, b"1\n")
    for folder in WRITABLE:
        await sandbox.remove(f"{folder}/fill")
    await still_works(sandbox)


@check("limits", isolated=True)
async def processes(ctx: Context) -> None:
    """No more processes or threads than `pids`; one more is EAGAIN, and the sandbox goes on."""
    sandbox = await ctx.fresh(pids=48)
    count, name = await answer(sandbox, hogs.PROCESSES)
    same("the error of the last fork", name, "EAGAIN")
    holds(24 <= count <= 48, "at most 48 processes, and most of them the command's", count)
    count = await answer(sandbox, hogs.THREADS)
    holds(24 <= count <= 48, "at most 48 threads, and most of them the command's", count)
    await still_works(sandbox)


@check("limits", isolated=True)
async def no_process_left(ctx: Context) -> None:
    """A command for which no process is left is an ordinary result: 126, and said in stderr."""
    sandbox = await ctx.fresh(pids=32)
    started = [await sandbox.start(["sleep", "600"], stdin=b"") for _ in range(40)]
    found = await sandbox.exec(["true"])
    same("the exit code", found.exit_code, 126)
    holds(b"start" in found.stderr, "why in stderr", found)
    same("a file call meanwhile", await sandbox.list_dir("/work"), [])
    for process in started:
        await process.kill()
    codes = {(await process.wait()).exit_code for process in started}
    same("the ends of the others", codes, {126, 137})
    await still_works(sandbox)


@check("limits", isolated=True)
async def fork_bomb(ctx: Context) -> None:
    """A fork bomb is ended by its timeout with all its processes; the sandbox goes on."""
    sandbox = await ctx.fresh(pids=64)
    for _ in range(2):
        found = await sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 600", timeout=1)
        same("`timed_out`", found.timed_out, True)
        await still_works(sandbox)
    found = await sandbox.exec(":(){ :|:& };:", timeout=5)
    await sandbox.kill_all()
    count = "ls -d /proc/[0-9]* | wc -l"
    left = int((await succeeds(sandbox, count)).text)
    holds(left <= 5, "only the guest and this command to be left", f"{left} processes")


@check("limits", isolated=True)
async def disk(ctx: Context) -> None:
    """A writable folder takes `disk` bytes and then says ENOSPC; each has its own room."""
    sandbox = await ctx.fresh(disk=8 * MIB)
    for folder in WRITABLE:
        for _ in range(2):
            size, name = await answer(sandbox, hogs.DISK, folder)
            same(f"the error when {folder} is full", name, "ENOSPC")
            holds(6 * MIB <= size <= 8 * MIB, f"about 8 MiB in {folder}", size)
    try:
        await sandbox.write_file("/work/more", bytes(MIB))
    except OSError as error:
        same("the error of write_file", error.errno, 28)
    for folder in WRITABLE:
        await sandbox.remove(f"{folder}/fill")
    await still_works(sandbox)


@check("limits", isolated=True)
async def disk_by_upload(ctx: Context) -> None:
    """An upload of more than there is room for is OSError, and the sandbox goes on."""
    sandbox = await ctx.fresh(disk=4 * MIB)
    source = ctx.folder / "source"
    source.write_bytes(bytes(16 * MIB))
    try:
        await sandbox.upload(source, "/work/copy")
        name = 0
    except OSError as error:
        name = error.errno or 0
    same("the error (ENOSPC)", name, 28)
    await sandbox.reset()
    await still_works(sandbox)


@check("limits", isolated=True)
async def inodes(ctx: Context) -> None:
    """A writable folder takes `inodes` files and folders and then says ENOSPC."""
    sandbox = await ctx.fresh(inodes=300)
    for folder in WRITABLE:
        made, name = await answer(sandbox, hogs.FILES, folder)
        same(f"the error in {folder}", name, "ENOSPC")
        holds(200 <= made <= 300, f"at most 300 files in {folder}", made)
    await sandbox.reset()
    await still_works(sandbox)


@check("limits", isolated=True)
async def nothing_else_writable(ctx: Context) -> None:
    """Every folder the user may write to is capped in bytes and in files."""
    sandbox = await ctx.fresh(disk=8 * MIB, inodes=300)
    found = await answer(sandbox, hogs.WIDE_FOLDERS, str(9 * MIB), "400")
    same("writable folders without a cap", found, [])


@check("limits", isolated=True)
async def open_files(ctx: Context) -> None:
    """A process has at most `open_files` descriptors and cannot raise that."""
    sandbox = await ctx.fresh(open_files=100)
    held, name, raised = await answer(sandbox, hogs.DESCRIPTORS)
    same("the error of the last", name, "EMFILE")
    same("the descriptors", held, 100)
    same("that the limit could be raised", raised, False)
    await still_works(sandbox)


@check("limits", isolated=True)
async def processors(ctx: Context) -> None:
    """Commands get `cpus` processors' worth of time, however many run."""
    share = 0.1
    sandbox = await ctx.fresh(cpus=share)
    began = time.monotonic()
    used = await answer(sandbox, hogs.PROCESSORS, "1.0")
    wall = time.monotonic() - began
    # The rest is for quotas being given out in pieces.
    most = share * wall * 1.25 + 0.05
    holds(used <= most, f"at most {most:.2f} s of {wall:.2f} s", f"{used:.2f} s")


@check("limits")
async def no_core(ctx: Context) -> None:
    """A crash leaves no memory image in the folder it happened in."""
    await ctx.sandbox.exec("ulimit -c unlimited 2>/dev/null; kill -SEGV $$")
    found = await succeeds(ctx.sandbox, "ls -A")
    same("the folder", found.text, "")
