"""Checks that no privilege can be had.

Calls that would harm a machine on which they succeed are made with arguments that the kernel
refuses after it has asked for permission: what is seen is whether permission is denied.
"""

import asyncio

from agentgym.sandbox.check.context import Context, home
from agentgym.sandbox.check.inside import ATTEMPT, DONE, PERMISSION, answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, same

_MOUNTING = """
work, kind, empty = text(b"/work"), text(b"tmpfs"), text(b"")
denied("mount", (165, 40), kind, work, kind, 0, 0)
denied("bind", (165, 40), text(b"/"), work, 0, 4096, 0)
denied("remount", (165, 40), 0, text(b"/"), 0, 32, 0)
denied("umount", (166, 39), work, 2)
denied("pivot_root", (155, 41), work, work)
denied("chroot", (161, 51), work)
denied("fsopen", 430, kind, 0)
denied("fspick", 433, -100, work, 0)
denied("open_tree", 428, -100, work, 1)
denied("move_mount", 429, -100, work, -100, work, 0)
denied("mount_setattr", 442, -100, work, 0, empty, 32)
"""

_NAMESPACES = """
flags = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
         "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
for name, flag in flags.items():
    denied("unshare " + name, (272, 97), flag)
    denied("clone " + name, (56, 220), flag, 0, 0, 0, 0)
denied("unshare time", (272, 97), 0x80)
denied("clone3", 435, text(bytes(88)), 88)
for name in ("user", "mnt", "net", "pid"):
    denied("setns " + name, (308, 268), os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0)
"""

_KERNEL = """
space, order = text(bytes(256)), text((1).to_bytes(4, "little"))
denied("init_module", (175, 105), 0, 0, 0)
denied("finit_module", (313, 273), -1, 0, 0)
denied("delete_module", (176, 106), 0, 0)
denied("kexec_load", (246, 104), 0, 99, 0, 0)
denied("reboot", (169, 142), 0, 0, 0, 0)
denied("swapon", (167, 224), 0, 0)
denied("swapoff", (168, 225), 0)
denied("syslog", (103, 116), 3, space, 10)
denied("bpf", (321, 280), 0, 0, 0)
denied("perf_event_open", (298, 241), space, 0, -1, -1, 0)
denied("userfaultfd", (323, 282), 0)
denied("io_uring_setup", 425, 1, space)
denied("acct", (163, 89), 0)
denied("quotactl", (179, 60), 0x80000200, 0, 0, 0)
denied("open_by_handle_at", (304, 265), -1, 0, 0)
denied("fanotify_init", (300, 262), 0, 0)
denied("lookup_dcookie", (212, 18), 0, 0, 0)
denied("vhangup", (153, 58))
denied("FIFO scheduling", (144, 119), 0, 1, order)
if X86:
    denied("iopl", 172, 3)
    denied("ioperm", 173, 0, 1, 1)
"""

# The two other doors into an x86_64 kernel: x32 numbers, and the 32-bit interrupt. The code is
# push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
_OTHER_DOORS = """
import ctypes, mmap, os, platform
open_doors = []
if platform.machine() == "x86_64":
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(0x40000000 + 39)) == os.getpid():
        open_doors.append("x32")
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("53b814000000cd805bc3"))
    code = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if ctypes.CFUNCTYPE(ctypes.c_int)(code)() == os.getpid():
        open_doors.append("int 0x80")
print(open_doors)
"""

_DEVICES = """
import stat
for folder in ("/work", "/tmp", "/dev/shm", "/dev"):
    for name, kind in {"char": stat.S_IFCHR, "block": stat.S_IFBLK}.items():
        for numbers in ((1, 3), (8, 0), (1, 1), (259, 0)):
            path = f"{folder}/{name} {numbers}"
            attempt(path, os.mknod, path, kind | 0o666, os.makedev(*numbers))
harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        status = os.lstat(path)
        if not stat.S_ISCHR(status.st_mode) and not stat.S_ISBLK(status.st_mode):
            continue
        numbers = os.major(status.st_rdev), os.minor(status.st_rdev)
        if numbers not in harmless and not 136 <= numbers[0] <= 143:
            attempt(path, os.open, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
"""

_SET_USER_ID = """
for path in ("/work", "/tmp", "/dev/shm"):
    flags = os.statvfs(path).f_flag
    if not flags & os.ST_NOSUID: done.append(path + " without nosuid")
    if not flags & os.ST_NODEV: done.append(path + " without nodev")
for call in (os.setuid, os.setgid, os.seteuid, os.setegid):
    attempt(call.__name__, call, 0)
attempt("setgroups", os.setgroups, [0])
attempt("chown", os.chown, sys.argv[1], 0, 0)
"""

_CLOCK = """
import time
now = text(int(time.time()).to_bytes(8, "little") + bytes(8))
change = text((1).to_bytes(4, "little") + bytes(252))
denied("clock_settime", (227, 112), 0, now)
denied("settimeofday", (164, 170), now, 0)
denied("adjtimex", (159, 171), change)
denied("clock_adjtime", (305, 266), 0, change)
attempt("hardware clock", open, "/dev/rtc0", "rb")
"""

