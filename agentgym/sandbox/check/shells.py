"""Checks of the shell that lives on between its commands."""

from agentgym.errors import AgentgymError, UsageError
from agentgym.sandbox.base import Shell
from agentgym.sandbox.check.context import Context, home, token
from agentgym.sandbox.check.inside import running
from agentgym.sandbox.check.registry import check, holds, refused, same
from agentgym.sandbox.spec import MIB


@check("shells")
async def state_kept(ctx: Context) -> None:
    """A shell keeps its folder, variables, functions and options; others have their own."""
    await ctx.sandbox.make_dir(f"{await home(ctx.sandbox)}/sub")
    async with ctx.sandbox.shell() as shell, ctx.sandbox.shell() as other:
        await shell.run("cd sub; word='a b'; export OUT=x; f() { echo \"f $1\"; }; set -o noglob")
        found = await shell.run('pwd; echo "$word"; f 1; printenv OUT; echo *')
        wanted = f"{await home(ctx.sandbox)}/sub\na b\nf 1\nx\n*\n"
        same("what it remembers", found.text, wanted)
        same("`cwd`", shell.cwd, f"{await home(ctx.sandbox)}/sub")
        same("another shell", (await other.run('echo "$word$OUT"')).text, "\n")
        same("`restarts`", (shell.restarts, other.restarts), (0, 0))


@check("shells")
async def results(ctx: Context) -> None:
    """Each command in a shell has its own output, both streams apart, and its exit code."""
    async with ctx.sandbox.shell() as shell:
        for n in range(50):
            found = await shell.run(f"echo out{n}; echo err{n} >&2; (exit {n})")
            same("its result", found[:3], (b"out%d\n" % n, b"err%d\n" % n, n))
        found = await shell.run("printf 'no newline\\0\\377'")
        same("bytes", found.stdout, b"no newline\0\xff")
        same("a missing program", (await shell.run("no-such-program-1f")).exit_code, 127)
        same("many lines", (await shell.run("for i in 1 2\ndo\n  echo $i\ndone\n")).text, "1\n2\n")
        same("a here-document", (await shell.run("cat <<'E'\n$x `y`\nE\n")).text, "$x `y`\n")
        same("a comment", (await shell.run("true # it's")).exit_code, 0)
        same("no command", (await shell.run(""))[:3], (b"", b"", 0))
        same("text", (await shell.run("echo 'é😀'")).text, "é😀\n")


@check("shells")
async def mistakes(ctx: Context) -> None:
    """A command that is no bash, or reads its input, or replaces its output, costs nothing else."""
    async with ctx.sandbox.shell() as shell:
        await shell.run("x=1")
        for bad in (
            "echo 'open",
            'echo "open',
            "if true; then",
            "fi",
            "( ",
            "cat <<E\nno end",
            "}",
        ):
            found = await shell.run(bad, timeout=10)
            same(f"`timed_out` of {bad!r}", found.timed_out, False)
        same("a command that reads", (await shell.run("cat; read y", timeout=10)).timed_out, False)
        await shell.run("exec >/dev/null 2>&1")
        holds((await shell.run("echo $x", timeout=10)).timed_out is False, "no wait", "one")
        for bad in ("a\0b", "\ud800"):
            with refused(f"a command such as {bad!r}", UsageError):
                await shell.run(bad)


