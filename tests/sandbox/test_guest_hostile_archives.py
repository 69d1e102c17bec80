"""UNPACK against archives that try to get out, or that are none."""

import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.archive_rig import archive, member, name_in, pack, unpack
from tests.sandbox.guest_rig import RawGuest, in_memory, names, raw_guest


@pytest.fixture(scope="module")
def guest() -> Iterator[RawGuest]:
    with raw_guest() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    with in_memory() as path:
        yield path


Hostile = Callable[[Path], bytes]
HOSTILE: dict[str, Hostile] = {
    "a name outside": lambda top: archive(member(top.parent / "beside")),
    "a name that begins like it": lambda top: archive(member(f"{top}beside")),
    "a way out": lambda top: archive(member(f"{top}/../beside")),
    "a way out and back": lambda top: archive(member(f"{top}/x/../../{top.name}/y")),
    "nothing for a name": lambda top: archive(member("./.")),
    "a hard link out": lambda top: archive(
        member(top / "x", tarfile.LNKTYPE, linkname="etc/shadow")
    ),
    "a hard link up": lambda top: archive(
        member(top / "x", tarfile.LNKTYPE, linkname=f"{name_in(top)}/../x")
    ),
    "a device": lambda top: archive(member(top / "x", tarfile.CHRTYPE, devmajor=1, devminor=3)),
    "a block device": lambda top: archive(member(top / "x", tarfile.BLKTYPE)),
    "a kind unknown": lambda top: archive(member(top / "x", b"x")),
    "a wrong checksum": lambda top: archive(member(top / "x")).replace(b"x", b"y", 1),
    "no end": lambda top: archive((member(top / "x"), b"content"))[:1024],
    "half a header": lambda top: archive(member(top / "x"))[:300],
    "half its content": lambda top: archive((member(top / "x"), b"c" * 5000))[:2000],
    "junk": lambda top: bytes(range(1, 256)) * 20,
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_archive_is_refused(guest: RawGuest, folder: Path, how: str) -> None:
    top = folder / "top"
    top.mkdir()
    assert unpack(guest, HOSTILE[how](top), top).fault is Fault.BAD_ARCHIVE
    assert names(folder) == ["top"]
    assert guest.ask(Kind.PING).fault is None


@pytest.mark.parametrize("planted", ["before", "inside"])
def test_links_are_not_followed_out(guest: RawGuest, folder: Path, planted: str) -> None:
    top, outside = folder / "top", folder / "outside"
    top.mkdir()
    outside.mkdir()
    made = [(member(top / "link" / "file"), b"escaped")]
    if planted == "before":
        (top / "link").symlink_to(outside)
        answer = unpack(guest, archive(*made), top)
    else:
        link = member(top / "link", tarfile.SYMTYPE, linkname=os.fspath(outside))
        answer = unpack(guest, archive(link, *made), top)
    assert answer.fault is Fault.SYSTEM
    assert names(outside) == []


def test_a_file_is_not_written_through_a_link(guest: RawGuest, folder: Path) -> None:
    outside = folder / "outside"
    outside.write_text("untouched")
    (folder / "top").mkdir()
    (folder / "top" / "file").symlink_to(outside)
    assert unpack(guest, archive((member(folder / "top" / "file"), b"x")), folder / "top").value
    assert outside.read_text() == "untouched"
    (folder / "link").symlink_to(folder / "top")
    assert unpack(guest, b"", folder / "link", clear=True).fault is Fault.SYSTEM
    assert names(folder / "top") == ["file"]


def test_maps_of_holes_are_checked(guest: RawGuest, folder: Path) -> None:
    with (folder / "hole").open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(1 << 20)
    packed = bytearray(pack(guest, folder))
    header = packed.index(b"hole") // 512 * 512
    for offset, number in ((386, b"00007777777"), (398, b"77777777777"), (483, b"00000000001")):
        broken = packed.copy()
        broken[header + offset : header + offset + 11] = number
        broken[header + 148 : header + 156] = b" " * 8
        sum_of = sum(broken[header : header + 512])
        broken[header + 148 : header + 156] = b"%06o\0 " % sum_of
        assert unpack(guest, bytes(broken), folder, clear=True).fault is Fault.BAD_ARCHIVE
