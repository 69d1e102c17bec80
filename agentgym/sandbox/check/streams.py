"""Checks of input and output: exact bytes, limits, and streaming both ways."""

import asyncio
import hashlib

from agentgym.sandbox.base import Process
from agentgym.sandbox.check.context import Context, home, still_works, token
from agentgym.sandbox.check.inside import PYTHON, answer, python, running, succeeds
from agentgym.sandbox.check.registry import check, holds, same
from agentgym.sandbox.spec import MIB


@check("streams")
async def binary_output(ctx: Context) -> None:
    """Output arrives byte for byte: every value, NUL, CR LF, escape sequences."""
    found = await python(
        ctx.sandbox,
        "import sys; b = bytes(range(256)) * 4 + b'\\r\\n\\x1b[31m\\x00\\x04\\x1a'\n"
        "sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])",
    )
    wanted = bytes(range(256)) * 4 + b"\r\n\x1b[31m\x00\x04\x1a"
    same("stdout", found.stdout, wanted)
    same("stderr", found.stderr, wanted[::-1])
    same("`truncated`", found.truncated, False)


@check("streams")
async def binary_input(ctx: Context) -> None:
    """Input arrives byte for byte, and then its end."""
    content = bytes(range(256)) * 4 + b"\r\n\x04\x1a\x00"
    found = await ctx.sandbox.exec(["cat"], stdin=content)
    same("the input", found.stdout, content)


@check("streams")
async def no_input(ctx: Context) -> None:
    """Without input a command reads its end at once."""
    for stdin in (None, b"", ""):
        found = await ctx.sandbox.exec(["cat"], stdin=stdin, timeout=10)
        same(
            f"the end of `cat` with stdin={stdin!r}", (found.stdout, found.timed_out), (b"", False)
        )


