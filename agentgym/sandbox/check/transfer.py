"""Checks of files and folders that go between the host and a sandbox."""

import asyncio
import hashlib
import os
import stat
from pathlib import Path

from agentgym.sandbox.check.context import Context, home
from agentgym.sandbox.check.encodings import NAMES
from agentgym.sandbox.check.files import error_of
from agentgym.sandbox.check.inside import answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, same
from agentgym.sandbox.spec import MIB

_TREE_INSIDE = """
import hashlib, json, os, stat, sys
found = {}
top = os.fsencode(sys.argv[1])
for folder, folders, files in os.walk(top):
    for name in folders + files:
        path = os.path.join(folder, name)
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            what = "link " + os.readlink(path).hex()
        elif stat.S_ISDIR(status.st_mode):
            what = "folder " + oct(status.st_mode & 0o777)
        else:
            digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
            what = f"{oct(status.st_mode & 0o777)} {digest}"
        found[os.path.relpath(path, top).hex()] = what
print(json.dumps(found))
"""


def tree(top: Path) -> dict[str, str]:
    """Describe a folder of the host: what each entry is, with mode and content."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = Path(folder) / name
            status = path.lstat()
            mode = oct(status.st_mode & 0o777)
            if stat.S_ISLNK(status.st_mode):
                what = "link " + os.fsencode(path.readlink()).hex()
            elif stat.S_ISDIR(status.st_mode):
                what = f"folder {mode}"
            else:
                what = f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"
            found[os.fsencode(os.path.relpath(path, top)).hex()] = what
    return found


def make_tree(top: Path) -> None:
    """Make a folder of the host with all sorts of entries that may be copied."""
    (top / "empty").mkdir(parents=True)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "program").write_bytes(b"#!/bin/sh\necho ran\n")
    (top / "a" / "b" / "program").chmod(0o755)
    (top / "a" / "binary").write_bytes(bytes(range(256)) * 99)
    (top / "a" / "read only").write_bytes(b"")
    (top / "a" / "read only").chmod(0o444)
    (top / "a" / "link").symlink_to("b/program")
    (top / "a" / "up").symlink_to("../odd")
    (top / "a" / "broken").symlink_to("nowhere")
    (top / "odd").mkdir(mode=0o700)
    for name in NAMES:
        (top / "odd" / name).write_bytes(os.fsencode(name))


@check("transfer")
async def folder_up(ctx: Context) -> None:
    """A folder goes up as it is: names, content, modes, links, empty folders, the user's own."""
    await asyncio.to_thread(make_tree, ctx.folder / "tree")
    path = f"{await home(ctx.sandbox)}/deep/er/copy"
    await ctx.sandbox.upload(ctx.folder / "tree", path)
    wanted = await asyncio.to_thread(tree, ctx.folder / "tree")
    same("the copy inside", await answer(ctx.sandbox, _TREE_INSIDE, path), wanted)
    foreign = f"find {path} ! -user $(id -u) -o ! -group $(id -g)"
    same("what is not the user's", (await succeeds(ctx.sandbox, foreign)).stdout, b"")
    found = await ctx.sandbox.exec([f"{path}/a/b/program"])
    same("a program that was copied", found.stdout, b"ran\n")


@check("transfer")
async def folder_down(ctx: Context) -> None:
    """A folder comes down as it is: names, content, modes, links within it, empty folders."""
    await asyncio.to_thread(make_tree, ctx.folder / "tree")
    path = f"{await home(ctx.sandbox)}/copy"
    await ctx.sandbox.upload(ctx.folder / "tree", path)
    await ctx.sandbox.download(path, ctx.folder / "back")
    wanted = await asyncio.to_thread(tree, ctx.folder / "tree")
    same("the copy", await asyncio.to_thread(tree, ctx.folder / "back"), wanted)


@check("transfer")
async def file_both_ways(ctx: Context) -> None:
    """A single file goes to the path it is given, with its mode and time, and over another."""
    source, path = ctx.folder / "source", f"{await home(ctx.sandbox)}/a/file"
    for content in (b"long " * 1000, b"short"):
        source.write_bytes(content)
        source.chmod(0o750)
        os.utime(source, (1_234_567_890, 1_234_567_890))
        await ctx.sandbox.upload(source, path)
        found = await ctx.sandbox.stat(path)
        same("its mode and time", (found.mode & 0o777, int(found.mtime)), (0o750, 1_234_567_890))
        await ctx.sandbox.download(path, ctx.folder / "back")
        back = ctx.folder / "back"
        same("the copy", (back.read_bytes(), back.stat().st_mode & 0o777), (content, 0o750))


@check("transfer")
async def paths_with_dots(ctx: Context) -> None:
    """Paths with dots and slashes to spare mean what they say, both ways."""
    await asyncio.to_thread(make_tree, ctx.folder / "tree")
    work = await home(ctx.sandbox)
    await ctx.sandbox.upload(ctx.folder / "tree", f"{work}/x/..//./copy/")
    await ctx.sandbox.download(f"{work}//copy/a/../", ctx.folder / "back")
    wanted = await asyncio.to_thread(tree, ctx.folder / "tree")
    same("the copy", await asyncio.to_thread(tree, ctx.folder / "back"), wanted)


@check("transfer")
async def over_a_folder(ctx: Context) -> None:
    """A folder that goes up over another replaces its files and keeps the others."""
    await asyncio.to_thread(make_tree, ctx.folder / "tree")
    path = f"{await home(ctx.sandbox)}/copy"
    await ctx.sandbox.write_file(f"{path}/a/binary", "old")
    await ctx.sandbox.write_file(f"{path}/beside", "kept")
    await ctx.sandbox.upload(ctx.folder / "tree", path)
    same("a file of both", len(await ctx.sandbox.read_file(f"{path}/a/binary")), 99 * 256)
    same("a file of the old alone", await ctx.sandbox.read_file(f"{path}/beside"), b"kept")


