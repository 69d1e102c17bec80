"""Checks that nothing of the host can be seen or changed from inside."""

import asyncio
import socket
from contextlib import closing
from pathlib import Path

from agentgym.sandbox.check.context import Context, still_works, token
from agentgym.sandbox.check.inside import ATTEMPT, DONE, PYTHON, answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, same

_SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/root/.ssh",
    "/root/.bash_history",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/sda",
    "/dev/vda",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/loop-control",
    "/sys/kernel/debug/tracing",
    "/sys/kernel/security/profiles",
    "/sys/firmware/efi/efivars",
)

_LOOK = """
def look(path):
    if os.path.isdir(path):
        return os.listdir(path)
    with open(path, "rb", buffering=0) as file:
        os.set_blocking(file.fileno(), False)
        if not file.read(1):
            raise OSError("there is nothing in it")
for path in sys.argv[1:]:
    attempt(path, look, path)
"""

_SOCKETS = """
import json, os, stat
found = []
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = set(folders) - {"proc", "sys"}
    for name in files:
        try:
            if stat.S_ISSOCK(os.stat(os.path.join(folder, name)).st_mode):
                found.append(os.path.join(folder, name))
        except OSError:
            pass
print(json.dumps(found))
"""

_PROCESSES = """
import json, os, sys
marker = sys.stdin.buffer.read()
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
seen = []
for pid in pids:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if marker in file.read():
                seen.append(pid)
    except OSError:
        pass
print(json.dumps([len(pids), seen]))
"""

_FIRST = """
def look(path):
    if os.path.islink(path):
        os.readlink(path)
    elif os.path.isdir(path):
        os.listdir(path)
    else:
        open(path, "rb").read(1)
def write(path):
    with open(path, "r+b", buffering=0) as file:
        file.write(b"1")
names = "mem environ maps smaps auxv stack syscall io fd fdinfo map_files numa_maps".split()
links = "root cwd exe ns/mnt ns/net task/1/mem task/1/environ".split()
for name in names + links:
    attempt(name, look, "/proc/1/" + name)
for name in "mem oom_score_adj clear_refs timerslack_ns attr/current coredump_filter".split():
    attempt("writing " + name, write, "/proc/1/" + name)
"""

_NAMESPACES = """
import json, os
names = os.listdir("/proc/self/ns")
print(json.dumps({name: os.readlink(f"/proc/self/ns/{name}") for name in names}))
"""

_WRITING = """
folders = "/ /usr /usr/bin /etc /bin /lib /root /home /var /opt /run /dev /proc /sys /boot /srv"
for folder in folders.split() + ["/mnt", "/.agentgym"]:
    attempt("file in " + folder, open, folder + "/agentgym-new", "w")
    attempt("folder in " + folder, os.mkdir, folder + "/agentgym-dir")
    attempt("link in " + folder, os.symlink, "/", folder + "/agentgym-link")
    attempt("mode of " + folder, os.chmod, folder, 0o777)
    attempt("name of " + folder, os.rename, folder, folder + "-old")
for path in ("/etc/passwd", "/usr/bin/env", "/bin/sh"):
    attempt("writing " + path, open, path, "r+b")
    attempt("removing " + path, os.unlink, path)
    attempt("time of " + path, os.utime, path, (0, 0))
    attempt("owner of " + path, os.chown, path, os.getuid(), -1)
"""

_SERVE = """
import socket, sys
port = socket.create_server(("127.0.0.1", 47321))
name = socket.socket(socket.AF_UNIX)
name.bind("\\0" + sys.argv[1])
name.listen()
for path in ("/dev/shm/x", "/tmp/x"):
    open(path, "w").close()
print("up", flush=True)
while True:
    port.accept()
"""

_REACH = """
attempt("port", socket.create_connection, ("127.0.0.1", 47321), 5)
attempt("name", socket.socket(socket.AF_UNIX).connect, "\\0" + sys.argv[1])
for path in ("/dev/shm/x", "/tmp/x"):
    attempt(path, os.stat, path)
"""


@check("isolation", isolated=True)
async def host_files(ctx: Context) -> None:
    """Files of the host's temporary folder and home cannot be found or read."""
    holds(ctx.canaries, "canaries on the host", ctx.canaries)
    paths = [str(path) for path in ctx.canaries]
    own = ctx.folder / "canary"
    own.write_text(ctx.secret)
    program = ATTEMPT + "for path in sys.argv[1:]: attempt(path, os.lstat, path)" + DONE
    same("the paths found", await answer(ctx.sandbox, program, *paths, str(own)), [])
    name = Path(paths[0]).name
    found = await ctx.sandbox.exec(
        f"find / -xdev -name {name} 2>/dev/null; find / -name {name} 2>/dev/null"
    )
    same("what a search finds", found.text, "")


@check("isolation", isolated=True)
async def host_secrets(ctx: Context) -> None:
    """The host's own secrets are not there or not readable: passwords, keys, disks, its engine."""
    found = await answer(ctx.sandbox, ATTEMPT + _LOOK + DONE, *_SECRETS)
    same("what can be read", found, [])


