"""What a sandbox may be asked for."""

from typing import Any

import pytest

from agentgym.errors import UsageError
from agentgym.sandbox.spec import SandboxSpec, checked_path


@pytest.mark.parametrize(
    "fields",
    [
        {"privileged": True},
        {"cap_add": ["SYS_ADMIN"]},
        {"volumes": {"/": "/host"}},
        {"network": "host"},
        {"devices": ["/dev/sda"]},
        {"user": "root"},
        {"user": "0"},
        {"user": ""},
        {"user": "a b"},
        {"memory": 1},
        {"cpus": 0},
        {"pids": 0},
        {"timeout": 0},
        {"disk": 0},
        {"cwd": "work"},
        {"files": {"relative": "x"}},
        {"files": {"/a\0": "x"}},
        {"env": {"A=": "x"}},
        {"egress": ("http://host/",)},
        {"egress": ("ho st",)},
    ],
    ids=str,
)
def test_what_cannot_be_asked_for_is_refused_in_one_line(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        SandboxSpec.of(**fields)
    assert next(iter(fields)) in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_specs_are_values() -> None:
    one = SandboxSpec.of(files={"/work/a": "x"}, env={"A": "1"})
    assert one == SandboxSpec.of(files={"/work/a": "x"}, env={"A": "1"})
    assert one != SandboxSpec.of(files={"/work/a": "y"}, env={"A": "1"})


@pytest.mark.parametrize(
    ("path", "normal"),
    [("/", "/"), ("//a//b/./c/../d/", "/a/b/d"), ("/../x", "/x")],
)
def test_paths_have_one_form(path: str, normal: str) -> None:
    assert checked_path(path) == normal


@pytest.mark.parametrize("memory", [16 << 20, 64 << 20, 1 << 30])
def test_full_folders_leave_room_in_memory(memory: int) -> None:
    spec = SandboxSpec.of(memory=memory)
    assert 3 * spec.disk + 3 * spec.inodes * 1024 < memory
    with pytest.raises(UsageError, match="quarter"):
        SandboxSpec.of(memory=memory, disk=memory // 2)
    with pytest.raises(UsageError, match="inodes"):
        SandboxSpec.of(memory=memory, inodes=memory // 1024)


@pytest.mark.parametrize("user", ["00", "01", "4294967296", "0abc", "a\0", "agent;id", "+1", "-1"])
def test_users_that_cannot_be_are_refused(user: str) -> None:
    with pytest.raises(UsageError, match="user"):
        SandboxSpec.of(user=user)
