"""Checks that the sandbox's first process cannot be harmed, and that no privilege can be had.

Calls that would harm a machine on which they succeed are made with arguments that the kernel
refuses after it has asked for permission: what is seen is whether permission is denied.
"""

from agentgym.sandbox.check.context import Context, home, still_works
from agentgym.sandbox.check.inside import ATTEMPT, DONE, SYSCALLS, answer, python, succeeds
from agentgym.sandbox.check.registry import check, holds, same

_CALL = (
    ATTEMPT
    + SYSCALLS
    + """
import errno
DENIED = (errno.EPERM, errno.EACCES, errno.ENOSYS)

def denied(name, number, *args):
    "Say what is not refused for lack of permission."
    try:
        syscall(number, *args)
    except OSError as error:
        if error.errno not in DENIED: done.append(f"{name}: {errno.errorcode[error.errno]}")
    else:
        done.append(name)

def text(value):
    keep.append(ctypes.create_string_buffer(value))
    return ctypes.addressof(keep[-1])

keep = []
"""
)


@check("escape", isolated=True)
async def killing_the_first(ctx: Context) -> None:
    """No signal ends, stops or disturbs the sandbox's first process."""
    program = (
        "import os, signal\n"
        "for number in range(1, 65):\n"
        "    for target in (1, -1) if number in (1, 10, 34) else (1,):\n"
        "        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "        try: os.kill(target, number)\n"
        "        except OSError: pass\n"
    )
    box = await ctx.fresh()
    await python(box, program)
    await still_works(box)
    for line in (
        "kill -9 1",
        "kill -STOP 1; kill -TERM 1; kill -ABRT 1; kill -SEGV 1",
        "kill -9 0",
    ):
        await box.exec(line)
        await still_works(box)
    snapshot = await box.snapshot()
    await box.restore(snapshot)


@check("escape", isolated=True)
async def killing_all(ctx: Context) -> None:
    """A command that kills every process it may is an ordinary result, and ends no more than that."""
    box = await ctx.fresh()
    for line in ("kill -9 -1", "kill -STOP -1", "kill -TERM -1; kill -9 -1; true"):
        found = await box.exec(line, timeout=5)
        holds(0 <= found.exit_code <= 255, "an ordinary result", found)
        await box.kill_all()
        await still_works(box)


@check("escape", isolated=True)
async def tracing_the_first(ctx: Context) -> None:
    """The sandbox's first process cannot be traced, read, written, or have its files taken."""
    program = (
        _CALL
        + (
            "space = text(bytes(64)); vector = (ctypes.c_ulong * 2)(space, 8)\n"
            "there = (ctypes.c_ulong * 2)(0x400000, 8)\n"
            "for name, request in {'attach': 16, 'seize': 0x4206}.items():\n"
            "    denied(name, (101, 117), request, 1, 0, 0)\n"
            "denied('read memory', (310, 270), 1, ctypes.addressof(vector), 1, ctypes.addressof(there), 1, 0)\n"
            "denied('write memory', (311, 271), 1, ctypes.addressof(vector), 1, ctypes.addressof(there), 1, 0)\n"
            "denied('compare files', (312, 272), 1, os.getpid(), 0, 0, 0)\n"
            "denied('limits', (302, 261), 1, 7, 0, space)\n"
            "denied('move pages', (279, 239), 1, 0, 0, 0, 0, 0)\n"
            "denied('futex list', (274, 100), 1, space, space)\n"
            "try: first = syscall(434, 1, 0)\n"
            "except OSError: first = -1\n"
            "if first >= 0:\n"
            "    for number in range(16): denied(f'descriptor {number}', 438, first, number, 0)\n"
            "    denied('advice', 440, first, ctypes.addressof(there), 1, 20, 0)\n"
        )
        + DONE
    )
    same("what is not refused", await answer(ctx.sandbox, program), [])
    await still_works(ctx.sandbox)


