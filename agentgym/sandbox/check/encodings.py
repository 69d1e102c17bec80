"""Checks of text, bytes that are no text, and names."""

import errno
import os

from agentgym.sandbox.check.context import Context, home
from agentgym.sandbox.check.inside import answer, python, succeeds
from agentgym.sandbox.check.registry import check, fail, holds, same

_TEXTS = ("plain", "Ünïcödé", "日本語", "😀👩‍👩‍👧", "e\u0301\u202e", "عربى")
NAMES = (
    " lead and trail ",
    "-rf",
    "--",
    "...",
    "~",
    "*",
    "new\nline",
    "tab\t",
    'quo"te',
    "it's",
    "back\\slash",
    "$HOME",
    "a:b",
    "é",
    "e\u0301",
    "😀",
    "\x01\x1b[31m\x7f",
    os.fsdecode(b"\xff\xfe\x80"),
    "n" * 255,
)
"""File names that are allowed and often mistaken."""

_NAMED_AS_FILLED = """
import json, os, sys
os.chdir(sys.argv[1])
names = os.listdir(b".")
print(json.dumps(sorted(name.hex() for name in names if open(name, "rb").read() == name)))
"""


@check("encodings")
async def text_both_ways(ctx: Context) -> None:
    """Text goes through arguments, variables, input, output and files as UTF-8."""
    path = f"{await home(ctx.sandbox)}/text"
    for text in _TEXTS:
        found = await ctx.sandbox.exec(["printf", "%s", text])
        same("an argument", found.text, text)
        found = await ctx.sandbox.exec(["printenv", "WORD"], env={"WORD": text})
        same("a variable", found.text, text + "\n")
        found = await ctx.sandbox.exec(["cat"], stdin=text)
        same("the input", found.stdout, text.encode())
        await ctx.sandbox.write_file(path, text)
        same("a file", await ctx.sandbox.read_file(path), text.encode())


@check("encodings")
async def locale(ctx: Context) -> None:
    """Programs take the locale's encoding to be UTF-8."""
    program = "import sys; print(sys.stdout.encoding, sys.getfilesystemencoding(), '日本語')"
    found = await python(ctx.sandbox, program)
    same("what Python uses", found.text.lower(), "utf-8 utf-8 日本語\n")


@check("encodings")
async def no_text(ctx: Context) -> None:
    """Output that is not UTF-8 stays as it is in bytes, and has replacements as text."""
    found = await ctx.sandbox.exec("printf 'a\\377\\376b'; printf '\\303' >&2")
    same("stdout", (found.stdout, found.text), (b"a\xff\xfeb", "a\ufffd\ufffdb"))
    same("stderr", (found.stderr, found.error_text), (b"\xc3", "\ufffd"))


@check("encodings")
async def line_ends(ctx: Context) -> None:
    """Line ends, byte order marks and a missing last newline stay as they are."""
    path = f"{await home(ctx.sandbox)}/lines"
    for content in ("a\r\nb\rc\n\n", "\ufeffx", "", "no newline", "\n"):
        await ctx.sandbox.write_file(path, content)
        same("the file", await ctx.sandbox.read_file(path), content.encode())
        found = await ctx.sandbox.exec(["cat", path])
        same("the output", found.stdout, content.encode())


@check("encodings")
async def names(ctx: Context) -> None:
    """File names of any bytes can be written, listed, read, told and removed."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.make_dir(f"{work}/d")
    for name in NAMES:
        await ctx.sandbox.write_file(f"{work}/d/{name}", name.encode("utf-8", "surrogateescape"))
    listed = [entry.name for entry in await ctx.sandbox.list_dir(f"{work}/d")]
    same("the names listed", sorted(listed), sorted(NAMES))
    inside = await answer(ctx.sandbox, _NAMED_AS_FILLED, f"{work}/d")
    same("the names inside", inside, sorted(os.fsencode(name).hex() for name in NAMES))
    for name in NAMES:
        path = f"{work}/d/{name}"
        content = await ctx.sandbox.read_file(path)
        same("a file's content", content, os.fsencode(name))
        same("a file's size", (await ctx.sandbox.stat(path)).size, len(content))
        await ctx.sandbox.remove(path)
    same("what is left", await ctx.sandbox.list_dir(f"{work}/d"), [])


@check("encodings")
async def names_made_inside(ctx: Context) -> None:
    """Names that a command made of odd bytes are listed as Python's own would be."""
    work = await home(ctx.sandbox)
    await succeeds(ctx.sandbox, f"mkdir {work}/d; cd {work}/d; touch $'\\xff\\n\\x01' $'\\xc3('")
    listed = [os.fsencode(entry.name) for entry in await ctx.sandbox.list_dir(f"{work}/d")]
    same("the names", sorted(listed), [b"\xc3(", b"\xff\n\x01"])


@check("encodings")
async def long_names(ctx: Context) -> None:
    """A name or path that is too long is ENAMETOOLONG, and nothing else."""
    work = await home(ctx.sandbox)
    for path in (f"{work}/{'n' * 256}", f"{work}/" + "d/" * 2100 + "x"):
        for call in (ctx.sandbox.read_file, ctx.sandbox.list_dir, ctx.sandbox.stat):
            try:
                await call(path)
            except OSError as error:
                same("the error", errno.errorcode[error.errno or 0], "ENAMETOOLONG")
            else:
                fail("a name that is too long to be refused", path[:40])
    holds(await ctx.sandbox.list_dir(work) == [], "nothing to be made", work)
