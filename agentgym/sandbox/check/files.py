"""Checks of the file calls: content, permissions, and Python's own errors."""

import errno
import stat
from collections.abc import Awaitable

from agentgym.errors import UsageError
from agentgym.sandbox.check.context import Context, home
from agentgym.sandbox.check.inside import python, succeeds
from agentgym.sandbox.check.registry import check, fail, holds, refused, same
from agentgym.sandbox.spec import MIB

ALL_BYTES = bytes(range(256)) * 300


async def error_of(what: str, call: Awaitable[object], *names: str) -> None:
    """Fail where a call does not raise an OSError with one of these names."""
    try:
        await call
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "no errno")
        holds(name in names, f"{what} to be {' or '.join(names)}", f"{name}: {error}")
    else:
        fail(f"{what} to be {' or '.join(names)}", "that it was carried out")


@check("files")
async def written_and_read(ctx: Context) -> None:
    """A file is read as it was written: any bytes, none, and over what was there before."""
    path = f"{await home(ctx.sandbox)}/file"
    for content in (ALL_BYTES, b"", bytes(3 * MIB), b"short"):
        await ctx.sandbox.write_file(path, content)
        holds(await ctx.sandbox.read_file(path) == content, "its content", f"{len(content)} bytes")
        found = await ctx.sandbox.exec(["wc", "-c", path])
        same("its size inside", found.text.split()[0], str(len(content)))


@check("files")
async def owner_and_mode(ctx: Context) -> None:
    """A written file has its mode exactly, and belongs to the user, with the folders made."""
    work = await home(ctx.sandbox)
    own = int((await ctx.sandbox.exec(["id", "-u"])).text)
    for mode in (0o644, 0o600, 0o777, 0o400, 0o000):
        path = f"{work}/new{mode:o}/deep/file"
        await ctx.sandbox.write_file(path, "x", mode=mode)
        found = await ctx.sandbox.stat(path)
        same("its mode", oct(stat.S_IMODE(found.mode)), oct(mode))
        same("its owner", found.uid, own)
        same("its folder's owner", (await ctx.sandbox.stat(f"{work}/new{mode:o}")).uid, own)
        await succeeds(ctx.sandbox, f"echo more > {work}/new{mode:o}/deep/beside")
    await ctx.sandbox.write_file(f"{work}/new600/deep/file", "y", mode=0o755)
    found = await ctx.sandbox.stat(f"{work}/new600/deep/file")
    same("the mode of one written again", oct(stat.S_IMODE(found.mode)), oct(0o755))


@check("files")
async def missing(ctx: Context) -> None:
    """What is missing is FileNotFoundError in every call."""
    box = ctx.sandbox
    path = f"{await home(box)}/none"
    await error_of("reading what is missing", box.read_file(path), "ENOENT")
    await error_of("listing what is missing", box.list_dir(path), "ENOENT")
    await error_of("`stat` of what is missing", box.stat(path), "ENOENT")
    await error_of("removing what is missing", box.remove(path), "ENOENT")
    await error_of("its download", box.download(path, ctx.folder / "none"), "ENOENT")
    await error_of("upload of nothing", box.upload(ctx.folder / "no source", path), "ENOENT")


@check("files")
async def wrong_sort(ctx: Context) -> None:
    """A folder where a file is needed, and the reverse, are the errors of Python's own calls."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.write_file(f"{work}/file", "x")
    await ctx.sandbox.make_dir(f"{work}/folder")
    box = ctx.sandbox
    await error_of("reading a folder", box.read_file(f"{work}/folder"), "EISDIR", "EINVAL")
    await error_of("writing to a folder", box.write_file(f"{work}/folder", "x"), "EISDIR", "EINVAL")
    await error_of("listing a file", box.list_dir(f"{work}/file"), "ENOTDIR")
    await error_of("a path through a file", box.read_file(f"{work}/file/x"), "ENOTDIR")
    await error_of(
        "writing below a file", box.write_file(f"{work}/file/x", ""), "ENOTDIR", "EEXIST"
    )
    await error_of("a folder over a file", box.make_dir(f"{work}/file"), "EEXIST", "ENOTDIR")
    same("the file afterwards", await box.read_file(f"{work}/file"), b"x")


@check("files", isolated=True)
async def forbidden(ctx: Context) -> None:
    """File calls have the user's rights and no others: PermissionError, or a read-only system."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    await box.write_file(f"{work}/closed", "x", mode=0)
    await box.make_dir(f"{work}/locked", mode=0o500)
    await error_of("reading a file of mode 0", box.read_file(f"{work}/closed"), "EACCES")
    await error_of("a file in a locked folder", box.write_file(f"{work}/locked/x", ""), "EACCES")
    await error_of("a folder in a locked one", box.make_dir(f"{work}/locked/x"), "EACCES")
    denied = ("EACCES", "EPERM", "EROFS")
    for path in (
        "/etc/passwd",
        "/usr/bin/new",
        "/new",
        "/etc/new/deep",
        "/proc/sys/kernel/hostname",
    ):
        await error_of(f"writing {path}", box.write_file(path, "x"), *denied)
    await error_of("removing /etc/passwd", box.remove("/etc/passwd"), *denied)
    await error_of("removing /usr", box.remove("/usr"), *denied)
    await error_of("a folder in /usr", box.make_dir("/usr/new"), *denied)
    for path in ("/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps"):
        await error_of(f"reading {path}", box.read_file(path), *denied, "ENOENT")


