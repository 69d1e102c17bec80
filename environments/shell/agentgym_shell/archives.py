"""A sandbox's archives, which the agent has filled, read on the host with suspicion."""

import hashlib
import io
import stat
import tarfile
from calendar import timegm
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from agentgym.errors import SandboxTransportError
from agentgym_shell.trees import Entry, Tree

NOW = timegm((2025, 6, 15, 12, 0, 0))
"""The instant every episode begins in: no file of a set-up is younger."""

_CHUNK = 1 << 20


def read_tree(archive: bytes) -> Tree:
    """Return the files of an archive.

    Raises:
        SandboxTransportError: It is no archive.
    """
    tree: dict[str, Entry] = {}
    with _opened(archive) as tar:
        for member in tar:
            path = _path(member.name)
            known = tree.get(_path(member.linkname)) if member.islnk() else None
            tree[path] = known or _entry(
                member, tar.extractfile(member) if member.isreg() else None
            )
    return tree


def with_settled_times(archive: bytes) -> bytes:
    """Return an archive in which nothing is younger than `NOW`.

    Raises:
        SandboxTransportError: It is no archive.
    """
    settled = io.BytesIO()
    with (
        _opened(archive) as old,
        tarfile.open(fileobj=settled, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        for member in old:
            member.mtime = min(member.mtime, NOW)
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    return settled.getvalue()


@contextmanager
def _opened(archive: bytes) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            yield tar
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise SandboxTransportError(f"The sandbox sent a broken archive: {error}.") from error


def _entry(member: tarfile.TarInfo, content: IO[bytes] | None) -> Entry:
    mode = stat.S_IMODE(member.mode)
    if member.issym():
        return Entry("link", 0, member.linkname)
    if member.isdir():
        return Entry("folder", mode)
    if member.isfifo():
        return Entry("pipe", mode)
    if content is None:
        return Entry("other", mode)
    digest = hashlib.sha256()
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    return Entry("file", mode, digest.hexdigest())


def _path(name: str) -> str:
    return "/" + name.strip("/")
