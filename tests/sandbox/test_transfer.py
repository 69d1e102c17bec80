"""Archives that come out of a sandbox are written with suspicion."""

import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from agentgym.sandbox.transfer import pack, unpack


def archive(*members: tuple[str, bytes, str | bytes]) -> io.BytesIO:
    """Make an archive of (name, type, content or link target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind, what in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o6755
            if isinstance(what, bytes):
                member.size = len(what)
                tar.addfile(member, io.BytesIO(what))
            else:
                member.linkname = what
                tar.addfile(member)
    buffer.seek(0)
    return buffer


FILE, FOLDER, SYMLINK, HARDLINK = b"0", b"5", b"2", b"1"
ROOT = ("work/d", FOLDER, "")


@pytest.mark.parametrize(
    "members",
    [
        [("work/d/../../x", FILE, b"x")],
        [("/etc/x", FILE, b"x")],
        [("work/other", FILE, b"x")],
        [("work/d/l", SYMLINK, "/etc/passwd")],
        [("work/d/l", SYMLINK, "..")],
        [("work/d/l", SYMLINK, "a/../../..")],
        [("work/d/s", FOLDER, ""), ("work/d/s/l", SYMLINK, "../../x")],
        [("work/d/l", SYMLINK, "."), ("work/d/l/x", FILE, b"x")],
        [("work/d/l", SYMLINK, "m"), ("work/d/l", FILE, b"x")],
        [("work/d/f", b"6", "")],
        [("work/d/c", b"3", "")],
        [("work/d/h", HARDLINK, "etc/passwd")],
        [("work/d/h", HARDLINK, "work/d/never")],
        [("work/d/l", SYMLINK, "m"), ("work/d/h", HARDLINK, "work/d/l")],
        [("work/d/missing/x", FILE, b"x")],
        [("work/d/a", FILE, b"x"), ("work/d/a", FILE, b"y")],
    ],
    ids=lambda members: " ".join(name for name, _, _ in members),
)
def test_what_leads_out_is_refused(
    members: list[tuple[str, bytes, str | bytes]], tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("untouched")
    with pytest.raises(OSError):
        unpack(archive(ROOT, *members), "/work/d", tmp_path / "in")
    assert (tmp_path / "outside").read_text() == "untouched"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "outside"]


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    unpack(
        archive(
            ROOT,
            ("work/d/s", FOLDER, ""),
            ("work/d/s/up", SYMLINK, "../file"),
            ("work/d/file", FILE, b"content"),
            ("work/d/hard", HARDLINK, "work/d/file"),
        ),
        "/work/d",
        target,
    )
    assert (target / "s/up").read_bytes() == b"content"
    assert (target / "file").samefile(target / "hard")
    assert stat.S_IMODE((target / "file").stat().st_mode) == 0o755


def test_a_file_and_its_mode(tmp_path: Path) -> None:
    unpack(archive(("work/f", FILE, b"abc")), "/work/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"abc"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o755


@pytest.mark.parametrize("content", [b"", b"no archive at all" * 100, b"\0" * 10240])
def test_no_archive_is_an_error(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(OSError):
        unpack(io.BytesIO(content), "/work/d", tmp_path / "x")


def test_an_archive_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    whole = archive(ROOT, ("work/d/a", FILE, b"x" * 5000)).getvalue()
    with pytest.raises(OSError):
        unpack(io.BytesIO(whole[:3000]), "/work/d", tmp_path / "x")


def test_a_host_s_folder_goes_and_comes_back(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / os.fsdecode(b"caf\xe9\n")).write_bytes(bytes(range(256)))
    (source / "link").symlink_to("inner")
    (source / "locked").mkdir(mode=0o500)
    with (tmp_path / "tar").open("w+b") as tar:
        pack(source, "/work/d", tar)
        unpack(tar, "/work/d", tmp_path / "copy")
    copy = tmp_path / "copy"
    assert (copy / "inner" / os.fsdecode(b"caf\xe9\n")).read_bytes() == bytes(range(256))
    assert (copy / "link").readlink() == Path("inner")
    assert stat.S_IMODE((copy / "locked").stat().st_mode) == 0o500


def test_a_host_s_pipe_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "pipe")
    with (tmp_path / "tar").open("w+b") as tar, pytest.raises(OSError, match="pipe"):
        pack(source, "/work/d", tar)
