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

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


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
            content = old.extractfile(member) if member.isreg() else None
            if member.issparse():
                member.type = tarfile.REGTYPE
            new.addfile(member, content)
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
    return Entry("file", mode, _content_hash(member, content))


def _content_hash(member: tarfile.TarInfo, content: IO[bytes]) -> str:
    """Hash a file's size and its blocks that are not all zeros.

    So a file has the same hash with holes and without, and one that claims to be a thousand times
    larger than any disk is read as fast as what it holds.
    """
    digest = hashlib.sha256(str(member.size).encode())
    parts = member.sparse if isinstance(member.sparse, list) else [(0, member.size)]
    done = 0
    for offset, size in parts:
        for start in range(max(done, offset - offset % _BLOCK), offset + size, _BLOCK):
            content.seek(start)
            block = content.read(_BLOCK)
            if block != _ZEROS[: len(block)]:
                digest.update(b"%d:" % start + block)
            done = start + _BLOCK
    return digest.hexdigest()


def _path(name: str) -> str:
    return "/" + name.strip("/")
