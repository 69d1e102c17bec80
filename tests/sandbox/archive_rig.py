"""Archives for the tests of PACK and UNPACK, made and read by Python's tarfile."""

import io
import os
import tarfile
from pathlib import Path

from agentgym.sandbox import wire
from agentgym.sandbox.wire import Kind
from tests.sandbox.guest_rig import Answer, RawGuest, on_paths


def pack(guest: RawGuest, *paths: Path) -> bytes:
    """Return the archive that a guest makes of paths."""
    answer = guest.ask(Kind.PACK, on_paths(*paths))
    assert (answer.fault, answer.value) == (None, len(answer.data))
    return answer.data


def unpack(
    guest: RawGuest, archive: bytes, *paths: Path, clear: bool = False, user: str = "", cut: int = 0
) -> Answer:
    """Let a guest unpack an archive, sent in pieces of `cut` bytes."""
    cut = cut or wire.MAX_PAYLOAD
    parts = [archive[at : at + cut] for at in range(0, len(archive), cut)]
    return guest.ask(Kind.UNPACK, on_paths(*paths, user=user, clear=clear), [*parts, b""])


def name_in(path: Path) -> str:
    """Return what a path is called in an archive."""
    return os.fspath(path).lstrip("/")


def archive(*members: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]) -> bytes:
    """Return the archive that Python makes of members, some with content."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for item in members:
            made, content = item if isinstance(item, tuple) else (item, b"")
            made.size = len(content)
            tar.addfile(made, io.BytesIO(content))
    return file.getvalue()


def member(path: Path | str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    """Return the description of a member."""
    found = tarfile.TarInfo(os.fspath(path).lstrip("/"))
    found.type, found.mtime = kind, 1_000_000_000
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def read(data: bytes) -> dict[str, tarfile.TarInfo]:
    """Return an archive's members by name."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        return {found.name: found for found in tar.getmembers()}