@check("transfer")
async def hundred_megabytes(ctx: Context) -> None:
    """100 MB go up and come down whole."""
    block = os.urandom(MIB)
    content = b"".join(bytes([n]) + block[1:] for n in range(100))
    source, path = ctx.folder / "source", f"{await home(ctx.sandbox)}/large"
    await asyncio.to_thread(source.write_bytes, content)
    await ctx.sandbox.upload(source, path)
    found = await succeeds(ctx.sandbox, f"sha256sum {path}")
    same("its hash inside", found.text.split()[0], hashlib.sha256(content).hexdigest())
    await ctx.sandbox.download(path, ctx.folder / "back")
    back = await asyncio.to_thread((ctx.folder / "back").read_bytes)
    holds(back == content, "the same bytes to come down", f"{len(back)} bytes")
    holds(await ctx.sandbox.read_file(path) == content, "the same bytes to be read", "others")
    await ctx.sandbox.remove(path)
    await ctx.sandbox.write_file(path, content)
    found = await succeeds(ctx.sandbox, f"sha256sum {path}")
    same("its hash when written", found.text.split()[0], hashlib.sha256(content).hexdigest())


@check("transfer")
async def thousand_files(ctx: Context) -> None:
    """A folder of 1,000 files, 100 folders deep, goes both ways."""
    top = ctx.folder / "tree"

    def make() -> dict[str, str]:
        folder = top
        for depth in range(100):
            folder = folder / "d"
            folder.mkdir(parents=True)
            for n in range(10):
                (folder / str(n)).write_text(f"{depth} {n}")
        return tree(top)

    wanted = await asyncio.to_thread(make)
    path = f"{await home(ctx.sandbox)}/copy"
    await ctx.sandbox.upload(top, path)
    await ctx.sandbox.download(path, ctx.folder / "back")
    holds(
        await asyncio.to_thread(tree, ctx.folder / "back") == wanted, "the same folder", "another"
    )


@check("transfer")
async def links_up(ctx: Context) -> None:
    """Symbolic links of the host go up as links, wherever they point; nothing is followed."""
    outside, top = ctx.folder / "outside", ctx.folder / "tree"
    outside.write_text("host's own")
    top.mkdir()
    (top / "absolute").symlink_to(outside)
    (top / "relative").symlink_to("../outside")
    (top / "folder").symlink_to(ctx.folder)
    (ctx.folder / "alone").symlink_to(outside)
    path = f"{await home(ctx.sandbox)}/copy"
    await ctx.sandbox.upload(top, path)
    await ctx.sandbox.upload(ctx.folder / "alone", f"{path}/alone")
    found = {entry.name: entry.target for entry in await ctx.sandbox.list_dir(path)}
    wanted = {"absolute": str(outside), "relative": "../outside"}
    wanted |= {"folder": str(ctx.folder), "alone": str(outside)}
    same("the links inside", found, wanted)


@check("transfer")
async def special_up(ctx: Context) -> None:
    """A host's pipe or device does not go up, and does not hang the call."""
    top = ctx.folder / "tree"
    top.mkdir()
    os.mkfifo(top / "fifo")
    work = await home(ctx.sandbox)
    try:
        async with asyncio.timeout(20):
            await ctx.sandbox.upload(top, f"{work}/copy")
            await ctx.sandbox.upload(top / "fifo", f"{work}/fifo")
    except OSError as error:
        holds(not isinstance(error, TimeoutError), "an answer", "none within 20 s")
    # Left out or refused, both are sound; what counts is that it did not hang.
    names = "import json, os, sys; print(json.dumps(os.listdir(sys.argv[1])))"
    holds("fifo" not in await answer(ctx.sandbox, names, work), "no pipe inside", "one")


@check("transfer")
async def times(ctx: Context) -> None:
    """Times of files and folders go both ways, to the second."""
    top = ctx.folder / "tree"
    (top / "folder").mkdir(parents=True)
    (top / "folder" / "file").write_text("x")
    for path in (top / "folder" / "file", top / "folder", top):
        os.utime(path, (1_000_000_000, 1_111_111_111))
    copy = f"{await home(ctx.sandbox)}/copy"
    await ctx.sandbox.upload(top, copy)
    for inner in ("", "/folder", "/folder/file"):
        same(
            f"the time of copy{inner}",
            int((await ctx.sandbox.stat(copy + inner)).mtime),
            1_111_111_111,
        )
    await ctx.sandbox.download(copy, ctx.folder / "back")
    for inner in ("", "folder", "folder/file"):
        same(
            f"the time of back/{inner}",
            int((ctx.folder / "back" / inner).stat().st_mtime),
            1_111_111_111,
        )


@check("transfer")
async def unwritable(ctx: Context) -> None:
    """A download to a host folder that is missing, and an upload below a file, are OSErrors."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.write_file(f"{work}/file", "x")
    await error_of(
        "a download into nothing",
        ctx.sandbox.download(f"{work}/file", ctx.folder / "none" / "file"),
        "ENOENT",
    )
    (ctx.folder / "source").write_text("x")
    await error_of(
        "an upload below a file",
        ctx.sandbox.upload(ctx.folder / "source", f"{work}/file/below"),
        "ENOTDIR",
        "EEXIST",
    )
    found = await python(ctx.sandbox, "import os, sys; print(os.listdir(sys.argv[1]))", work)
    same("what is there", found.text, "['file']\n")
