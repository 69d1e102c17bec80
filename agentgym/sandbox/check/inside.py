"""Small programs that checks run inside; they need a shell and python3, nothing else."""

import json
from typing import Any

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.registry import holds
from agentgym.sandbox.spec import ExecResult

PYTHON = ("python3", "-I", "-S", "-c")


async def python(sandbox: Sandbox, program: str, *args: str, **options: Any) -> ExecResult:
    """Run a Python program.

    Args:
        sandbox: Where.
        program: Its source.
        *args: What it finds in `sys.argv[1:]`.
        **options: Those of `Sandbox.exec`.
    """
    return await sandbox.exec([*PYTHON, program, *args], **options)


async def answer(sandbox: Sandbox, program: str, *args: str, **options: Any) -> Any:
    """Run a Python program that prints JSON, and return what it says.

    Raises:
        CheckFailure: It did not end with 0.
    """
    found = await python(sandbox, program, *args, **options)
    holds(found.exit_code == 0, "a probe to run to its end", found)
    return json.loads(found.stdout)


async def succeeds(sandbox: Sandbox, command: str, **options: Any) -> ExecResult:
    """Run a line for the shell that has to end with 0, and return its result.

    Raises:
        CheckFailure: It did not.
    """
    found = await sandbox.exec(command, **options)
    holds(found.exit_code == 0, f"`{command}` to end with 0", found)
    return found


ATTEMPT = """
import json, os, socket, sys

def attempt(name, call, *args):
    "Say what was carried out that must not be."
    try:
        call(*args)
    except (OSError, ValueError, OverflowError):
        pass
    else:
        done.append(name)

done = []
"""
"""Start of a probe that tries what must be refused, and prints `DONE` at its end."""

DONE = "\nprint(json.dumps(done))\n"

SYSCALLS = """
import ctypes, os, platform

libc = ctypes.CDLL(None, use_errno=True)
X86, ARM = {"x86_64": (1, 0), "aarch64": (0, 1)}[platform.machine()]

def syscall(number, *args):
    "Call the kernel; a number is that of x86_64 or a pair of it with that of aarch64."
    if isinstance(number, tuple):
        number = number[0] if X86 else number[1]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

PERMISSION = (
    ATTEMPT
    + SYSCALLS
    + """
import errno
keep = []

def denied(name, number, *args):
    "Say what is not refused for lack of permission."
    try:
        syscall(number, *args)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            done.append(f"{name}: {errno.errorcode[error.errno]}")
    else:
        done.append(name)

def text(value):
    "Return the address of some bytes."
    keep.append(ctypes.create_string_buffer(value))
    return ctypes.addressof(keep[-1])
"""
)
"""Start of a probe of system calls, which has to end with `DONE` too."""

SEEN = """
import os, sys

def processes(marker):
    "Return the ids of the processes, zombies left out, that have a word in their arguments."
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\\0")
        except OSError:
            continue
        if any(marker in word for word in words):
            found.append(int(name))
    return found
"""


async def running(sandbox: Sandbox, marker: str) -> list[int]:
    """Return the processes that have a marker among their arguments."""
    # The marker comes by standard input, so that the probe's own arguments do not hold it.
    program = SEEN + "import json; print(json.dumps(processes(sys.stdin.buffer.read())))"
    found: list[int] = await answer(sandbox, program, stdin=marker)
    return found
