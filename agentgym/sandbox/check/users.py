"""Checks of several users in one sandbox."""

from agentgym.errors import UsageError
from agentgym.sandbox.check.context import Context
from agentgym.sandbox.check.files import error_of
from agentgym.sandbox.check.registry import check, holds, refused, same

OTHER = "1777"
_FORBIDDEN = (
    "cat /work/mine",
    "chown 1 /tmp",
    "mknod /tmp/d c 1 3",
    "mount -t tmpfs x /mnt",
    "kill -9 1",
    "cat /proc/1/environ",
    "touch /etc/new",
    "date -s @1000000000",
    "hostname changed",
    "echo 1 > /proc/sys/vm/swappiness",
)


@check("users", users=True)
async def other_user(ctx: Context) -> None:
    """A command runs as the call's user: its number, its files, and no other's rights."""
    box = ctx.sandbox
    same("the user", (await box.exec("id -u; id -g", user=OTHER)).text, f"{OTHER}\n{OTHER}\n")
    await box.exec("umask 077; echo secret > /tmp/mine", user=OTHER)
    same("the file's owner", (await box.stat("/tmp/mine")).uid, int(OTHER))
    holds((await box.exec(["cat", "/tmp/mine"])).exit_code != 0, "another's file to be shut", "it")
    await error_of("reading another's file", box.read_file("/tmp/mine"), "EACCES")
    await error_of("writing over it", box.write_file("/tmp/mine", "x"), "EACCES", "EPERM")
    await error_of("removing it", box.remove("/tmp/mine"), "EACCES", "EPERM")
    same("its owner's view", (await box.exec(["cat", "/tmp/mine"], user=OTHER)).text, "secret\n")


@check("users", users=True)
async def file_for_another(ctx: Context) -> None:
    """A file can be written for another user, whom it belongs to; the spec's cannot change it."""
    box = ctx.sandbox
    await box.write_file("/tmp/theirs", "hidden", mode=0o600, user=OTHER)
    found = await box.stat("/tmp/theirs")
    same("its owner", (found.uid, found.mode & 0o777), (int(OTHER), 0o600))
    holds((await box.exec("cat /tmp/theirs")).exit_code != 0, "the file to be shut", "it is not")
    await error_of(
        "writing to /work for another", box.write_file("/work/x", "", user=OTHER), "EACCES"
    )


@check("users", users=True)
async def other_processes(ctx: Context) -> None:
    """A user's processes cannot be killed or looked into by another."""
    box = ctx.sandbox
    process = await box.start("echo $$; read line; echo $line", user=OTHER)
    _, line = await anext(aiter(process))
    pid = line.decode().strip()
    found = await box.exec(f"kill -9 {pid}; cat /proc/{pid}/environ; ls /proc/{pid}/fd; kill -9 -1")
    same("what is seen of them", found.stdout, b"")
    await process.write(b"alive\n")
    same("its output", (await process.wait()).stdout, b"alive\n")


@check("users", users=True)
async def no_more_power(ctx: Context) -> None:
    """Another user has no more power than the spec's, and root is nobody's to be."""
    box = ctx.sandbox
    for user in ("root", "0", "00", "0:0", "-1", "4294967296"):
        with refused(f"exec(user={user!r})", UsageError):
            await box.exec(["id"], user=user)
    found = await box.exec(["cat", "/proc/self/status"], user=OTHER)
    status = dict(line.split(":", 1) for line in found.text.splitlines())
    same("the user", status["Uid"].split(), [OTHER] * 4)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        same(name, int(status[name], 16), 0)
    await box.write_file("/work/mine", "x", mode=0o600)
    for line in _FORBIDDEN:
        found = await box.exec(line, user=OTHER)
        holds(found.exit_code != 0, f"`{line}` to be refused", found)


@check("users", users=True)
async def killed_alike(ctx: Context) -> None:
    """A timeout and `kill_all` end every user's processes."""
    box = ctx.sandbox
    found = await box.exec("sleep 600 & sleep 600", user=OTHER, timeout=0.3)
    same("`timed_out`", (found.timed_out, found.exit_code), (True, 137))
    process = await box.start("echo up; sleep 600", user=OTHER, stdin=b"")
    same("its output", await anext(aiter(process)), ("stdout", b"up\n"))
    await box.kill_all()
    same("its end", (await process.wait()).exit_code, 137)


@check("users", users=True)
async def unknown_user(ctx: Context) -> None:
    """A user the sandbox does not know by name is an ordinary result: 126, and said in stderr."""
    found = await ctx.sandbox.exec(["id"], user="no-such-user")
    same("the exit code", found.exit_code, 126)
    holds(b"user" in found.stderr, "the reason in stderr", found)