@check("escape", isolated=True)
async def mounting(ctx: Context) -> None:
    """Nothing can be mounted, unmounted or made another root; no namespace be made or entered."""
    program = (
        _CALL
        + (
            "work, kind, empty = text(b'/work'), text(b'tmpfs'), text(b'')\n"
            "denied('mount', (165, 40), kind, work, kind, 0, 0)\n"
            "denied('bind', (165, 40), text(b'/'), work, 0, 4096, 0)\n"
            "denied('remount', (165, 40), 0, text(b'/'), 0, 32, 0)\n"
            "denied('umount', (166, 39), work, 2)\n"
            "denied('pivot_root', (155, 41), work, work)\n"
            "denied('chroot', (161, 51), work)\n"
            "denied('fsopen', 430, kind, 0)\n"
            "denied('fspick', 433, -100, work, 0)\n"
            "denied('open_tree', 428, -100, work, 1)\n"
            "denied('move_mount', 429, -100, work, -100, work, 0)\n"
            "denied('mount_setattr', 442, -100, work, 0, empty, 32)\n"
            "spaces = {'user': 0x10000000, 'mount': 0x20000, 'pid': 0x20000000, 'net': 0x40000000,\n"
            "          'uts': 0x4000000, 'ipc': 0x8000000, 'cgroup': 0x2000000, 'time': 0x80}\n"
            "for name, flag in spaces.items():\n"
            "    denied('unshare ' + name, (272, 97), flag)\n"
            "    denied('clone ' + name, (56, 220), flag, 0, 0, 0, 0)\n"
            "for name in ('user', 'mnt', 'net', 'pid'):\n"
            "    space = os.open(f'/proc/self/ns/{name}', os.O_RDONLY)\n"
            "    denied('setns ' + name, (308, 268), space, 0)\n"
            "denied('clone3', 435, text(bytes(88)), 88)\n"
        )
        + DONE
    )
    same("what is not refused", await answer(ctx.sandbox, program), [])
    for line in ("unshare -Ur id", "unshare -r true", "mount -t proc proc /tmp", "chroot / true"):
        found = await ctx.sandbox.exec(line)
        holds(found.exit_code != 0, f"`{line}` to be refused", found)


@check("escape", isolated=True)
async def kernel_calls(ctx: Context) -> None:
    """Calls that only a machine's owner needs are refused: modules, reboot, bpf, and such."""
    program = (
        _CALL
        + (
            "space = text(bytes(256))\n"
            "denied('init_module', (175, 105), 0, 0, 0)\n"
            "denied('finit_module', (313, 273), -1, 0, 0)\n"
            "denied('delete_module', (176, 106), 0, 0)\n"
            "denied('kexec_load', (246, 104), 0, 99, 0, 0)\n"
            "denied('reboot', (169, 142), 0, 0, 0, 0)\n"
            "denied('swapon', (167, 224), 0, 0)\n"
            "denied('swapoff', (168, 225), 0)\n"
            "denied('syslog', (103, 116), 3, space, 10)\n"
            "denied('bpf', (321, 280), 0, 0, 0)\n"
            "denied('perf_event_open', (298, 241), space, 0, -1, -1, 0)\n"
            "denied('userfaultfd', (323, 282), 0)\n"
            "denied('io_uring_setup', 425, 1, space)\n"
            "denied('acct', (163, 89), 0)\n"
            "denied('quotactl', (179, 60), 0x80000200, 0, 0, 0)\n"
            "denied('open_by_handle_at', (304, 265), -1, 0, 0)\n"
            "denied('fanotify_init', (300, 262), 0, 0)\n"
            "denied('lookup_dcookie', (212, 18), 0, 0, 0)\n"
            "if X86:\n"
            "    denied('iopl', 172, 3); denied('ioperm', 173, 0, 1, 1); denied('modify_ldt', 154, 99, 0, 0)\n"
            "denied('vhangup', (153, 58))\n"
            "denied('FIFO scheduling', (144, 119), 0, 1, text((1).to_bytes(4, 'little')))\n"
        )
        + DONE
    )
    found = await answer(ctx.sandbox, program)
    same("what is not refused", [item for item in found if item != "modify_ldt"], [])