@check("streams")
async def large_input(ctx: Context) -> None:
    """10 MB of input go through a command and come back whole."""
    content = bytes(range(251)) * (10 * MIB // 251)
    found = await ctx.sandbox.exec(["cat"], stdin=content, output_limit=len(content))
    same("the bytes that came back", len(found.stdout), len(content))
    holds(found.stdout == content, "the same bytes", "others")
    same("`truncated`", found.truncated, False)


@check("streams")
async def unread_input(ctx: Context) -> None:
    """A command that does not read its input ends as it would, and holds up nothing."""
    content = bytes(10 * MIB)
    found = await ctx.sandbox.exec(["true"], stdin=content, timeout=10)
    same("the exit code of `true`", (found.exit_code, found.timed_out), (0, False))
    found = await ctx.sandbox.exec("exec 0<&-; sleep 0.1; exit 7", stdin=content, timeout=10)
    same("the exit code of a command that closes its input", found.exit_code, 7)
    waiting = asyncio.create_task(ctx.sandbox.exec(["sleep", "2"], stdin=content))
    same("a command beside it", (await ctx.sandbox.exec(["echo", "on"])).text, "on\n")
    waiting.cancel()
    await asyncio.wait([waiting])
    await still_works(ctx.sandbox)


@check("streams")
async def output_limit(ctx: Context) -> None:
    """`output_limit` bytes of each stream are kept; `truncated` says that there were more."""
    for limit, written in ((10, 9), (10, 10), (10, 11), (0, 0), (0, 1), (70_000, 200_000)):
        program = "import sys; n = int(sys.argv[1]); sys.stdout.write('x' * n)"
        found = await python(ctx.sandbox, program, str(written), output_limit=limit)
        same(f"bytes kept of {written}", len(found.stdout), min(limit, written))
        same(f"`truncated` at {written} of {limit}", found.truncated, written > limit)
    both = "head -c 500 /dev/zero; head -c 500 /dev/zero >&2"
    found = await ctx.sandbox.exec(both, output_limit=500)
    same("each stream's own limit", (len(found.stdout), len(found.stderr)), (500, 500))
    same("`truncated` at the limit of both", found.truncated, False)
    found = await ctx.sandbox.exec("echo kept; echo more >&2", output_limit=5)
    same("the first bytes", (found.stdout, found.truncated), (b"kept\n", False))
    found = await ctx.sandbox.exec("echo ok; head -c 100 /dev/zero >&2", output_limit=50)
    same("`truncated` for stderr alone", (found.stdout, found.truncated), (b"ok\n", True))


@check("streams")
async def default_output_limit(ctx: Context) -> None:
    """Without a limit of its own a call keeps the spec's `output_limit`."""
    sandbox = await ctx.fresh(output_limit=1234)
    found = await sandbox.exec("head -c 5000 /dev/zero")
    same("the bytes kept", (len(found.stdout), found.truncated), (1234, True))


@check("streams")
async def as_it_is_written(ctx: Context) -> None:
    """Output is seen while the command runs, and input can be written in answer to it."""
    process = await ctx.sandbox.start(
        "echo ready; read line; echo got $line; read line; echo $line"
    )
    chunks = aiter(process)
    same("the first output", await anext(chunks), ("stdout", b"ready\n"))
    await process.write(b"one\n")
    same("the second output", await anext(chunks), ("stdout", b"got one\n"))
    await process.write(b"tw")
    await process.write(b"o\n")
    same("the third output", await anext(chunks), ("stdout", b"two\n"))
    rest = [chunk async for chunk in chunks]
    same("the rest", rest, [])
    found = await process.wait()
    same("the end", (found.exit_code, found.stdout), (0, b""))


@check("streams")
async def iterated_whole(ctx: Context) -> None:
    """Iterating yields both streams by name, whole and in their order."""
    program = "import sys\nfor n in range(5000):\n    print(n)\n    print(-n, file=sys.stderr)\n"
    process = await ctx.sandbox.start([*PYTHON, program], stdin=b"")
    seen = {"stdout": b"", "stderr": b""}
    async for name, chunk in process:
        seen[name] += chunk
    same("stdout", seen["stdout"].split(), [str(n).encode() for n in range(5000)])
    same("stderr", seen["stderr"].split(), [str(-n).encode() for n in range(5000)])


@check("streams")
async def rest_by_wait(ctx: Context) -> None:
    """`wait` returns the output that was not iterated."""
    process = await ctx.sandbox.start("echo one; read line; echo two; echo err >&2")
    async for chunk in process:
        same("the first output", chunk, ("stdout", b"one\n"))
        break
    await process.write(b"\n")
    found = await process.wait()
    same("the rest", (found.stdout, found.stderr), (b"two\n", b"err\n"))


@check("streams")
async def end_of_input(ctx: Context) -> None:
    """`close_stdin` lets a command read the end of its input; until then it waits."""
    process = await ctx.sandbox.start(["cat"])
    await process.write(b"a" * 300_000)
    await process.write(b"b")
    await process.close_stdin()
    found = await process.wait()
    same("its output", (found.stdout, found.exit_code), (b"a" * 300_000 + b"b", 0))


@check("streams")
async def limit_of_a_stream(ctx: Context) -> None:
    """What is iterated is bounded by the output limit too."""
    process = await ctx.sandbox.start("head -c 3000000 /dev/zero", stdin=b"", output_limit=100_000)
    size = 0
    async for _, chunk in process:
        size += len(chunk)
    same("the bytes iterated", size, 100_000)
    same("`truncated`", (await process.wait()).truncated, True)


@check("streams")
async def nobody_reads(ctx: Context) -> None:
    """Output that nobody reads, and input that is never written, hold up no other command."""
    idle: list[Process] = [
        await ctx.sandbox.start("yes", stdin=b"", output_limit=64 * MIB, timeout=30),
        await ctx.sandbox.start(["cat"], timeout=30),
    ]
    for _ in range(20):
        await succeeds(ctx.sandbox, "true", timeout=20)
    await still_works(ctx.sandbox)
    for process in idle:
        await process.kill()


@check("streams")
async def killed_process(ctx: Context) -> None:
    """`kill` ends a command and everything it has started; `wait` then says 128 + 9."""
    marker = token()
    line = f"sleep 600.{marker} & setsid sleep 600.{marker} & echo up; wait"
    process = await ctx.sandbox.start(line)
    same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
    await process.kill()
    found = await process.wait()
    same("the exit code", (found.exit_code, found.timed_out), (137, False))
    same("what is left of it", await running(ctx.sandbox, marker), [])
    await process.kill()


@check("streams")
async def outputs_never_mixed(ctx: Context) -> None:
    """32 commands at once each get their own output, whole."""
    program = (
        "import hashlib, sys\n"
        "block = hashlib.sha256(sys.argv[1].encode()).hexdigest() * 40\n"
        "for n in range(200): print(block, n); print(n, block, file=sys.stderr)"
    )
    limit = 2 * MIB
    words = [token() for _ in range(32)]
    found = await asyncio.gather(
        *(python(ctx.sandbox, program, word, output_limit=limit) for word in words)
    )
    for word, result in zip(words, found, strict=True):
        block = hashlib.sha256(word.encode()).hexdigest() * 40
        out = "".join(f"{block} {n}\n" for n in range(200))
        err = "".join(f"{n} {block}\n" for n in range(200))
        holds(result.text == out, "a command's own stdout", result.text[:80])
        holds(result.error_text == err, "a command's own stderr", result.error_text[:80])


@check("streams")
async def inputs_never_mixed(ctx: Context) -> None:
    """32 commands at once each read their own input, while files are read and written."""
    work = await home(ctx.sandbox)
    blocks = {f"{work}/{n}": token().encode() * 10_000 for n in range(32)}

    async def one(path: str, content: bytes) -> None:
        await ctx.sandbox.write_file(path, content)
        found = await ctx.sandbox.exec(["cat"], stdin=content)
        holds(found.stdout == content, "a command's own input", found.stdout[:40])
        holds(await ctx.sandbox.read_file(path) == content, "a file's own content", path)

    async with asyncio.TaskGroup() as group:
        for path, content in blocks.items():
            group.create_task(one(path, content))


@check("streams")
async def at_the_same_time(ctx: Context) -> None:
    """Commands run at the same time: 16 wait until all 16 are there."""
    work = await home(ctx.sandbox)
    program = (
        "import os, sys, time\n"
        "open(sys.argv[1], 'w').close()\n"
        "folder = os.path.dirname(sys.argv[1])\n"
        "while len(os.listdir(folder)) < 16: time.sleep(0.01)\n"
        "print(len(os.listdir(folder)))"
    )
    await ctx.sandbox.make_dir(f"{work}/all")
    found = await asyncio.gather(
        *(answer(ctx.sandbox, program, f"{work}/all/{n}", timeout=30) for n in range(16))
    )
    same("how many each has seen", found, [16] * 16)