_NAMES = """
denied("sethostname", (170, 161), text(b"changed"), 7)
denied("setdomainname", (171, 162), text(b"changed"), 7)
"""

_KEYRINGS = """
kind, name = text(b"user"), text(b"agentgym")
denied("add_key", (248, 217), kind, name, name, 3, -3)
denied("request_key", (249, 218), kind, name, 0, -3)
denied("keyctl", (250, 219), 0, -4, 0)
"""

_SETTINGS = """
for top in ("/proc/sys", "/sys", "/proc/irq", "/proc/bus", "/proc/acpi", "/proc/fs"):
    for folder, folders, files in os.walk(top):
        done += [path for name in (*files, ".") if os.access(path := f"{folder}/{name}", os.W_OK)]
for name in ("sysrq-trigger", "timer_list", "mtrr", "latency_stats", "kcore", "scsi/scsi"):
    if os.path.isfile("/proc/" + name):  # and not covered by an empty device
        attempt(name, os.open, "/proc/" + name, os.O_WRONLY)
def protect():
    with open("/proc/self/oom_score_adj", "w") as file: file.write("-1000")
attempt("oom_score_adj", protect)
attempt("nice", os.nice, -5)
del done[20:]
"""


async def _denied(ctx: Context, program: str, *args: str) -> None:
    found = await answer(ctx.sandbox, PERMISSION + program + DONE, *args, timeout=50)
    same("what is not refused", found, [])


@check("privileges", isolated=True)
async def mounting(ctx: Context) -> None:
    """Nothing can be mounted, unmounted, or made another root."""
    await _denied(ctx, _MOUNTING)
    for line in (
        "mount -t tmpfs x /tmp",
        "mount -o remount,rw /",
        "umount -l /work",
        "chroot / true",
    ):
        found = await ctx.sandbox.exec(line)
        holds(found.exit_code != 0, f"`{line}` to be refused", found)


@check("privileges", isolated=True)
async def namespaces(ctx: Context) -> None:
    """No namespace can be made or entered; those of users above all."""
    await _denied(ctx, _NAMESPACES)
    for line in ("unshare -Ur id", "unshare -n true", "nsenter -t 1 -m true"):
        found = await ctx.sandbox.exec(line)
        holds(found.exit_code != 0, f"`{line}` to be refused", found)


@check("privileges", isolated=True)
async def kernel(ctx: Context) -> None:
    """Calls that only a machine's owner needs are refused: modules, reboot, bpf, and such."""
    await _denied(ctx, _KERNEL)


@check("privileges", isolated=True)
async def other_doors(ctx: Context) -> None:
    """The kernel's other doors, for programs of other sorts, are no way round a filter."""
    found = await python(ctx.sandbox, _OTHER_DOORS)
    holds(found.text == "[]\n" or found.exit_code > 128, "no such door to be open", found)


@check("privileges", isolated=True)
async def devices(ctx: Context) -> None:
    """No device can be made, and only harmless ones are there."""
    same("the devices", await answer(ctx.sandbox, ATTEMPT + _DEVICES + DONE), [])


@check("privileges", isolated=True)
async def set_user_id(ctx: Context) -> None:
    """Set-user-id programs give nothing: those of the system, and those a user makes."""
    work = await home(ctx.sandbox)
    await _denied(ctx, _SET_USER_ID, work)
    lines = ("su -c id", "su root -c id </dev/null", "sudo -n id", "newgrp root -c id")
    # A wrong password costs a pause.
    ends = await asyncio.gather(*(ctx.sandbox.exec(line, timeout=1) for line in lines))
    for line, found in zip(lines, ends, strict=True):
        holds(b"uid=0" not in found.stdout, f"`{line}` to give no root", found)
    line = f"cp $(command -v id) {work}/id && chmod 6755 {work}/id && {work}/id -u && {work}/id -g"
    same("a user's own", (await succeeds(ctx.sandbox, line)).text, "1000\n1000\n")


@check("privileges", isolated=True)
async def clock(ctx: Context) -> None:
    """The clock cannot be set."""
    await _denied(ctx, _CLOCK)
    found = await ctx.sandbox.exec(["date", "-s", "@1000000000"])
    holds(found.exit_code != 0, "`date -s` to be refused", found)


@check("privileges", isolated=True)
async def names(ctx: Context) -> None:
    """Host name and domain name cannot be changed."""
    await _denied(ctx, _NAMES)


@check("privileges", isolated=True)
async def keyrings(ctx: Context) -> None:
    """The kernel's keyrings, which know no namespaces, cannot be used."""
    await _denied(ctx, _KEYRINGS)


@check("privileges", isolated=True)
async def settings(ctx: Context) -> None:
    """Nothing in /proc/sys, /sys or beside them can be written to."""
    await _denied(ctx, _SETTINGS)
