"""Checks that what a sandbox holds cannot harm the host that copies it out, or the guest."""

import asyncio
import os
import stat
from contextlib import suppress
from pathlib import Path

from agentgym.errors import AgentgymError
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import Context, home, still_works
from agentgym.sandbox.check.files import error_of
from agentgym.sandbox.check.host import Growth
from agentgym.sandbox.check.inside import python, succeeds
from agentgym.sandbox.check.registry import check, fail, holds, same
from agentgym.sandbox.spec import MIB


def _content(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def _not_copied(ctx: Context, path: str, what: str) -> None:
    """Fail where a download is carried out, or writes beside its target."""
    before = _content(ctx.folder)
    target = ctx.folder / "target"
    try:
        async with asyncio.timeout(20):
            await ctx.sandbox.download(path, target)
    except TimeoutError:
        fail(f"{what} to be refused at once", "no answer within 20 s")
    except OSError:
        pass
    else:
        fail(f"{what} to be refused", "that it was carried out")
    after = [name for name in _content(ctx.folder) if Path(name).parts[0] != "target"]
    same("the host's folder afterwards", after, before)
    _forget(target)


def _forget(target: Path) -> None:
    for path in sorted(target.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    if target.is_dir():
        target.rmdir()
    target.unlink(missing_ok=True)


@check("hostile")
async def links_out(ctx: Context) -> None:
    """Links that lead out of what is downloaded are refused: absolute, upward, step by step."""
    work = await home(ctx.sandbox)
    (ctx.folder / "host's own").write_text(ctx.secret)
    for number, (path, target) in enumerate(
        (
            ("link", "/etc/passwd"),
            ("link", str(ctx.folder / "host's own")),
            ("link", "../host's own"),
            ("link", ".."),
            ("deep/er/link", "../../../x"),
            ("deep/link", "./.././../x"),
            ("link", "deep/../../x"),
            ("link", "//x"),
        )
    ):
        top = f"{work}/tree{number}"
        program = (
            "import os, sys; os.makedirs(os.path.dirname(sys.argv[2])); os.symlink(*sys.argv[1:])"
        )
        same("a link", (await python(ctx.sandbox, program, target, f"{top}/{path}")).exit_code, 0)
        await _not_copied(ctx, top, f"a link to {target!r}")


@check("hostile")
async def links_to_links(ctx: Context) -> None:
    """A link out that only appears through another link in the folder is refused."""
    top = f"{await home(ctx.sandbox)}/tree"
    await succeeds(
        ctx.sandbox, f"mkdir -p {top}/a/b/c; cd {top}; ln -s a/b/c deep; ln -s deep/../../../.. out"
    )
    await _not_copied(ctx, top, "a link that climbs through another link")


@check("hostile")
async def link_alone(ctx: Context) -> None:
    """A path that is itself a link is not followed out of the sandbox onto the host's files."""
    work = await home(ctx.sandbox)
    canary = ctx.folder / "host's own"
    canary.write_text(ctx.secret)
    await python(
        ctx.sandbox, "import os, sys; os.symlink(*sys.argv[1:])", str(canary), f"{work}/link"
    )
    await _not_copied(ctx, f"{work}/link", "a link to a file of the host")
    same("the host's file", canary.read_text(), ctx.secret)


@check("hostile")
async def special_files_down(ctx: Context) -> None:
    """Pipes, sockets and devices are not downloaded, and do not hang the call."""
    work = await home(ctx.sandbox)
    program = (
        "import os, socket, sys; os.chdir(sys.argv[1])\n"
        "os.mkdir('p'); os.mkfifo('p/fifo')\n"
        "os.mkdir('s'); socket.socket(socket.AF_UNIX).bind('s/socket'); os.mkfifo('fifo')"
    )
    same("making them", (await python(ctx.sandbox, program, work)).exit_code, 0)
    await _not_copied(ctx, f"{work}/p", "a pipe in a folder")
    await _not_copied(ctx, f"{work}/fifo", "a pipe")
    await _not_copied(ctx, "/dev/zero", "a device")
    target = ctx.folder / "sockets"
    try:
        await ctx.sandbox.download(f"{work}/s", target)
    except OSError:
        return
    holds(not (target / "socket").exists(), "no socket on the host", "one")


@check("hostile")
async def privileged_modes(ctx: Context) -> None:
    """Set-user-id, set-group-id and sticky bits do not come down; files are the host user's own."""
    work = await home(ctx.sandbox)
    await succeeds(
        ctx.sandbox,
        f"mkdir {work}/d; cd {work}/d; mkdir sub; cp /bin/true su; cp /bin/true sg;"
        "chmod 4755 su; chmod 2755 sg; chmod 3777 sub; chmod 6755 .",
    )
    await ctx.sandbox.download(f"{work}/d", ctx.folder / "d")
    await ctx.sandbox.download(f"{work}/d/su", ctx.folder / "alone")
    for path in (ctx.folder / "d", *(ctx.folder / "d").iterdir(), ctx.folder / "alone"):
        status = path.lstat()
        same(f"the special bits of {path.name}", oct(stat.S_IMODE(status.st_mode) & 0o7000), "0o0")
        same(f"the owner of {path.name}", status.st_uid, os.geteuid())


@check("hostile")
async def hard_links(ctx: Context) -> None:
    """Hard links come down with their content, and are tied to nothing else of the host's."""
    work = await home(ctx.sandbox)
    await succeeds(
        ctx.sandbox,
        f"mkdir {work}/d; cd {work}; echo x > out; ln out d/b; echo y > d/c; ln d/c d/e",
    )
    await ctx.sandbox.download(f"{work}/d", ctx.folder / "d")
    found = {path.name: path.read_text() for path in (ctx.folder / "d").iterdir()}
    same("the content", found, {"b": "x\n", "c": "y\n", "e": "y\n"})
    same("the links of a file", (ctx.folder / "d" / "b").stat().st_nlink, 1)


@check("hostile")
async def links_in_the_way(ctx: Context) -> None:
    """An upload to where a link of the agent's is arrives whole."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    await succeeds(
        box, f"cd {work}; mkdir d; echo kept > d/file; ln -s d/file link; ln -s loop loop"
    )
    (ctx.folder / "source").write_text("new")
    for name in ("link", "loop"):
        await box.upload(ctx.folder / "source", f"{work}/{name}")
        same("the copy", await box.read_file(f"{work}/{name}"), b"new")


@check("hostile", isolated=True)
async def confused_guest(ctx: Context) -> None:
    """Links of the agent's do not lend it the guest's rights in any file call."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    source, top = ctx.folder / "source", ctx.folder / "tree"
    source.write_text("x")
    top.mkdir()
    (top / "agentgym-new").write_text("x")
    denied = ("EACCES", "EPERM", "EROFS", "ENOENT", "EINVAL", "EIO", "ENOTDIR")
    link = f"{work}/link"
    for target in (*(f"/proc/1/{name}" for name in ("environ", "mem", "maps")), "/proc/self/mem"):
        await succeeds(box, f"rm -rf {link}; ln -s {target} {link}")
        await error_of(f"reading a link to {target}", box.read_file(link), *denied)
        await error_of(f"writing a link to {target}", box.write_file(link, "x"), *denied)
    await succeeds(box, f"rm -rf {link}; ln -s /proc/1 {link}")
    for name in ("fd", "fdinfo", "map_files", "task/1/fd"):
        await error_of(f"listing /proc/1/{name}", box.list_dir(f"{link}/{name}"), *denied)
    copy = ctx.folder / "copy"
    await error_of("downloading a link to maps", box.download(f"{link}/maps", copy), *denied)
    for target in ("/proc/1/root", "/dev", "/etc", "/"):
        await succeeds(box, f"rm -rf {link}; ln -s {target} {link}")
        for path in (f"{link}/agentgym-new", f"{link}/agentgym-new/deep"):
            await error_of(f"writing through {target}", box.write_file(path, "x"), *denied)
            await error_of(f"an upload through {target}", box.upload(source, path), *denied)
        with suppress(OSError):  # refused, or the link replaced: both are sound
            await box.upload(top, link)
        found = await box.exec(["ls", f"{target}/agentgym-new"])
        holds(found.exit_code != 0, f"nothing new in {target}", found.text)
    await succeeds(box, f"ln -s /etc {work}/etc")
    await error_of("removing through a link", box.remove(f"{work}/etc/passwd"), *denied)
    await still_works(box)


@check("hostile")
async def holes(ctx: Context) -> None:
    """A file of 100 GB that is all hole fills neither the host's memory nor its disk."""
    work, box = await home(ctx.sandbox), ctx.sandbox
    await succeeds(box, f"mkdir {work}/d; truncate -s 100G {work}/d/hole")
    target = ctx.folder / "d"
    async with Growth(256 * MIB):
        await error_of("reading it", box.read_file(f"{work}/d/hole"), "EFBIG")
        with suppress(OSError):
            await box.download(f"{work}/d", target)
        await _bounded_snapshot(box)
    for path in target.glob("*"):
        taken = path.stat().st_blocks * 512
        holds(taken < 64 * MIB, "at most a file with a hole", f"{taken} bytes on the host's disk")
    await box.remove(f"{work}/d")
    await still_works(box)


async def _bounded_snapshot(box: Sandbox) -> None:
    try:
        found = await box.snapshot()
    except (OSError, AgentgymError):
        return
    bound = 3 * box.spec.disk + 64 * MIB
    holds(len(found.archive) < bound, f"a snapshot below {bound >> 20} MB", len(found.archive))
