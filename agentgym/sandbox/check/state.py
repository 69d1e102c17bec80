"""Checks of snapshot, restore, fork and reset: what comes back, and what does not."""

from typing import Any

from agentgym.errors import UsageError
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import Context, home, still_works, token
from agentgym.sandbox.check.inside import SYSCALLS, answer, python, running, succeeds
from agentgym.sandbox.check.registry import check, holds, refused, same

_MAKE = """
import os, sys
os.chdir(sys.argv[1])
os.makedirs("a/b/empty")
for name, content, mode in (
    ("plain", b"x" * 100_000, 0o644), ("run", b"#!/bin/sh\\n", 0o755), ("locked", b"secret", 0),
    ("a/none", b"", 0o600), (b"\\xff\\n \\x01", b"odd", 0o640), ("n" * 255, b"long", 0o444),
):
    with open(name, "wb") as file: file.write(content)
    os.chmod(name, mode)
os.symlink("../plain", "a/link")
os.symlink("/no/where", "a/broken")
os.link("plain", "a/hard")
os.mkfifo("a/fifo", 0o622)
os.mkdir("shut"); os.mkdir("shut/in"); open("shut/in/file", "w").close()
with open("hole", "wb") as file: file.truncate(5_000_000); file.write(b"end")
os.chmod("a", 0o751); os.chmod("a/b", 0o2770); os.chmod("shut", 0)
for folder, folders, files in os.walk(b".", topdown=False):
    for name in folders + files:
        os.utime(os.path.join(folder, name), (1_000_000_000,) * 2, follow_symlinks=False)
os.utime(b"shut", (1_000_000_000,) * 2)
"""

_SHOW = """
import hashlib, json, os, stat, sys
top = os.fsencode(sys.argv[1])
seen, inodes = {}, {}
def look(path):
    status = os.lstat(path)
    kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
    shut = not stat.S_ISLNK(kind) and not stat.S_ISFIFO(kind) and not mode & 0o400
    if shut: os.chmod(path, 0o700)
    what = [oct(kind), oct(mode), status.st_uid, status.st_gid]
    if path != top: what.append(int(status.st_mtime))
    if stat.S_ISREG(kind):
        what.append(hashlib.sha256(open(path, "rb").read()).hexdigest())
        first = inodes.setdefault(status.st_ino, path)
        what.append(os.path.relpath(first, top).hex())
    elif stat.S_ISLNK(kind):
        what.append(os.readlink(path).hex())
    elif stat.S_ISDIR(kind):
        for name in sorted(os.listdir(path)): look(os.path.join(path, name))
    if shut:
        os.chmod(path, mode)
    if path != top and (shut or stat.S_ISDIR(kind)):
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    seen[os.path.relpath(path, top).hex()] = what
look(top)
print(json.dumps(seen))
"""


_DEEP = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
"""

_OBJECTS = (
    SYSCALLS
    + """
