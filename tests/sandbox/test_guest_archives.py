"""PACK and UNPACK: archives as Python's tarfile makes and reads them."""

import io
import os
import socket
import stat
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox import wire
from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.archive_rig import archive, member, name_in, pack, read, unpack
from tests.sandbox.guest_rig import (
    RawGuest,
    in_memory,
    make_deep,
    names,
    on_paths,
    raw_guest,
)
from tests.servers import require

USER = 64996


@pytest.fixture(scope="module")
def guest() -> Iterator[RawGuest]:
    with raw_guest() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    with in_memory() as path:
        yield path


def fill(top: Path) -> None:
    """Make one of each thing that a tree can hold."""
    (top / "empty folder").mkdir(mode=0o700)
    (top / "sticky").mkdir()
    (top / "sticky").chmod(0o1777)
    (top / "group").mkdir()
    (top / "group").chmod(0o2775)
    (top / "file").write_bytes(b"content")
    (top / "file").chmod(0o640)
    (top / "closed").write_bytes(b"closed")
    (top / "closed").chmod(0)
    (top / "empty").touch()
    os.link(top / "file", top / "sticky" / "same file")
    (top / "link").symlink_to("/nowhere/" + "x" * 200)
    os.mkfifo(top / "pipe", 0o600)
    (top / "bytes \udcff\n").write_bytes(os.urandom(1000))
    deep = top / ("n" * 200) / ("m" * 200)
    deep.mkdir(parents=True)
    (deep / "large").write_bytes(os.urandom(1_500_000))
    with (top / "sparse").open("wb") as file:
        for at in range(100):
            file.seek(at << 20)
            file.write(b"data %d" % at)
        file.truncate(8 << 30)
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files, "."):
            os.utime(Path(folder, name), (1, 1_000_000_001), follow_symlinks=False)