@check("escape", isolated=True)
async def foreign_calls(ctx: Context) -> None:
    """The kernel's other doors on this machine, for 32-bit programs, are no way round a filter."""
    program = (
        "import ctypes, mmap, os, platform, signal, sys\n"
        "if platform.machine() != 'x86_64': print('none'); sys.exit()\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.syscall(ctypes.c_long(0x40000000 + 39)) == os.getpid(): print('x32')\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
        "page.write(bytes.fromhex('53b814000000cd805bc3'))\n"
        "call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))\n"
        "sys.stdout.flush()\n"
        "if call() == os.getpid(): print('int 80')\n"
        "print('none')"
    )
    found = await python(ctx.sandbox, program)
    holds(found.text == "none\n" or found.exit_code > 128, "no such door", found)


@check("escape", isolated=True)
async def devices(ctx: Context) -> None:
    """No device can be made, and only harmless ones are there."""
    program = (
        ATTEMPT
        + (
            "import stat\n"
            "for folder in ('/work', '/tmp', '/dev/shm', '/dev', '.'):\n"
            "    for name, kind in {'null': stat.S_IFCHR, 'disk': stat.S_IFBLK}.items():\n"
            "        for numbers in ((1, 3), (8, 0), (1, 1), (259, 0)):\n"
            "            path = f'{folder}/{name}{numbers}'\n"
            "            attempt(path, os.mknod, path, kind | 0o666, os.makedev(*numbers))\n"
            "fine = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}\n"
            "for folder, _, files in os.walk('/dev'):\n"
            "    for name in files:\n"
            "        path = os.path.join(folder, name)\n"
            "        status = os.stat(path)\n"
            "        if not stat.S_ISCHR(status.st_mode) and not stat.S_ISBLK(status.st_mode): continue\n"
            "        numbers = os.major(status.st_rdev), os.minor(status.st_rdev)\n"
            "        if numbers in fine or 136 <= numbers[0] <= 143: continue\n"
            "        attempt(path, os.open, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)\n"
        )
        + DONE
    )
    same("the devices", await answer(ctx.sandbox, program), [])


@check("escape", isolated=True)
async def set_user_id(ctx: Context) -> None:
    """Set-user-id programs give nothing: those of the system, and those a user makes."""
    work = await home(ctx.sandbox)
    program = (
        ATTEMPT
        + (
            "import stat, subprocess\n"
            "found = []\n"
            "for folder, folders, files in os.walk('/'):\n"
            "    if folder == '/': folders[:] = [f for f in folders if f not in ('proc', 'sys')]\n"
            "    for name in files:\n"
            "        path = os.path.join(folder, name)\n"
            "        try: mode = os.lstat(path).st_mode\n"
            "        except OSError: continue\n"
            "        if stat.S_ISREG(mode) and mode & 0o6000: found.append(path)\n"
            "for path in ('/work', '/tmp', '/dev/shm'):\n"
            "    if not os.statvfs(path).f_flag & os.ST_NOSUID: done.append(path + ' without nosuid')\n"
            "    if not os.statvfs(path).f_flag & 4: done.append(path + ' without nodev')\n"
            "before = os.getresuid(), os.getresgid()\n"
            "for call in (os.setuid, os.setgid, os.seteuid, os.setegid): attempt(call.__name__, call, 0)\n"
            "attempt('setgroups', os.setgroups, [0])\n"
            "attempt('chown', os.chown, sys.argv[1], 0, 0)\n"
        )
        + DONE
    )
    same("what was carried out", await answer(ctx.sandbox, program, work), [])
    for line in ("su -c id", "su root -c id </dev/null", "sudo -n id", "newgrp root -c id"):
        found = await ctx.sandbox.exec(line, timeout=10)
        holds(b"uid=0" not in found.stdout, f"`{line}` to give no root", found)
    line = f"cp $(command -v id) {work}/id && chmod 6755 {work}/id && {work}/id -u && {work}/id -g"
    same("a user's own", (await succeeds(ctx.sandbox, line)).text, "1000\n1000\n")


