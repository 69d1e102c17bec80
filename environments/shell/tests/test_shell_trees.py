"""Files as values: read from an archive, compared where a check looks."""

import io
import tarfile
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import SandboxTransportError
from agentgym_shell.archives import NOW, read_tree, with_settled_times
from agentgym_shell.tasks import StateCheck
from agentgym_shell.trees import Entry, Tree, differences, tree_hash


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def file(content: str = "", mode: int = 0o644) -> Entry:
    return Entry("file", mode, content)


def test_every_kind_of_file_is_told_apart() -> None:
    tree = read_tree(
        archive(
            (member("work", tarfile.DIRTYPE, mode=0o755), b""),
            (member("work/a", mode=0o4755), b"one"),
            (member("work/b", tarfile.LNKTYPE, linkname="work/a"), b""),
            (member("work/c", tarfile.SYMTYPE, linkname="../etc/passwd"), b""),
            (member("work/d", tarfile.FIFOTYPE, mode=0o644), b""),
            (member("work/e", tarfile.CHRTYPE), b""),
        )
    )
    assert {path: entry.kind for path, entry in tree.items()} == {
        "/work": "folder",
        "/work/a": "file",
        "/work/b": "file",
        "/work/c": "link",
        "/work/d": "pipe",
        "/work/e": "other",
    }
    assert tree["/work/a"] == tree["/work/b"]
    assert tree["/work/a"].mode == 0o4755
    assert tree["/work/c"].content == "../etc/passwd"


def test_names_of_any_bytes_and_length_survive() -> None:
    name = "work/" + "d" * 200 + "/\udcff\n " + "f" * 200
    raw = archive((member(name), b"x"))
    assert set(read_tree(with_settled_times(raw))) == {f"/{name}"}


@given(st.binary(max_size=2000))
def test_what_is_no_archive_is_the_sandboxs_fault(raw: bytes) -> None:
    try:
        read_tree(raw)
    except SandboxTransportError:
        return


def test_an_archive_cut_off_is_the_sandboxs_fault() -> None:
    whole = archive((member("work/a"), b"x" * 5000))
    with pytest.raises(SandboxTransportError, match="broken archive"):
        read_tree(whole[:2000])


def test_times_after_the_beginning_are_settled() -> None:
    assert datetime.fromtimestamp(NOW, UTC).isoformat() == "2025-06-15T12:00:00+00:00"
    raw = archive(
        (member("work/old", mtime=86_400), b"1"), (member("work/new", mtime=NOW + 5), b"2")
    )
    with tarfile.open(fileobj=io.BytesIO(with_settled_times(raw))) as tar:
        assert {one.name: one.mtime for one in tar} == {"work/old": 86_400, "work/new": NOW}
    assert read_tree(with_settled_times(raw)) == read_tree(raw)


def test_a_hash_is_of_the_entries_in_any_order() -> None:
    tree: Tree = {"/work/a": file("1"), "/work/b": file("2")}
    assert tree_hash(tree) == tree_hash(dict(reversed(list(tree.items()))))
    assert tree_hash(tree) != tree_hash({**tree, "/work/a": file("1", 0o600)})
    assert tree_hash(tree) != tree_hash({**tree, "/work/c": file()})


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({}, "/work/a is missing"),
        ({"/work/a": file("2")}, "/work/a has other content"),
        ({"/work/a": file("1", 0o600)}, "/work/a has mode 600, not 644"),
        ({"/work/a": Entry("pipe", 0o644)}, "/work/a is a pipe, not a file"),
        ({"/work/a": Entry("link", 0, "b")}, "/work/a is a link, not a file"),
        ({"/work/a": file("1"), "/work/x": file()}, "/work/x should not be there"),
    ],
)
def test_each_difference_is_named(found: Tree, problem: str) -> None:
    assert differences(found, {"/work/a": file("1")}, StateCheck()) == [problem]


def test_a_link_elsewhere_is_a_difference() -> None:
    here, there = ({"/work/l": Entry("link", 0, target)} for target in ("a", "b"))
    assert differences(here, there, StateCheck()) == ["/work/l points to a"]


def test_a_check_looks_where_it_is_told_to() -> None:
    found: Tree = {
        "/work/out": Entry("folder", 0o755),
        "/work/out/a": file("1"),
        "/work/out/tmp": Entry("folder", 0o755),
        "/work/out/tmp/deep/x": file("9"),
        "/work/out/a.log": file("9"),
        "/work/output": file("9"),
        "/work/.bash_history": file("9"),
        "/work/.cache/x": file("9"),
        "/tmp/x": file("9"),
    }
    expected: Tree = {
        "/work/out": Entry("folder", 0o755),
        "/work/out/a": file("1"),
    }
    check = StateCheck(paths=("out",), ignore=("out/tmp", "*.log"))
    assert check.paths == ("/work/out",)
    assert differences(found, expected, check) == []
    assert differences(found, {}, StateCheck(ignore=("out", "*.log"))) == [
        "/work/output should not be there"
    ]


def test_permissions_count_unless_told_otherwise() -> None:
    found, expected = {"/work/a": file("1", 0o755)}, {"/work/a": file("1", 0o644)}
    assert differences(found, expected, StateCheck(modes=False)) == []
    assert differences(found, expected, StateCheck()) != []


def test_many_differences_are_counted() -> None:
    found = {f"/work/{number:03}": file() for number in range(100)}
    lines = differences(found, {}, StateCheck())
    assert len(lines) == 11
    assert lines[-1] == "and 90 more"


paths = st.sampled_from(["/work/a", "/work/b", "/work/c/d"])
trees = st.dictionaries(
    paths, st.builds(file, st.sampled_from("12"), st.sampled_from([0o644, 0o600]))
)


@given(trees, trees)
def test_there_is_no_difference_exactly_between_equal_trees(found: Tree, expected: Tree) -> None:
    assert (differences(found, expected, StateCheck()) == []) is (found == expected)
    assert (tree_hash(found) == tree_hash(expected)) is (found == expected)
