"""Files through the guest: whatever they are, with the rights of whoever is named."""

import errno
import os
import shutil
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox import wire
from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.guest_rig import (
    Answer,
    RawGuest,
    in_memory,
    make_deep,
    names,
    on_path,
    raw_guest,
)
from tests.servers import require

EVERYTHING = struct.pack("<QQ", 0, 1 << 60)
USER = 64996


@pytest.fixture(scope="module")
def guest() -> Iterator[RawGuest]:
    with raw_guest() as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Iterator[RawGuest]:
    """A guest as it is in a container: a user of its own that may act as others."""
    require(os.getuid() == 0, "Other users' rights can be tested by root only.")
    with raw_guest("--uid", "64999") as running:
        yield running


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder that `USER` owns and can reach."""
    folder = Path(f"/var/tmp/agentgym-test-{os.getpid()}")
    folder.mkdir(mode=0o755)
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


def entries(data: bytes) -> dict[str, tuple[int, int, int, int, int, str]]:
    """Return entries by name: mode, uid, gid, size, mtime in nanoseconds, target."""
    found, offset = {}, 0
    while offset < len(data):
        fields = wire.STAT_FIELDS.unpack_from(data, offset)
        name, offset = wire.read_text(data, offset + wire.STAT_FIELDS.size)
        target, offset = wire.read_text(data, offset)
        assert name not in found
        found[name] = (*fields, target)
    return found


def failed(answer: Answer, number: int) -> bool:
    return (answer.fault, answer.errno) == (Fault.SYSTEM, number)


@pytest.mark.parametrize("size", [0, 1, 4095, 300_000, 100 << 20])
def test_content_comes_back_as_it_went(guest: RawGuest, tmp_path: Path, size: int) -> None:
    path, content = tmp_path / "a" / "b" / "file", os.urandom(size)
    parts = [content[at : at + (1 << 20)] for at in range(0, size, 1 << 20)]
    written = guest.ask(Kind.WRITE, on_path(path, wire.U32.pack(0o640)), [*parts, b""])
    assert (written.fault, written.value) == (None, size)
    assert path.read_bytes() == content
    assert (path.stat().st_mode, path.parent.stat().st_mode & 0o777) == (0o100640, 0o755)
    answer = guest.ask(Kind.READ, on_path(path, EVERYTHING))
    assert (answer.data, answer.value) == (content, size)


def test_a_part_can_be_read(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "digits"
    path.write_bytes(b"0123456789")
    answer = guest.ask(Kind.READ, on_path(path, struct.pack("<QQ", 3, 4)))
    assert (answer.data, answer.value) == (b"3456", 10)
    assert guest.ask(Kind.READ, on_path(path, struct.pack("<QQ", 1 << 63, 4))).data == b""
    assert guest.ask(Kind.READ, on_path(path, struct.pack("<QQ", 8, 0))).data == b""
    assert guest.ask(Kind.READ, on_path("/proc/version", EVERYTHING)).data != b""


def test_writing_replaces_all_and_sets_the_mode(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    path.chmod(0o600)
    guest.ask(Kind.WRITE, on_path(path, wire.U32.pack(0o755)), [b"new", b""])
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"new", 0o755)


@pytest.mark.parametrize("make", ["fifo", "socket", "device"])
def test_what_is_no_file_is_neither_read_nor_written(
    guest: RawGuest, tmp_path: Path, make: str
) -> None:
    path = tmp_path / "odd"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "socket":
        socket.socket(socket.AF_UNIX).bind(os.fspath(path))
    else:
        path = Path("/dev/zero")
    assert guest.ask(Kind.READ, on_path(path, EVERYTHING)).fault is Fault.NOT_REGULAR
    write = guest.ask(Kind.WRITE, on_path(path, wire.U32.pack(0o644)), [b"x", b""])
    assert write.fault is Fault.NOT_REGULAR


def test_a_pipe_that_is_read_is_not_written(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write = guest.ask(Kind.WRITE, on_path(path, wire.U32.pack(0o644)), [b"x", b""])
    assert write.fault is Fault.NOT_REGULAR
    os.close(reader)


def test_failures_are_the_systems(guest: RawGuest, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    missing, inside = tmp_path / "missing", tmp_path / "file" / "x"
    mode = wire.U32.pack(0o644)
    assert failed(guest.ask(Kind.READ, on_path(missing, EVERYTHING)), errno.ENOENT)
    assert failed(guest.ask(Kind.READ, on_path(tmp_path, EVERYTHING)), errno.EISDIR)
    assert failed(guest.ask(Kind.READ, on_path(inside, EVERYTHING)), errno.ENOTDIR)
    assert failed(guest.ask(Kind.WRITE, on_path(tmp_path, mode), [b"x", b""]), errno.EISDIR)
    assert failed(guest.ask(Kind.WRITE, on_path(inside, mode), [b"x", b""]), errno.ENOTDIR)
    assert failed(guest.ask(Kind.STAT, on_path(missing)), errno.ENOENT)
    assert failed(guest.ask(Kind.LIST, on_path(missing)), errno.ENOENT)
    assert failed(guest.ask(Kind.LIST, on_path(tmp_path / "file")), errno.ENOTDIR)
    assert failed(guest.ask(Kind.MAKE_DIR, on_path(tmp_path / "file", mode)), errno.EEXIST)
    assert failed(guest.ask(Kind.REMOVE, on_path(missing)), errno.ENOENT)
    assert failed(guest.ask(Kind.REMOVE, on_path("/")), errno.EINVAL)
    assert failed(guest.ask(Kind.STAT, on_path("/" + "x" * 5000)), errno.ENAMETOOLONG)
    assert guest.ask(Kind.STAT, on_path("/", user="no-such-user")).fault is Fault.NO_USER


def test_a_full_disk_is_a_failure(guest: RawGuest) -> None:
    answer = guest.ask(Kind.WRITE, on_path("/dev/full", wire.U32.pack(0o644)), [b"x", b""])
    assert answer.fault is Fault.NOT_REGULAR


def test_an_entry_tells_what_a_file_is(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to("wherever\n")
    os.utime(path, ns=(5, 1234567890123456789), follow_symlinks=False)
    [(name, entry)] = entries(guest.ask(Kind.STAT, on_path(path)).data).items()
    status = path.lstat()
    assert name == os.fspath(path)
    assert entry == (
        status.st_mode, status.st_uid, status.st_gid, 9, 1234567890123456789, "wherever\n"
    )  # fmt: skip


def test_a_listing_holds_every_name(guest: RawGuest, tmp_path: Path) -> None:
    names = {os.fsdecode(bytes([i])) for i in range(1, 256) if chr(i) not in "./"}
    names |= {f"long {i} " + "x" * 200 for i in range(3000)}
    for name in names:
        (tmp_path / name).touch()
    answer = guest.ask(Kind.LIST, on_path(tmp_path))
    assert set(entries(answer.data)) == names
    assert answer.value == len(names)
    assert guest.ask(Kind.LIST, on_path("/proc/self")).fault is None


def test_folders_are_made_with_those_above(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c"
    for mode in (0o1770, 0o700):  # the second finds it there and leaves it
        assert guest.ask(Kind.MAKE_DIR, on_path(path, wire.U32.pack(mode))).fault is None
        assert stat.S_IMODE(path.stat().st_mode) == 0o1770
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    (tmp_path / "link").symlink_to(path)
    made = guest.ask(Kind.MAKE_DIR, on_path(tmp_path / "link" / "d", wire.U32.pack(0o755)))
    assert made.fault is None
    assert (path / "d").is_dir()


def test_trees_are_removed_and_links_not_followed(guest: RawGuest, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    tree = tmp_path / "tree"
    for path in (tree / "x" / "y", tree / "z"):
        path.mkdir(parents=True)
        (path / "file").touch()
        (path / "link").symlink_to(kept)
    (tree / "x").chmod(0)
    assert guest.ask(Kind.REMOVE, on_path(tree)).fault is None
    (tmp_path / "link").symlink_to(kept)
    assert guest.ask(Kind.REMOVE, on_path(tmp_path / "link")).fault is None
    assert names(tmp_path) == ["kept"]
    assert (kept / "file").exists()


def test_a_tree_of_any_depth_is_removed(guest: RawGuest) -> None:
    with in_memory() as folder:
        make_deep(folder / "top", 10_000)
        assert guest.ask(Kind.REMOVE, on_path(folder / "top")).fault is None
        assert names(folder) == []


def test_a_request_can_be_cancelled(guest: RawGuest, tmp_path: Path) -> None:
    write = guest.begin(Kind.WRITE, on_path(tmp_path / "file", wire.U32.pack(0o644)), [b"abc"])
    cancel = guest.begin(Kind.CANCEL, wire.U32.pack(write))
    assert guest.answer(write).fault is Fault.CANCELLED
    assert guest.answer(cancel).fault is None
    read = guest.begin(Kind.READ, on_path("/proc/kcore", EVERYTHING))
    ask = guest.begin(Kind.CANCEL, wire.U32.pack(read))
    assert guest.answer(read).fault in (Fault.CANCELLED, Fault.SYSTEM)
    assert guest.answer(ask).fault is None


def test_a_small_request_is_answered_amid_a_large_one(guest: RawGuest, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    large = guest.begin(Kind.READ, on_path(path, EVERYTHING))
    small = guest.begin(Kind.PING)
    seen = 0
    while True:
        _, identity, payload = guest.receive()
        if identity == small:
            break
        seen += len(payload)
    assert seen < 20 << 20
    assert len(guest.answer(large).data) == (200 << 20) - seen


def test_files_belong_to_whom_they_are_written_for(other: RawGuest, shared: Path) -> None:
    path = shared / "a" / "file"
    write = on_path(path, wire.U32.pack(0o751), user=str(USER))
    assert other.ask(Kind.WRITE, write, [b"x", b""]).fault is None
    assert (path.stat().st_uid, path.stat().st_gid) == (USER, USER)
    assert path.parent.stat().st_uid == USER
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


@pytest.mark.parametrize("user", ["", str(USER)])
def test_nobody_named_has_more_than_its_own_rights(
    other: RawGuest, shared: Path, user: str
) -> None:
    secret = shared / "secret"
    secret.write_text("s")
    secret.chmod(0o600)
    os.chown(secret, 64995, 64995)
    shared.chmod(0o755)
    mode = wire.U32.pack(0o600)
    assert failed(other.ask(Kind.READ, on_path(secret, EVERYTHING, user=user)), errno.EACCES)
    assert failed(other.ask(Kind.WRITE, on_path(secret, mode, user=user), [b""]), errno.EACCES)
    assert failed(other.ask(Kind.READ, on_path("/proc/1/mem", EVERYTHING, user=user)), errno.EACCES)
    hidden = shared / "hidden"
    hidden.mkdir(mode=0o700)
    os.chown(hidden, 64995, 64995)
    assert failed(other.ask(Kind.STAT, on_path(hidden / "x", user=user)), errno.EACCES)
    assert failed(other.ask(Kind.LIST, on_path(hidden, user=user)), errno.EACCES)
    write = on_path(hidden / "x", mode, user=user)
    assert failed(other.ask(Kind.WRITE, write, [b""]), errno.EACCES)


def test_commands_are_their_user_with_its_groups_and_no_more(other: RawGuest) -> None:
    assert other.run(("id", "-u"), user=str(USER)).stdout == b"%d\n" % USER
    assert other.run(("id", "-G"), user=str(USER)).stdout == b"%d\n" % USER
    assert other.run(("id", "-un"), user="daemon").stdout == b"daemon\n"


@pytest.mark.parametrize(
    "user", ["root", "0", "00", "0abc", "4294967296", "4294967295", "-1", " 0"]
)
def test_nothing_is_done_as_root(other: RawGuest, user: str) -> None:
    assert other.run("id", user=user).stderr == b"cannot start: no such user\n"
    assert other.ask(Kind.STAT, on_path("/", user=user)).fault is Fault.NO_USER


def test_no_command_is_the_guests_user_or_reaches_it(other: RawGuest) -> None:
    pid = other.process.pid
    for user in ("", "64999"):
        assert other.run("true", user=user).code == 126
    attack = f"kill -9 {pid}; kill -STOP {pid}; cat /proc/{pid}/environ; cat /proc/{pid}/fd/*"
    assert other.run(attack, user=str(USER)).code != 0
    assert other.ask(Kind.PING).fault is None
