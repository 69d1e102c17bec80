"""Backends by name: agentgym's own, those of packages, and what is said where one is broken."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.errors import SandboxUnavailableError, UnknownNameError, UsageError
from agentgym.sandbox import SandboxBackend
from agentgym.sandbox.backends import backend_names, backend_type, default_backend, make_backend
from agentgym.sandbox.bubblewrap import BubblewrapBackend
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.process import ProcessBackend

GOOD = """
from agentgym.sandbox.process import ProcessBackend

class Backend(ProcessBackend):
    name = "good"

    def __init__(self, *, place: str = "here") -> None:
        super().__init__()
        self.place = place
"""
UNFINISHED = """
from agentgym.sandbox import SandboxBackend

class Backend(SandboxBackend):
    name = "unfinished"
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that packages can be laid into, on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def install(site: Path, package: str, name: str, source: str, value: str = "") -> None:
    """Lay an installed distribution with a backend into a folder, as pip would."""
    module = package.replace("-", "_")
    info = site / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    value = value or f"{module}:Backend"
    (info / "entry_points.txt").write_text(f"[agentgym.sandboxes]\n{name} = {value}\n")
    (site / f"{module}.py").write_text(source)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("docker", DockerBackend), ("bubblewrap", BubblewrapBackend), ("process", ProcessBackend)],
)
def test_agentgyms_own(name: str, kind: type[SandboxBackend]) -> None:
    assert name in backend_names()
    made = make_backend(name, run_id="run")
    assert type(made) is kind
    assert made.name == name


def test_a_wrong_name_or_option_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bubblewrap'"):
        make_backend("bubblewarp")
    with pytest.raises(UnknownNameError, match="Known: bubblewrap, docker, process"):
        backend_type("x")
    with pytest.raises(UnknownNameError, match="Did you mean 'run_id'"):
        make_backend("process", runid="x")


def test_a_packages_backend(site: Path) -> None:
    install(site, "good-box", "good", GOOD)
    assert "good" in backend_names()
    made = make_backend("good", place="there")
    assert isinstance(made, ProcessBackend)
    assert vars(made)["place"] == "there"
    with pytest.raises(UnknownNameError, match="Did you mean 'good'"):
        make_backend("goood")


@pytest.mark.parametrize(
    ("source", "value", "reason"),
    [
        ("import no_such_module_at_all", "", "ModuleNotFoundError: No module named"),
        ("raise SystemExit('no license')", "", "SystemExit: no license"),
        ("class Other: pass", "", "AttributeError"),
        ("class Backend: pass", "", "bad_box:Backend is not a SandboxBackend"),
        ("Backend = 7", "", "bad_box:Backend is not a SandboxBackend"),
        (UNFINISHED, "", "bad_box:Backend lacks check_available, close, list, reap, start"),
    ],
)
def test_a_broken_package_is_named(site: Path, source: str, value: str, reason: str) -> None:
    install(site, "bad-box", "bad", source, value)
    assert "bad" in backend_names()
    with pytest.raises(UsageError, match="'bad' of package bad-box is broken") as caught:
        make_backend("bad")
    assert reason in str(caught.value)
    assert "Mend or uninstall" in str(caught.value)
    assert make_backend("process").name == "process"


def test_agentgyms_own_cannot_be_replaced(site: Path) -> None:
    install(site, "bad-box", "bubblewrap", "raise RuntimeError")
    assert backend_type("bubblewrap") is BubblewrapBackend
    assert backend_names().count("bubblewrap") == 1


def test_two_packages_with_one_name_are_not_chosen_between(site: Path) -> None:
    install(site, "good-box", "good", GOOD)
    install(site, "other-box", "good", GOOD)
    with pytest.raises(UsageError, match="several packages: good-box, other-box"):
        backend_type("good")


async def test_without_an_engine_the_default_is_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    backend = await default_backend(run_id="run")
    assert isinstance(backend, BubblewrapBackend)
    await backend.close()


async def test_with_an_engine_the_default_is_docker(docker_engine: None) -> None:
    backend = await default_backend()
    assert isinstance(backend, DockerBackend)
    await backend.close()


async def test_where_nothing_works_it_is_said_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError) as caught:
        await default_backend()
    said = str(caught.value)
    assert "docker: There is no Docker engine" in said
    assert "bubblewrap: bubblewrap is not installed" in said
