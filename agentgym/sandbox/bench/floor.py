"""What a command costs without any sandbox: posix_spawn and waitpid in a small process."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

# A process of its own, so that the size of this one does not count.
_PROGRAM = """
import os, sys, time
path = sys.argv[1]
for _ in sys.stdin:
    started = time.perf_counter()
    os.waitpid(os.posix_spawn(path, ["true"], {}), 0)
    print((time.perf_counter() - started) * 1e3, flush=True)
"""


@asynccontextmanager
async def floor() -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """Give a function that runs `true` once and returns its milliseconds.

    Raises:
        OSError: There is no `true` on this machine.
    """
    path = shutil.which("true")
    if path is None:
        raise FileNotFoundError("there is no program `true`")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _PROGRAM, path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    asked, answers = process.stdin, process.stdout
    if asked is None or answers is None:
        raise OSError("a process without pipes")

    async def spawn() -> float:
        asked.write(b"\n")
        return float(await answers.readline())

    try:
        yield spawn
    finally:
        asked.close()
        await process.wait()
