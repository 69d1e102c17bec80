"""Checks of what a command is given, and of how its end is told."""

import asyncio
import json
import os
from contextlib import suppress
from typing import Any

from agentgym.errors import UsageError
from agentgym.sandbox.base import Command
from agentgym.sandbox.check.context import CANARY, Context, home
from agentgym.sandbox.check.inside import answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, refused, same

_ARGUMENTS = "import json, os, sys; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))"


@check("exec")
async def exit_codes(ctx: Context) -> None:
    """A command's exit code arrives as it is, 0 to 255."""
    gate = asyncio.Semaphore(8)

    async def code_of(code: int) -> int:
        async with gate:
            return (await ctx.sandbox.exec(["sh", "-c", f"exit {code}"])).exit_code

    found = await asyncio.gather(*map(code_of, range(256)))
    same("the exit codes", found, list(range(256)))


@check("exec")
async def signals(ctx: Context) -> None:
    """A command that signal n ends has the exit code 128 + n, and is no timeout."""
    for number in (1, 2, 3, 6, 9, 11, 13, 15):
        found = await python(
            ctx.sandbox,
            "import os, signal, sys; n = int(sys.argv[1])\n"
            "if n != 9: signal.signal(n, signal.SIG_DFL)\n"
            "os.kill(os.getpid(), n)",
            str(number),
        )
        same(f"the exit code after signal {number}", found.exit_code, 128 + number)
        holds(not found.timed_out, "no timeout", found)


@check("exec")
async def missing_program(ctx: Context) -> None:
    """A program that is missing is an ordinary result: 127, and named in stderr."""
    for command in (["no-such-program-1f"], ["/no/such-program-1f", "x"]):
        found = await ctx.sandbox.exec(command)
        same("the exit code", found.exit_code, 127)
        holds(b"no" in found.stderr and b"such-program-1f" in found.stderr, "its name", found)
    found = await ctx.sandbox.exec("no-such-program-1f")
    same("the shell's exit code", found.exit_code, 127)


@check("exec")
async def not_executable(ctx: Context) -> None:
    """What may not or cannot be run is an ordinary result: 126, and named in stderr."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.write_file(f"{work}/plain", "#!/bin/sh\n", mode=0o644)
    await ctx.sandbox.write_file(f"{work}/rubbish", b"\x7fELF" + bytes(60), mode=0o755)
    for path in (f"{work}/plain", f"{work}/rubbish", work):
        found = await ctx.sandbox.exec([path])
        same(f"the exit code of {path}", found.exit_code, 126)
        holds(path.encode() in found.stderr, f"{path} in stderr", found)


@check("exec")
async def arguments(ctx: Context) -> None:
    """Arguments arrive byte for byte; no shell, no expansion, no splitting."""
    words = [
        "",
        " ",
        "a b",
        "$HOME",
        "`id`",
        "$(id)",
        "*",
        "'",
        '"',
        "\\",
        "\n",
        "\t",
        "--",
        "-c",
        ";",
        "&& exit 3",
        "é€😀",
        "e\u0301",
        os.fsdecode(b"\xff\xfe"),
        "\x01\x7f",
    ]
    found = await answer(ctx.sandbox, _ARGUMENTS, *words)
    same("the arguments", found, [os.fsencode(word).hex() for word in words])


@check("exec")
async def lines_for_the_shell(ctx: Context) -> None:
    """A command that is one string is a line for bash: pipes, arrays, [[ ]] and $?."""
    found = await succeeds(
        ctx.sandbox, "a=(x y); [[ ${a[1]} == y ]] && echo ${a[1]} | tr y z; false; echo $?"
    )
    same("its output", found.stdout, b"z\n1\n")


@check("exec")
async def streams_apart(ctx: Context) -> None:
    """The two output streams are kept apart, each in its order."""
    found = await ctx.sandbox.exec("for i in 1 2 3; do echo o$i; echo e$i >&2; done")
    same("stdout", found.stdout, b"o1\no2\no3\n")
    same("stderr", found.stderr, b"e1\ne2\ne3\n")


@check("exec")
async def folder(ctx: Context) -> None:
    """A command starts in the call's `cwd`, and in the spec's without one."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.make_dir(f"{work}/a b")
    found = await ctx.sandbox.exec(["pwd"], cwd=f"{work}/a b")
    same("the folder", found.text, f"{work}/a b\n")
    found = await ctx.sandbox.exec(["pwd"], cwd=f"{work}/x/../a b/.")
    same("the folder of a path with dots", found.text, f"{work}/a b\n")
    holds(work.startswith("/"), "an absolute path by default", work)