import json, sys
new = sys.argv[1] == "make"
size, flags = (4096, 0o1666) if new else (0, 0)
mqueue = 240 if X86 else 180
found = {
    "shm": libc.shmget(0x61676d, size, flags),
    "sem": libc.semget(0x61676d, int(new), flags),
    "msg": libc.msgget(0x61676d, flags),
    "mqueue": libc.syscall(mqueue, b"agentgym", os.O_RDWR | os.O_CREAT * new, 0o666, None),
}
print(json.dumps([name for name, number in found.items() if number >= 0]))
"""
)


async def _folders(ctx: Context) -> tuple[str, ...]:
    if ctx.backend.isolated:
        return ("/work", "/tmp", "/dev/shm")
    return (await home(ctx.sandbox),)


async def _make(box: Sandbox, folders: tuple[str, ...]) -> dict[str, Any]:
    for folder in folders:
        same("making files", (await python(box, _MAKE, folder)).exit_code, 0)
    return await _look(box, folders)


async def _look(box: Sandbox, folders: tuple[str, ...]) -> dict[str, Any]:
    return {folder: await answer(box, _SHOW, folder) for folder in folders}


def _alike(what: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for folder, entries in wanted.items():
        for name in sorted({*entries, *found[folder]}):
            path = f"{folder}/{bytes.fromhex(name).decode('utf-8', 'backslashreplace')}"
            same(f"{path} {what}", found[folder].get(name), entries.get(name))


_SPOIL = (
    "chmod 700 shut; rm -rf plain run a shut; echo other > locked 2>&1; echo new > new; mkdir dir"
)


@check("state")
async def restored(ctx: Context) -> None:
    """`restore` puts back names, content, modes, times, owners, links, holes and locked files."""
    box, folders = ctx.sandbox, await _folders(ctx)
    wanted = await _make(box, folders)
    snapshot = await box.snapshot()
    _alike("after a snapshot", await _look(box, folders), wanted)
    for _ in range(2):
        for folder in folders:
            await box.exec(_SPOIL, cwd=folder)
        await box.restore(snapshot)
        _alike("after a restore", await _look(box, folders), wanted)
    await still_works(box)


@check("state")
async def snapshot_in_the_middle(ctx: Context) -> None:
    """A snapshot disturbs nothing: what runs goes on, what is open stays open."""
    process = await ctx.sandbox.start("exec 5>file; echo up; read line; echo $line >&5; cat file")
    same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
    await ctx.sandbox.snapshot()
    await process.write(b"still\n")
    same("the output after it", (await process.wait()).stdout, b"still\n")


@check("state")
async def restore_ends_processes(ctx: Context) -> None:
    """`restore` and `reset` end every process, daemons and commands under way included."""
    box = ctx.sandbox
    snapshot = await box.snapshot()

    async def restore() -> None:
        await box.restore(snapshot)

    for back in (restore, box.reset):
        marker = token()
        line = f"setsid sleep 600.{marker} & echo up; exec sleep 600.{marker}"
        process = await box.start(line, stdin=b"")
        same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
        await back()
        same("the processes left", await running(box, marker), [])
        found = await process.wait()
        same("the end of a command", (found.exit_code, found.timed_out), (137, False))


@check("state")
async def older_and_newer(ctx: Context) -> None:
    """Snapshots are independent: any of them can be restored, in any order, again and again."""
    box = ctx.sandbox
    path = f"{await home(box)}/file"
    taken = {}
    for word in ("one", "two", "three"):
        await box.write_file(path, word)
        taken[word] = await box.snapshot()
    for word in ("one", "three", "two", "one", "one"):
        await box.restore(taken[word])
        same("the file", await box.read_file(path), word.encode())


@check("state", isolated=True)
async def restored_elsewhere(ctx: Context) -> None:
    """A snapshot restores into another sandbox of its spec, and into no sandbox of another."""
    one, two, other = await ctx.fresh(), await ctx.fresh(), await ctx.fresh(output_limit=5)
    folders = await _folders(ctx)
    wanted = await _make(one, folders)
    snapshot = await one.snapshot()
    await one.close()
    await two.restore(snapshot)
    _alike("in another sandbox", await _look(two, folders), wanted)
    await other.write_file("/work/kept", "x")
    with refused("a snapshot of another spec", UsageError):
        await other.restore(snapshot)
    same("the other's file", await other.read_file("/work/kept"), b"x")


@check("state")
async def forked(ctx: Context) -> None:
    """A fork has the same files, its own name, and from then on a life of its own."""
    box = await ctx.fresh(env={"X": "spec"})
    work = await home(box)
    await box.write_file(f"{work}/both", "same")
    twin = ctx.keep(await box.fork())
    there = await home(twin)
    holds(twin.id != box.id, "a name of its own", twin.id)
    same("the fork's file", await twin.read_file(f"{there}/both"), b"same")
    same("the fork's variable", (await twin.exec(["printenv", "X"])).text, "spec\n")
    await twin.write_file(f"{there}/both", "changed")
    await box.write_file(f"{work}/new", "x")
    same("the first one's file", await box.read_file(f"{work}/both"), b"same")
    with refused("the fork's view of a new file", FileNotFoundError):
        await twin.read_file(f"{there}/new")
    await box.close()
    same("the fork after the other's end", await twin.read_file(f"{there}/both"), b"changed")
    await twin.reset()
    same("the fork after a reset", await twin.list_dir(there), [])


@check("state")
async def reset(ctx: Context) -> None:
    """`reset` leaves the writable folders as they were at the start: files, modes, times."""
    box, folders = ctx.sandbox, await _folders(ctx)
    before = {folder: await _top(box, folder) for folder in folders}
    for _ in range(2):
        await _make(box, folders)
        for folder in folders:
            await box.exec(f"touch {folder}/.hidden; chmod 711 {folder}")
        await box.reset()
        for folder in folders:
            same(f"the entries of {folder}", await box.list_dir(folder), [])
            same(f"mode and owner of {folder}", await _top(box, folder), before[folder])
    await still_works(box)


async def _top(box: Sandbox, folder: str) -> tuple[str, int, int]:
    found = await box.stat(folder)
    return oct(found.mode), found.uid, found.gid


@check("state", isolated=True)
async def reset_of_files(ctx: Context) -> None:
    """`reset` puts the spec's own files back, whatever became of them."""
    files = {"/work/a": "as it was", "/work/deep/er/b": "too"}
    box = await ctx.fresh(files=files)
    for damage in ("echo more >> a", "rm -rf a deep", "rm a; mkdir a; mv deep x", "ln -sf /etc a"):
        await succeeds(box, damage)
        await box.reset()
        for path, content in files.items():
            same(path, await box.read_file(path), content.encode())
        same("the entries", [entry.name for entry in await box.list_dir("/work")], ["a", "deep"])
    await succeeds(box, "echo more >> a; echo more >> deep/er/b")


