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
    assert next(iter(fields)) in str(caught.value)
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
