"""Compiles the guest once into the user's cache folder."""

import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

from agentgym.errors import SandboxUnavailableError

_SOURCES = Path(__file__).parent
_FLAGS = ("-std=c11", "-O2", "-static", "-s")
_REMEDY = "apt-get install gcc libc6-dev, or: pip install ziglang."


@cache
def guest_program() -> Path:
    """Return the compiled guest's path, compiling it where this version has not been yet.

    Raises:
        SandboxUnavailableError: There is no C compiler, or it failed.
    """
    sources = sorted(_SOURCES.glob("*.c"))
    content = hashlib.sha256(platform.machine().encode())
    for path in [*sources, *sorted(_SOURCES.glob("*.h"))]:
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    folder = user_cache_path("agentgym") / "guest"
    program = folder / content.hexdigest()[:20]
    if program.exists():
        return program
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / "lock"):
            if not program.exists():
                _compile(sources, program)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The cache folder {folder} cannot be written: {error.strerror}.",
            remedy="Set XDG_CACHE_HOME to a folder that can be.",
        ) from error
    return program


def compiler() -> Sequence[str]:
    """Return the command of a C compiler: $CC, cc, gcc, clang, or that of the package ziglang.

    Raises:
        SandboxUnavailableError: There is none.
    """
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        words = shlex.split(name)
        if words and shutil.which(words[0]):
            return words
    if find_spec("ziglang"):
        target = f"{platform.machine()}-linux-musl"
        return (sys.executable, "-m", "ziglang", "cc", "-target", target)
    raise SandboxUnavailableError(
        "Sandboxes need a C compiler, once, for the program that runs inside.",
        remedy=_REMEDY,
    )


def _compile(sources: Sequence[Path], program: Path) -> None:
    unfinished = program.with_suffix(f".{os.getpid()}")
    command = [*compiler(), *_FLAGS, "-o", str(unfinished), *map(str, sources)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            why = next((line for line in lines if "error" in line), lines[-1])
            raise SandboxUnavailableError(
                f"{shlex.join(compiler())} could not compile the sandbox's guest: {why[:300]}.",
                remedy=f"A compiler with a static C library is needed: {_REMEDY}",
            )
        unfinished.chmod(0o755)
        unfinished.rename(program)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