@check("state", isolated=True)
async def reset_of_traps(ctx: Context) -> None:
    """`reset` gets through locked, deep, full and renamed folders, and follows no link."""
    box = await ctx.fresh(inodes=5000, files={"/work/file": "x"})
    deep = (
        "import os, sys; os.chdir(sys.argv[1])\nfor _ in range(8000): os.mkdir('d'); os.chdir('d')"
    )
    await python(box, deep, "/work")
    for line in (
        "chmod 000 /work",
        "mkdir -p a/b; chmod 000 a/b a; chmod 0 /dev/shm; chmod 0 /tmp",
        "ln -s /usr u; ln -s /proc p; ln -s / r; ln -s /tmp t; ln -s . .s",
        "mkfifo f; cat f & echo > g; exec 7<g; sleep 600 &",
    ):
        await box.exec(line, timeout=10)
        await box.reset()
        found = [entry.name for entry in await box.list_dir("/work")]
        same(f"the entries after `{line}`", found, ["file"])
        same("the system's own", (await box.exec(["true"])).exit_code, 0)
    await still_works(box)


@check("state", isolated=True)
async def reset_of_objects(ctx: Context) -> None:
    """`reset` leaves no message queue, semaphore or shared memory to pass words on by."""
    box = await ctx.fresh()
    await python(box, _OBJECTS, "make")
    await box.reset()
    same("what is left", await answer(box, _OBJECTS, "look"), [])


@check("state", isolated=True)
async def deep_snapshot(ctx: Context) -> None:
    """A tree 3,000 folders deep, beyond any path's length, is saved and restored."""
    box = await ctx.fresh()
    make = _DEEP + "open('end', 'w').close()"
    look = (
        "import json, os\ncount = 0\n"
        "while os.path.isdir('d'): os.chdir('d'); count += 1\n"
        "print(json.dumps([count, os.listdir('.')]))"
    )
    same("making it", (await python(box, make, "/work", "3000")).exit_code, 0)
    snapshot = await box.snapshot()
    await box.reset()
    same("the tree after reset", await answer(box, look), [0, []])
    await box.restore(snapshot)
    same("the tree after restore", await answer(box, look), [3000, ["end"]])