@check("shells")
async def left(ctx: Context) -> None:
    """`exit` in a shell gives its code; the next command has a new shell in the same folder."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.make_dir(f"{work}/sub")
    async with ctx.sandbox.shell() as shell:
        await shell.run("cd sub; x=1")
        found = await shell.run("echo bye; exit 7")
        same("its result", (found.stdout, found.exit_code), (b"bye\n", 7))
        same("the folder afterwards", (await shell.run('pwd; echo "$x."')).text, f"{work}/sub\n.\n")
        same("`restarts`", shell.restarts, 1)
        same("a shell killed", (await shell.run("kill -9 $$")).exit_code, 137)
        same("the folder after that", (await shell.run("pwd")).text, f"{work}/sub\n")
        await shell.run("rmdir $PWD; exit")
        same("a shell whose folder is gone", (await shell.run("pwd")).text, f"{work}\n")


@check("shells")
async def timeout(ctx: Context) -> None:
    """A command over its time is killed with all it started; the shell goes on in its folder."""
    marker = token()
    async with ctx.sandbox.shell() as shell:
        line = f"cd /; echo before; setsid sleep 600.{marker} & sleep 600.{marker}"
        found = await shell.run(line, timeout=0.4)
        same("its end", (found.timed_out, found.stdout), (True, b"before\n"))
        same("its exit code", found.exit_code, 137)
        same("what is left", await running(ctx.sandbox, marker), [])
        same("the next command", (await shell.run("echo on", timeout=10)).text, "on\n")


@check("shells")
async def limits(ctx: Context) -> None:
    """A command's output in a shell is cut at the limit, each time anew."""
    async with ctx.sandbox.shell(output_limit=1000) as shell:
        for _ in range(2):
            found = await shell.run("head -c 5000000 /dev/zero; echo end >&2")
            same("what is kept", (len(found.stdout), found.stderr), (1000, b"end\n"))
            same("`truncated`", found.truncated, True)
        found = await shell.run("echo short")
        same("the next", (found.stdout, found.truncated), (b"short\n", False))
    async with ctx.sandbox.shell() as shell:
        found = await shell.run("echo start; " + "x" * (2 * MIB), timeout=20)
        holds(found.exit_code != 0, "a huge line to be answered", found.exit_code)


@check("shells")
async def forged(ctx: Context) -> None:
    """A command that writes to the shell's own channel spoils no result but its own."""
    async with ctx.sandbox.shell() as shell:
        for number in range(3, 40):
            for words in ("0\\0/\\0", "0\\0/\\0000\\0/\\0", "0", "\\0\\0\\0", "x\\0", "-1\\0/\\0"):
                line = f"{{ printf '{words}' >&{number}; }} 2>/dev/null; true"
                await shell.run(line, timeout=5)
            await _own_result(shell, f"writing to {number}")
        line = 'for f in /proc/$1/fd/*; do printf "0\\0/x\\0" >$f; done'
        await shell.run(f"timeout 2 bash -c '{line}' _ $$ >/dev/null 2>&1; false", timeout=10)
        await _own_result(shell, "writing to every descriptor of the shell's")
    same("the sandbox", (await ctx.sandbox.exec(["true"])).exit_code, 0)


async def _own_result(shell: Shell, after: str) -> None:
    word = token()
    found = await shell.run(f"echo {word}; (exit 5)", timeout=10)
    same(f"a result after {after}", (found.text, found.exit_code), (f"{word}\n", 5))


@check("shells")
async def settings(ctx: Context) -> None:
    """A shell starts in its own folder with its own variables, and not after it is closed."""
    async with ctx.sandbox.shell(cwd="/", env={"WORD": "here"}) as shell:
        same("its start", (await shell.run("pwd; echo $WORD")).text, "/\nhere\n")
    await shell.close()
    with refused("a command after close", AgentgymError):
        await shell.run("true")


@check("shells")
async def background(ctx: Context) -> None:
    """What a shell left in the background goes on, does not hold up, and ends with the shell."""
    marker = token()
    async with ctx.sandbox.shell() as shell:
        found = await shell.run(f"sleep 600.{marker} & echo started", timeout=10)
        same("its result", (found.stdout, found.timed_out), (b"started\n", False))
        same("a job of the shell's", (await shell.run("kill -0 %1; echo $?")).text, "0\n")
    for _ in range(200):
        if not await running(ctx.sandbox, marker):
            return
    same("what is left after close", await running(ctx.sandbox, marker), [])