@check("isolation", isolated=True)
async def sockets_of_files(ctx: Context) -> None:
    """No socket of anything lies anywhere in the sandbox's files, an engine's above all."""
    same("sockets", await answer(ctx.sandbox, _SOCKETS), [])
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd", "/run/dbus"):
        found = await ctx.sandbox.exec(["ls", "-A", path])
        holds(found.exit_code != 0 or not found.stdout, f"no {path}", found)


@check("isolation", isolated=True)
async def host_processes(ctx: Context) -> None:
    """No process of the host is seen: the sandbox numbers its own from 1."""
    marker = token()
    host = await asyncio.create_subprocess_exec("sleep", f"600.{marker}")
    try:
        number, seen = await answer(ctx.sandbox, _PROCESSES, stdin=marker)
        same("processes of the host's that are seen", seen, [])
        holds(number < 16, "only the sandbox's own processes", f"{number} processes")
    finally:
        host.kill()
        await host.wait()


@check("isolation", isolated=True)
async def first_process(ctx: Context) -> None:
    """Nothing of the sandbox's first process can be read: memory, environment, files, root."""
    same("what can be read", await answer(ctx.sandbox, ATTEMPT + _FIRST + DONE), [])
    found = await ctx.sandbox.exec("cat /proc/*/environ /proc/*/cmdline 2>/dev/null")
    holds(ctx.secret.encode() not in found.stdout, "no host variable", "the host's canary")


@check("isolation", isolated=True)
async def namespaces(ctx: Context) -> None:
    """Processes, files, network, names and shared memory are the sandbox's own."""
    found = await answer(ctx.sandbox, _NAMESPACES)
    other = await answer(await ctx.fresh(), _NAMESPACES)
    for name in ("ipc", "mnt", "net", "pid", "uts"):
        taken = (_own_namespace(name), other[name])
        holds(found[name] not in taken, f"a {name} namespace of its own", found[name])


@check("isolation", isolated=True)
async def host_name(ctx: Context) -> None:
    """The sandbox does not tell the host's name."""
    found = await succeeds(ctx.sandbox, "cat /proc/sys/kernel/hostname; uname -n")
    holds(socket.gethostname() not in found.text.split(), "another name", found.text)


@check("isolation", isolated=True)
async def nobody(ctx: Context) -> None:
    """Commands are no root, in no group of root's, with no capability and no way to get one."""
    found = await ctx.sandbox.exec(["cat", "/proc/self/status"])
    status = dict(line.split(":", 1) for line in found.text.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        same(name, int(status[name], 16), 0)
    same("NoNewPrivs", status["NoNewPrivs"].strip(), "1")
    same("Seccomp (2: a filter)", status["Seccomp"].strip(), "2")
    for name in ("Uid", "Gid"):
        same(name, status[name].split(), ["1000"] * 4)
    holds("0" not in status["Groups"].split(), "no group of root's", status["Groups"])


@check("isolation", isolated=True)
async def system_read_only(ctx: Context) -> None:
    """The system's folders cannot be written to, by any way."""
    same("what was carried out", await answer(ctx.sandbox, ATTEMPT + _WRITING + DONE), [])


def _own_namespace(name: str) -> str:
    return str(Path(f"/proc/self/ns/{name}").readlink())


def _programs() -> list[str]:
    return sorted(path.name for path in Path("/usr/bin").iterdir())


@check("isolation", isolated=True)
async def deleting_the_system(ctx: Context) -> None:
    """Deleting /bin, /usr and all else leaves a system that works, and the host's untouched."""
    box = await ctx.fresh()
    host = _programs()
    await box.exec("rm -rf /bin/* /bin /usr/bin/* /lib64 /etc /dev/* /work /tmp")
    await box.exec(["rm", "-rf", "--no-preserve-root", "/"], timeout=2)
    await box.reset()
    await still_works(box)
    same("python afterwards", (await python(box, "print(1)")).text, "1\n")
    same("the host's programs", _programs(), host)


@check("isolation", isolated=True)
async def shared_names(ctx: Context) -> None:
    """Sockets of the host's that have names without a file cannot be reached."""
    name = f"\0agentgym-check-{token()}"
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(name)
        server.listen()
        program = (
            ATTEMPT
            + "s = socket.socket(socket.AF_UNIX)\n"
            + "attempt('connect', s.connect, '\\0' + sys.argv[1])"
            + DONE
        )
        same("what was carried out", await answer(ctx.sandbox, program, name[1:]), [])
    found = await succeeds(ctx.sandbox, "cat /proc/net/unix")
    holds(name[1:] not in found.text, "no socket of the host's to be listed", "one")


@check("isolation", isolated=True)
async def apart(ctx: Context) -> None:
    """Two sandboxes share nothing: no files, processes, ports, names or memory."""
    one, two = await ctx.fresh(), await ctx.fresh()
    marker = token()
    server = await one.start([*PYTHON, _SERVE, marker], stdin=b"")
    same("the first one's output", await anext(aiter(server)), ("stdout", b"up\n"))
    program = ATTEMPT + _REACH + DONE
    same("what the second one reaches", await answer(two, program, marker), [])
    wanted = ["port", "name", "/dev/shm/x", "/tmp/x"]
    same("what the first one reaches", await answer(one, program, marker), wanted)
