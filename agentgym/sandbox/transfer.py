"""Folders between host and sandbox, as tar archives. What comes out is written with suspicion."""

import errno
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

_MODE = 0o777
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20
MAX_BYTES = 4 << 30
"""Bytes of the files of one folder, holes included, at most."""


def pack(source: Path, path: str, archive: IO[bytes]) -> None:
    """Write a host's file or folder as a tar archive that the guest unpacks.

    Args:
        source: What is copied; symbolic links in it stay links.
        path: Its absolute path in the sandbox.
        archive: Written from its start, and rewound.

    Raises:
        OSError: It cannot be read, or holds a device, a socket or a pipe.
    """

    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
            raise _refused(f"/{member.name}", "neither a file, a folder nor a link")
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(source, arcname=path.lstrip("/"), filter=anonymous)
    archive.seek(0)


def unpack(archive: IO[bytes], path: str, target: Path) -> None:
    """Write a sandbox's file or folder to the host, and nothing outside `target`.

    Args:
        archive: From its start.
        path: The absolute path it has in the sandbox.
        target: Where it goes; must not exist, or be a file where it is a file.

    Raises:
        OSError: It cannot be written, or holds a device, a pipe, or a link that may lead out.
    """
    root = PurePosixPath(path.lstrip("/"))
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            members = iter(tar)
            first = next(members, None)
            if first is None or PurePosixPath(first.name) != root:
                raise _refused(path, "not what was asked for")
            if not first.isdir():
                _write_alone(tar, first, target)
                return
            target.mkdir(mode=0o700)
            _Extraction(tar, target, root).run(first, members)
    except tarfile.TarError as error:
        raise _refused(path, f"no archive: {error}") from error


def _write_alone(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    with target.open("wb") as out:
        _write_content(tar, member, out)
    target.chmod(member.mode & _MODE)


def _write_content(tar: tarfile.TarFile, member: tarfile.TarInfo, out: IO[bytes]) -> None:
    """Write a member's content; holes stay holes, for they may be larger than any disk."""
    content = tar.extractfile(member) if member.isreg() else None
    if content is None:
        raise _refused(member.name, "neither a file, a folder nor a link")
    pieces = cast("list[tuple[int, int]]", member.sparse or [(0, member.size)])
    for offset, size in pieces:
        content.seek(offset)
        out.seek(offset)
        left = size
        while left and (chunk := content.read(min(left, _CHUNK))):
            out.write(chunk)
            left -= len(chunk)
    out.truncate(member.size)


class _Extraction:
    """One folder being written. No path of the archive is ever resolved through a link."""

    def __init__(self, tar: tarfile.TarFile, target: Path, root: PurePosixPath) -> None:
        self._tar = tar
        self._target = target
        self._root = root
        self._bytes = 0
        self._files: set[PurePosixPath] = set()
        self._folders: list[tuple[PurePosixPath, tarfile.TarInfo]] = []

    def run(self, first: tarfile.TarInfo, members: Iterator[tarfile.TarInfo]) -> None:
        self._folders.append((PurePosixPath(), first))
        for member in members:
            self._write(self._inside(member.name), member)
        for inner, folder in reversed(self._folders):  # last, for a folder may forbid writing
            with self._opened(inner) as descriptor:
                os.utime(descriptor, (folder.mtime, folder.mtime))
                os.fchmod(descriptor, folder.mode & _MODE)

    def _inside(self, name: str) -> PurePosixPath:
        path = PurePosixPath(name)
        if not path.is_relative_to(self._root) or ".." in path.parts or path == self._root:
            raise _refused(name, "outside of what was asked for")
        return path.relative_to(self._root)

    def _write(self, inner: PurePosixPath, member: tarfile.TarInfo) -> None:
        with self._opened(inner.parent) as parent:
            if member.isdir():
                os.mkdir(inner.name, 0o700, dir_fd=parent)
                self._folders.append((inner, member))
            elif member.issym():
                if not _stays_inside(member.linkname, len(inner.parts) - 1):
                    raise _refused(member.name, f"a link that may lead out: {member.linkname}")
                os.symlink(member.linkname, inner.name, dir_fd=parent)
            elif member.islnk():
                self._link(inner, member, parent)
            else:
                self._write_file(inner, member, parent)

    def _write_file(self, inner: PurePosixPath, member: tarfile.TarInfo, parent: int) -> None:
        with os.fdopen(os.open(inner.name, _FILE, 0o600, dir_fd=parent), "wb") as out:
            _write_content(self._tar, member, out)
            out.flush()
            os.utime(out.fileno(), (member.mtime, member.mtime))
            os.fchmod(out.fileno(), member.mode & _MODE)
        self._files.add(inner)

    def _link(self, inner: PurePosixPath, member: tarfile.TarInfo, parent: int) -> None:
        other = self._inside(member.linkname)
        if other not in self._files:
            raise _refused(member.name, "a hard link to what is not in the folder")
        with self._opened(other.parent) as source:
            os.link(
                other.name, inner.name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False
            )
        self._files.add(inner)

    @contextmanager
    def _opened(self, inner: PurePosixPath) -> Iterator[int]:
        descriptor = os.open(self._target, _FOLDER)
        try:
            for part in inner.parts:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)


def _stays_inside(target: str, depth: int) -> bool:
    """Whether a relative link cannot lead out, whatever links it passes.

    `..` is allowed at the start only, and not above the folder: from a real folder it leads to
    a real one, while after a link's name it could lead anywhere.
    """
    parts = PurePosixPath(target).parts
    ups = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
    return not target.startswith("/") and ups <= depth and ".." not in parts[ups:]


def _refused(path: str, why: str) -> OSError:
    return OSError(errno.EINVAL, f"{os.strerror(errno.EINVAL)} ({why})", path)
