"""What is to be seen inside a bubblewrap sandbox, as arguments of `bwrap`.

The root is a small file system of the sandbox's own, read-only once it is built. Nothing is
bound into it that programs do not need: no /home, /root, /var, /opt, /run or /sys of the host,
and of /etc only what `_ETC_FILES` and `_ETC_FOLDERS` name.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from agentgym.errors import UsageError
from agentgym.sandbox.spec import WORK

USER = "agent"
HOSTNAME = "sandbox"
FOLDERS = (WORK, "/tmp", "/dev/shm")  # noqa: S108 - inside the sandbox
"""The writable folders, which the guest mounts."""

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC_FILES = ("ld.so.cache", "mime.types", "protocols", "services", "ssl/openssl.cnf")
# Beside certificates, these are what links in /usr lead to.
_ETC_FOLDERS = (
    "alternatives",
    "crypto-policies",
    "fonts",
    "java-*",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
)


class Arguments:
    """Arguments of `bwrap`, with the open files that they name by number.

    Args:
        files: Closes the files; they have to stay open until `bwrap` has started.
    """

    def __init__(self, files: ExitStack) -> None:
        self.words: list[str] = []
        self.descriptors: list[int] = []
        self._files = files

    def add(self, *words: str | Path) -> None:
        """Append arguments."""
        self.words += map(str, words)

    def keep(self, descriptor: int) -> int:
        """Have a descriptor passed on, and closed here afterwards."""
        self._files.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        return descriptor

    def file(self, descriptor: int, path: str) -> None:
        """Have what a descriptor holds copied to a path of the sandbox."""
        self.add("--perms", "0444", "--file", str(self.keep(descriptor)), path)


def host_view(arguments: Arguments, uid: int) -> None:
    """Show the host's programs, and as little else of it as they run with.

    Args:
        arguments: Are added to.
        uid: The user inside.
    """
    arguments.add("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        _show(arguments, Path("/", name), f"/{name}")
    for name in _ETC_FILES:
        path = Path("/etc", name)
        if path.is_file() and os.access(path, os.R_OK):
            # A copy costs less than a mount, and does not grow with the host's mounts.
            arguments.file(os.open(path, os.O_RDONLY | os.O_CLOEXEC), str(path))
    for pattern in _ETC_FOLDERS:
        for path in filter(Path.is_dir, sorted(Path("/etc").glob(pattern))):
            arguments.add("--ro-bind", path, path)
    for name, content in _own_files(uid):
        arguments.file(_in_memory(content.encode()), f"/etc/{name}")
    arguments.add("--symlink", "../usr/lib/os-release", "/etc/os-release")
    arguments.add("--symlink", "/proc/mounts", "/etc/mtab")


def image_view(arguments: Arguments, root: Path) -> None:
    """Show the system in a folder, read-only.

    Raises:
        UsageError: It holds none.
    """
    if not (root / "usr").is_dir() and not (root / "bin").is_dir():
        raise UsageError(
            f"Sandbox image: {root} is not the folder of a root file system.",
            remedy="Such as one made by `debootstrap --variant=minbase`; or leave it out.",
        )
    _show_all(arguments, root, "", without={"dev", "proc", "sys", "tmp", "var", "work"})
    if (root / "var").is_dir() and not (root / "var").is_symlink():
        _show_all(arguments, root / "var", "/var", without={"tmp"})


def close_view(arguments: Arguments) -> None:
    """Add devices, processes and the writable folders' places, and let nothing else change."""
    arguments.add("--proc", "/proc", "--dev", "/dev")
    # For the kernel the sandbox's user owns its namespaces, and so some of their settings.
    arguments.add("--ro-bind", "/proc/sys", "/proc/sys")
    for folder in FOLDERS:
        arguments.add("--dir", folder)
    arguments.add("--symlink", "../tmp", "/var/tmp")  # noqa: S108 - inside the sandbox
    arguments.add("--remount-ro", "/dev", "--remount-ro", "/")


def _own_files(uid: int) -> Iterator[tuple[str, str]]:
    yield "group", f"root:x:0:\n{USER}:x:{uid}:\nnogroup:x:65534:\n"
    yield "hostname", f"{HOSTNAME}\n"
    yield "hosts", f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n"
    yield "nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"
    yield (
        "passwd",
        "root:x:0:0:root:/:/bin/false\n"
        f"{USER}:x:{uid}:{uid}::{WORK}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/:/bin/false\n",
    )


def _show_all(arguments: Arguments, folder: Path, path: str, *, without: Collection[str]) -> None:
    for entry in sorted(folder.iterdir()):
        if entry.name not in without:
            _show(arguments, entry, f"{path}/{entry.name}")


def _show(arguments: Arguments, source: Path, path: str) -> None:
    if source.is_symlink():
        arguments.add("--symlink", source.readlink(), path)
    elif source.exists():
        arguments.add("--ro-bind", source, path)


def _in_memory(content: bytes) -> int:
    descriptor = os.memfd_create("agentgym", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