def picture(top: Path) -> dict[str, tuple[object, ...]]:
    """Describe a tree in full."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in [top, *top.rglob("*")]:
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            with path.open("rb") as file:
                content = [file.read(1000), file.seek(50 << 20), file.read(1 << 20)]
        seen[os.fspath(path.relative_to(top))] = (
            *(status.st_mode, status.st_uid, status.st_gid, int(status.st_mtime)),
            *(status.st_nlink, status.st_size if not path.is_dir() else 0, content),
        )
    return seen


def test_what_was_packed_comes_back(guest: RawGuest, folder: Path) -> None:
    top, other = folder / "top", folder / "other"
    top.mkdir(mode=0o751)
    other.mkdir()
    fill(top)
    (other / "file").touch()
    before = picture(top)
    packed = pack(guest, top, other)
    (top / "new").mkdir()
    (top / "new" / "file").touch()
    (top / "file").unlink()
    top.chmod(0o700)
    for cut in (0, 100, 511, 1_000_000):
        answer = unpack(guest, packed, top, other, clear=True, cut=cut)
        assert (answer.fault, answer.value) == (None, len(read(packed)))
        assert picture(top) == before
        assert pack(guest, top, other) == packed
    assert (top / "sparse").stat().st_blocks * 512 < 1 << 20


def test_python_reads_what_was_packed(guest: RawGuest, folder: Path, tmp_path: Path) -> None:
    top = folder / "top"
    top.mkdir()
    fill(top)
    (top / "sparse").unlink()
    with (top / "sparse").open("wb") as file:
        file.seek(1 << 20)
        file.write(b"middle")
        file.truncate(3 << 20)
    with tarfile.open(fileobj=io.BytesIO(pack(guest, top))) as tar:
        tar.extractall(tmp_path, filter="fully_trusted")
    copy, source = picture(tmp_path / name_in(top)), picture(top)
    for name in set(source) - {".", "link"}:  # tarfile sets no link's time
        assert copy[name][:4] == source[name][:4]
    assert copy["link"][6] == source["link"][6]
    assert (tmp_path / name_in(top) / "sparse").read_bytes() == (top / "sparse").read_bytes()
    assert copy["file"][4] == 2


def test_what_python_packed_is_unpacked(guest: RawGuest, folder: Path, tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "sparse").unlink()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(tmp_path, name_in(folder / "new" / "copy"))
    answer = unpack(guest, file.getvalue(), folder / "new" / "copy")
    assert answer.fault is None
    copy, source = picture(folder / "new" / "copy"), picture(tmp_path)
    assert {k: v[:4] + v[5:] for k, v in copy.items()} == {
        k: v[:4] + v[5:] for k, v in source.items()
    }


def test_the_same_content_is_the_same_archive(guest: RawGuest, folder: Path) -> None:
    archives = []
    for order in ("abc", "cab"):
        (folder / "top").mkdir()
        for name in order:
            (folder / "top" / name).write_text(name)
            os.utime(folder / "top" / name, (1, 1))
        os.utime(folder / "top", (1, 1))
        archives.append(pack(guest, folder / "top"))
        assert guest.ask(Kind.REMOVE, wire.text("") + wire.text(f"{folder}/top")).fault is None
    assert archives[0] == archives[1]


def test_sockets_are_left_out_and_single_files_packed(guest: RawGuest, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        (folder / "file").write_bytes(b"x")
        assert set(read(pack(guest, folder))) == {name_in(folder), name_in(folder / "file")}
        assert set(read(pack(guest, folder / "file"))) == {name_in(folder / "file")}


def test_a_hole_is_not_sent_and_no_data_is_too_much(guest: RawGuest, folder: Path) -> None:
    with (folder / "hole").open("wb") as file:
        file.truncate(1 << 40)
    packed = pack(guest, folder)
    assert len(packed) < 1 << 16
    assert unpack(guest, packed, folder, clear=True).fault is None
    assert (folder / "hole").stat().st_size == 1 << 40


def test_deep_trees_are_packed_and_unpacked(guest: RawGuest, folder: Path) -> None:
    make_deep(folder / "deep", 1900)
    packed = pack(guest, folder)
    assert unpack(guest, packed, folder, clear=True).fault is None
    assert pack(guest, folder) == packed
    assert guest.ask(Kind.REMOVE, wire.text("") + wire.text(f"{folder}/deep")).fault is None


def test_names_longer_than_a_path_are_too_large(guest: RawGuest, folder: Path) -> None:
    make_deep(folder / "deep", 8300)
    assert guest.ask(Kind.PACK, on_paths(folder)).fault is Fault.TOO_LARGE
    assert unpack(guest, b"", folder, clear=True).fault is None
    assert names(folder) == []


def test_nothing_at_all_clears(guest: RawGuest, folder: Path) -> None:
    make_deep(folder / "deep", 100)
    (folder / "file").touch()
    closed = folder / "closed"
    closed.mkdir()
    (closed / "file").touch()
    closed.chmod(0)
    answer = unpack(guest, b"", folder, clear=True)
    assert (answer.fault, answer.value) == (None, 0)
    assert names(folder) == []
    assert unpack(guest, b"", folder / "missing", clear=True).fault is None


def test_without_clear_what_is_there_stays(guest: RawGuest, folder: Path) -> None:
    (folder / "kept").write_text("kept")
    (folder / "replaced").symlink_to("kept")
    (folder / "sub").mkdir()
    (folder / "sub" / "kept").touch()
    (folder / "file").touch()
    made = archive(
        member(folder / "sub", tarfile.DIRTYPE, mode=0o700),
        (member(folder / "sub" / "new"), b"1"),
        (member(folder / "replaced"), b"2"),
        member(folder / "file", tarfile.DIRTYPE, mode=0o755),
    )
    assert unpack(guest, made, folder).fault is None
    assert (folder / "kept").read_text() == "kept"
    assert (folder / "replaced").read_text() == "2"
    assert not (folder / "replaced").is_symlink()
    assert (folder / "file").is_dir()
    assert names(folder / "sub") == ["kept", "new"]
    assert stat.S_IMODE((folder / "sub").stat().st_mode) == 0o700
    assert (folder / "sub").stat().st_mtime == 1_000_000_000


def test_a_user_gets_what_is_unpacked_for_it() -> None:
    require(os.getuid() == 0, "Another user's files can be tested by root only.")
    with raw_guest("--uid", "64999") as guest, in_memory() as folder:
        os.chown(folder, USER, USER)
        made = archive(
            member(folder / "a", tarfile.DIRTYPE, uid=1, gid=1, mode=0o2755),
            (member(folder / "a" / "file", uid=1, gid=1, mode=0o600), b"x"),
            member(folder / "a" / "link", tarfile.SYMTYPE, linkname="x", uid=1),
        )
        assert unpack(guest, made, folder, user=str(USER)).fault is None
        owners = {path.lstat().st_uid for path in folder.rglob("*")}
        assert owners == {USER}
        assert unpack(guest, made, folder, clear=True).fault is None
        assert {(p.lstat().st_uid, p.lstat().st_gid) for p in (folder / "a").glob("f*")} == {(1, 1)}
        assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o2755
        packed = pack(guest, folder)
        assert unpack(guest, packed, folder, clear=True).fault is None
        assert pack(guest, folder) == packed
        assert guest.ask(Kind.PACK, on_paths(folder, user=str(USER))).fault is Fault.SYSTEM
        assert unpack(guest, made, folder, user="no-such-user").fault is Fault.NO_USER
        secret = archive(member("/root/x"))
        assert unpack(guest, secret, Path("/root"), user=str(USER)).fault is Fault.SYSTEM


def test_packing_can_be_cancelled(guest: RawGuest, folder: Path) -> None:
    (folder / "large").write_bytes(bytes(20 << 20))
    asked = guest.begin(Kind.PACK, on_paths(folder))
    cancel = guest.begin(Kind.CANCEL, wire.U32.pack(asked))
    assert guest.answer(asked).fault in (Fault.CANCELLED, None)
    assert guest.answer(cancel).fault is None
    half = guest.begin(Kind.UNPACK, on_paths(folder, clear=False), [bytes(100)])
    cancel = guest.begin(Kind.CANCEL, wire.U32.pack(half))
    assert guest.answer(half).fault is Fault.CANCELLED


def test_files_that_move_meanwhile_do_not_stop_it(guest: RawGuest, folder: Path) -> None:
    for path in (folder / "a" / "moving" / "below" / "deep", folder / "b"):
        path.mkdir(parents=True)
    for path in (folder / "a" / "moving" / "below" / f"file {i}" for i in range(200)):
        path.touch()
    stop = threading.Event()

    def disturb() -> None:
        here, there = folder / "a" / "moving" / "below", folder / "b" / "below"
        odd = folder / "b" / "odd"
        while not stop.is_set():
            here.rename(there)
            odd.write_text("a file")
            there.rename(here)
            odd.unlink()
            odd.symlink_to("a link")
            odd.unlink()
            odd.mkdir()
            odd.rmdir()

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        for _ in range(300):
            assert name_in(folder / "a" / "moving") in read(pack(guest, folder))
    finally:
        stop.set()
        disturber.join()