@check("exec")
async def missing_folder(ctx: Context) -> None:
    """A command that cannot start in its `cwd` is an ordinary result: 126, and named in stderr."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.write_file(f"{work}/file", "x")
    for path in (f"{work}/none", f"{work}/file"):
        found = await ctx.sandbox.exec(["pwd"], cwd=path)
        same("the exit code", found.exit_code, 126)
        holds(path.encode() in found.stderr, f"{path} in stderr", found)


@check("exec")
async def variables(ctx: Context) -> None:
    """The environment is the spec's with the call's over it; PATH and HOME are always there."""
    sandbox = await ctx.fresh(env={"ONE": "spec", "TWO": "spec é", "EMPTY": ""})
    found = await sandbox.exec(["env", "-0"], env={"TWO": "call\nline", "THREE": "a=b $x"})
    seen = dict(item.split("=", 1) for item in found.text.split("\0")[:-1])
    wanted = {"ONE": "spec", "TWO": "call\nline", "THREE": "a=b $x", "EMPTY": ""}
    same("the variables", {name: seen.get(name) for name in wanted}, wanted)
    same("HOME", seen.get("HOME"), await home(sandbox))
    holds("/usr/bin" in seen.get("PATH", "").split(":"), "/usr/bin on PATH", seen.get("PATH"))


@check("exec")
async def host_variables(ctx: Context) -> None:
    """Nothing of the host's environment reaches a command."""
    holds(os.environ.get(CANARY) == ctx.secret, "the canary to be set on the host", CANARY)
    for command in (["env"], "env", ["sh", "-lc", "env"]):
        found = await ctx.sandbox.exec(command)
        holds(ctx.secret.encode() not in found.stdout, "no host variable", "the host's canary")
    sandbox = await ctx.fresh()
    found = await sandbox.exec(["env"])
    holds(ctx.secret.encode() not in found.stdout, "none in a new sandbox", "the host's canary")


@check("exec")
async def descriptors(ctx: Context) -> None:
    """A command has the descriptors 0, 1 and 2, and nothing of the sandbox's own."""
    listing = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    # Listing the folder opens one descriptor, the lowest that is free.
    same("the descriptors", await answer(ctx.sandbox, listing), [0, 1, 2, 3])
    found = await answer(ctx.sandbox, listing, stdin=b"x")
    same("the descriptors of a command with input", found, [0, 1, 2, 3])


@check("exec")
async def signal_state(ctx: Context) -> None:
    """A command starts with no signal ignored or blocked, in a session without a terminal."""
    found = await ctx.sandbox.exec(["cat", "/proc/self/status", "/proc/self/stat"])
    *status, stat = found.text.splitlines()
    masks = dict(line.split(":\t") for line in status if line.startswith("Sig"))
    same("blocked signals", int(masks["SigBlk"], 16), 0)
    same("ignored signals", int(masks["SigIgn"], 16), 0)
    fields = stat.rpartition(")")[2].split()
    same("the session", fields[3], stat.split()[0])
    same("the terminal", fields[4], "0")


@check("exec")
async def impossible_arguments(ctx: Context) -> None:
    """Arguments no command can have raise UsageError, and nothing is run."""
    bad: tuple[tuple[Command, dict[str, Any]], ...] = (
        ([], {}),
        (["true", "a\0b"], {}),
        ("true\0", {}),
        (["true", "\ud800"], {}),
        (["true"], {"stdin": "\ud800"}),
        (["true"], {"env": {"A=B": "x"}}),
        (["true"], {"env": {"": "x"}}),
        (["true"], {"env": {"A": "x\0y"}}),
        (["true"], {"cwd": "relative"}),
        (["true"], {"cwd": "/a\0b"}),
        (["true"], {"timeout": 0}),
        (["true"], {"timeout": -1.0}),
        (["true"], {"timeout": float("nan")}),
        (["true"], {"output_limit": -1}),
        (["true"], {"user": "a:b"}),
        (["true"], {"user": "root"}),
    )
    for command, options in bad:
        with refused(f"exec({command!r}, {json.dumps(options)})", UsageError):
            await ctx.sandbox.exec(command, **options)
    same("a command afterwards", (await ctx.sandbox.exec(["true"])).exit_code, 0)


@check("exec")
async def long_arguments(ctx: Context) -> None:
    """Arguments the kernel finds too long are an ordinary result: 126, and said in stderr."""
    kinds: tuple[dict[str, Any], ...] = ({}, {"env": {"A": "x" * 200_000}})
    for options in kinds:
        words = [] if options else ["x" * 200_000]
        found = await ctx.sandbox.exec(["true", *words], **options)
        same("the exit code", found.exit_code, 126)
        holds(b"too long" in found.stderr.lower(), "the reason in stderr", found)
    for words in (["x" * 1000] * 3500, ["x" * (17 << 20)]):
        with suppress(UsageError):  # more than a message to the sandbox may hold
            same("the exit code", (await ctx.sandbox.exec(["true", *words])).exit_code, 126)
    words = ["x" * 1000] * 900
    same("900 kB of arguments", await answer(ctx.sandbox, _COUNT, *words), 900_000)


_COUNT = "import sys; print(sum(map(len, sys.argv[1:])))"


@check("exec")
async def duration(ctx: Context) -> None:
    """The duration is the command's own: not below its sleep, not above the caller's wait."""
    loop = asyncio.get_running_loop()
    before = loop.time()
    found = await ctx.sandbox.exec(["sleep", "0.2"])
    waited = loop.time() - before
    holds(
        0.19 <= found.duration <= waited + 0.01, f"between 0.2 and {waited:.3f} s", found.duration
    )


@check("exec")
async def never_repeated(ctx: Context) -> None:
    """A command is carried out once, however it ends."""
    work = await home(ctx.sandbox)
    for ending in ("exit 1", "exit 127", "kill -9 $$", "sleep 60", "yes"):
        await ctx.sandbox.exec(f"echo x >> {work}/count; {ending}", timeout=0.3, output_limit=10)
        await ctx.sandbox.exec(f"touch {work}/done")
        found = await ctx.sandbox.read_file(f"{work}/count")
        same(f"the runs of a command that ends with `{ending}`", found, b"x\n")
        await ctx.sandbox.remove(f"{work}/count")