@check("files")
async def read_limit(ctx: Context) -> None:
    """Reading more than `limit` is EFBIG; exactly as much is read."""
    path = f"{await home(ctx.sandbox)}/file"
    await ctx.sandbox.write_file(path, bytes(1000))
    same("a file as long as the limit", len(await ctx.sandbox.read_file(path, limit=1000)), 1000)
    await error_of("a longer one", ctx.sandbox.read_file(path, limit=999), "EFBIG")
    await error_of("any with limit 0", ctx.sandbox.read_file(path, limit=0), "EFBIG")
    await ctx.sandbox.write_file(path, b"")
    same("an empty one with limit 0", await ctx.sandbox.read_file(path, limit=0), b"")
    await succeeds(ctx.sandbox, f"truncate -s 3G {path}")
    await error_of("3 GiB by default", ctx.sandbox.read_file(path), "EFBIG")


@check("files")
async def special_files(ctx: Context) -> None:
    """Pipes, sockets and devices are refused at once, to read and to write; nothing hangs."""
    work = await home(ctx.sandbox)
    program = (
        "import os, socket, sys; os.chdir(sys.argv[1]); os.mkfifo('fifo', 0o666)\n"
        "socket.socket(socket.AF_UNIX).bind('socket')"
    )
    await python(ctx.sandbox, program, work)
    await succeeds(ctx.sandbox, f"ln -s /dev/zero {work}/zero; ln -s fifo {work}/link")
    names = tuple(errno.errorcode.values())
    own = (f"{work}/fifo", f"{work}/socket", f"{work}/link")
    devices = (f"{work}/zero", "/dev/zero")
    for path in own + devices:
        await error_of(f"reading {path}", ctx.sandbox.read_file(path, limit=100), *names)
    # Where nothing is isolated the devices are the host's.
    for path in own + devices if ctx.backend.isolated else own:
        await error_of(f"writing {path}", ctx.sandbox.write_file(path, "x"), *names)
    kinds = {entry.name: stat.S_IFMT(entry.mode) for entry in await ctx.sandbox.list_dir(work)}
    wanted = {"fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK, "zero": stat.S_IFLNK}
    same("the sorts listed", {name: kinds.get(name) for name in wanted}, wanted)


@check("files")
async def listing(ctx: Context) -> None:
    """A listing has every entry once, by name, as `lstat` sees it."""
    work = await home(ctx.sandbox)
    await succeeds(
        ctx.sandbox,
        f"cd {work}; mkdir -m 750 b; printf 12345 > a; chmod 640 a; ln -s /no/where c; ln a d;"
        "touch -d @1234567890.5 a; touch .hidden",
    )
    entries = await ctx.sandbox.list_dir(work)
    same("the names", [entry.name for entry in entries], [".hidden", "a", "b", "c", "d"])
    found = {entry.name: entry for entry in entries}
    same("a file", (oct(found["a"].mode), found["a"].size), (oct(stat.S_IFREG | 0o640), 5))
    same("its time", found["a"].mtime, 1234567890.5)
    same("a folder", oct(found["b"].mode), oct(stat.S_IFDIR | 0o750))
    same("a link", (stat.S_ISLNK(found["c"].mode), found["c"].target), (True, "/no/where"))
    same("no link's target", found["a"].target, "")
    one = await ctx.sandbox.stat(f"{work}/c")
    same(
        "`stat` of a link",
        (one.name, one.mode, one.target),
        (f"{work}/c", found["c"].mode, "/no/where"),
    )
    same("an empty folder", await ctx.sandbox.list_dir(f"{work}/b"), [])


@check("files")
async def many_entries(ctx: Context) -> None:
    """A folder of 10,000 entries is listed whole."""
    work = await home(ctx.sandbox)
    program = (
        "import os, sys; os.mkdir(sys.argv[1]); os.chdir(sys.argv[1])\n"
        "for n in range(10000): os.symlink('target', f'{n:05}-{\"x\" * 60}')"
    )
    same("the exit code", (await python(ctx.sandbox, program, f"{work}/d")).exit_code, 0)
    found = await ctx.sandbox.list_dir(f"{work}/d")
    same("the names", [entry.name[:5] for entry in found], [f"{n:05}" for n in range(10_000)])
    await ctx.sandbox.remove(f"{work}/d")


@check("files")
async def folders(ctx: Context) -> None:
    """A folder is made with those above it, with its mode; one that exists stays as it is."""
    work = await home(ctx.sandbox)
    await ctx.sandbox.make_dir(f"{work}/a/b/c", mode=0o700)
    same("its mode", oct((await ctx.sandbox.stat(f"{work}/a/b/c")).mode), oct(stat.S_IFDIR | 0o700))
    await ctx.sandbox.write_file(f"{work}/a/b/c/file", "x")
    await ctx.sandbox.make_dir(f"{work}/a/b/c", mode=0o755)
    same(
        "its mode after a second call",
        (await ctx.sandbox.stat(f"{work}/a/b/c")).mode & 0o777,
        0o700,
    )
    same("what is in it", await ctx.sandbox.read_file(f"{work}/a/b/c/file"), b"x")


@check("files")
async def removal(ctx: Context) -> None:
    """`remove` takes whole folders, locked and deep ones too, and follows no link."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    await succeeds(
        box,
        f"cd {work}; mkdir kept; echo x > kept/file; mkdir -p d/locked/in; ln -s ../kept d/link;"
        f"ln -s {work}/kept d/locked/in/link; ln -s kept link; touch d/locked/f; chmod 0 d/locked",
    )
    deep = (
        "import os, sys; os.chdir(sys.argv[1])\nfor _ in range(5000): os.mkdir('d'); os.chdir('d')"
    )
    same("a deep tree", (await python(box, deep, f"{work}/d")).exit_code, 0)
    await box.remove(f"{work}/d")
    await box.remove(f"{work}/link")
    same("what is left", [entry.name for entry in await box.list_dir(work)], ["kept"])
    same("what the links pointed to", await box.read_file(f"{work}/kept/file"), b"x\n")


@check("files")
async def links_and_dots(ctx: Context) -> None:
    """File calls go through links as the user's own would, and `..` is taken by its words."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    await succeeds(
        box, f"cd {work}; mkdir -p real/in; echo x > real/f; ln -s real/in way; ln -s way/../f f"
    )
    await box.write_file(f"{work}/way/new", "y")
    same("a file through a link", await box.read_file(f"{work}/real/in/new"), b"y")
    same("a link to a file", await box.read_file(f"{work}/f"), b"x\n")
    same("a path with dots", await box.read_file(f"{work}/none/.././/real/f"), b"x\n")
    await succeeds(box, f"cd {work}; ln -s loop loop")
    await error_of("a link to itself", box.read_file(f"{work}/loop"), "ELOOP")


@check("files")
async def impossible_paths(ctx: Context) -> None:
    """A path that is relative, empty or holds a NUL raises UsageError in every call."""
    box = ctx.sandbox
    with refused("text that no bytes stand for", UsageError):
        await box.write_file(f"{await home(box)}/text", "\ud800")
    for path in ("relative", "", "./x", "/a\0b", "/\ud800"):
        with refused(f"read_file({path!r})", UsageError):
            await box.read_file(path)
        with refused(f"write_file({path!r})", UsageError):
            await box.write_file(path, "x")
        with refused(f"list_dir({path!r})", UsageError):
            await box.list_dir(path)
        with refused(f"stat({path!r})", UsageError):
            await box.stat(path)
        with refused(f"make_dir({path!r})", UsageError):
            await box.make_dir(path)
        with refused(f"remove({path!r})", UsageError):
            await box.remove(path)
        with refused(f"upload({path!r})", UsageError):
            await box.upload(ctx.folder, path)
        with refused(f"download({path!r})", UsageError):
            await box.download(path, ctx.folder / "target")