@check("escape", isolated=True)
async def clock(ctx: Context) -> None:
    """The clock cannot be set, and stays the host's."""
    program = (
        _CALL
        + (
            "import time\n"
            "now = time.time(); value = text(int(now).to_bytes(8, 'little') + bytes(8))\n"
            "denied('clock_settime', (227, 112), 0, value)\n"
            "denied('settimeofday', (164, 170), value, 0)\n"
            "timex = text((1).to_bytes(4, 'little') + bytes(252))\n"
            "denied('adjtimex', (159, 171), timex)\n"
            "denied('clock_adjtime', (305, 266), 0, timex)\n"
            "attempt('rtc', open, '/dev/rtc0', 'rb')\n"
        )
        + DONE
    )
    same("what is not refused", await answer(ctx.sandbox, program), [])
    holds((await ctx.sandbox.exec(["date", "-s", "@0"])).exit_code != 0, "`date -s` to fail", "0")


@check("escape", isolated=True)
async def names(ctx: Context) -> None:
    """Host name and domain name cannot be changed."""
    program = (
        _CALL
        + (
            "name = text(b'changed')\n"
            "denied('sethostname', (170, 161), name, 7)\n"
            "denied('setdomainname', (171, 162), name, 7)\n"
        )
        + DONE
    )
    same("what is not refused", await answer(ctx.sandbox, program), [])


@check("escape", isolated=True)
async def keyrings(ctx: Context) -> None:
    """The kernel's keyrings, which know no namespaces, cannot be used."""
    program = (
        _CALL
        + (
            "kind, name = text(b'user'), text(b'agentgym')\n"
            "denied('add_key', (248, 217), kind, name, name, 3, -3 & 0xffffffff)\n"
            "denied('request_key', (249, 218), kind, name, 0, -3 & 0xffffffff)\n"
            "denied('keyctl', (250, 219), 0, -4 & 0xffffffff, 0)\n"
        )
        + DONE
    )
    same("what is not refused", await answer(ctx.sandbox, program), [])


@check("escape", isolated=True)
async def kernel_settings(ctx: Context) -> None:
    """Nothing in /proc/sys, /sys or beside them can be written to."""
    program = (
        ATTEMPT
        + (
            "for top in ('/proc/sys', '/sys', '/proc/irq', '/proc/bus', '/proc/acpi', '/proc/fs'):\n"
            "    for folder, folders, files in os.walk(top):\n"
            "        for name in (*files, '.'):\n"
            "            path = os.path.join(folder, name)\n"
            "            if os.access(path, os.W_OK): done.append(path)\n"
            "for name in ('sysrq-trigger', 'timer_list', 'mtrr', 'latency_stats', 'kcore', 'scsi/scsi'):\n"
            "    attempt(name, os.open, '/proc/' + name, os.O_WRONLY)\n"
            "def lower(): open('/proc/self/oom_score_adj', 'w').write('-1000')\n"
            "attempt('oom_score_adj', lower)\n"
            "attempt('nice', os.nice, -5)\n"
            "done = done[:20]\n"
        )
        + DONE
    )
    same("what can be written", await answer(ctx.sandbox, program, timeout=50), [])


@check("escape", isolated=True)
async def unkillable_tree(ctx: Context) -> None:
    """A command cannot leave its tree to outlive its timeout: the way out is closed."""
    program = _CALL + "denied('subreaper', (157, 167), 36, 0, 0, 0, 0)\n" + DONE
    same("what is not refused", await answer(ctx.sandbox, program), [])


@check("escape", isolated=True)
async def no_door_to_the_host(ctx: Context) -> None:
    """The folder through which the sandbox's first process was connected is empty."""
    found = await ctx.sandbox.exec("ls -A /.agentgym 2>/dev/null; cat /proc/self/mountinfo")
    mounts = [line.split()[4] for line in found.text.splitlines() if " - " in line]
    files = [line for line in found.text.splitlines() if " - " not in line]
    same("what is in it", files, [])
    holds(ctx.secret not in found.text and len(mounts) > 1, "mounts to be seen", mounts)
