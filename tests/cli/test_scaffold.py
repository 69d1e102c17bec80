"""`agentgym new`: what it writes installs, registers and passes the conformance suite untouched."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.cli.scaffold import create_environment
from agentgym.errors import UsageError

ROOT = Path(__file__).parents[2]
NAME = "tea-room"
LONGEST = "a-room-with-quite-a-good-views"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command in a clean environment and return what it printed."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYTHON"))}
    found = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env=clean,
    )
    assert found.returncode == 0, f"{command}\n{found.stdout}\n{found.stderr}"
    return found.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_environment(NAME, tmp_path_factory.mktemp("new"))[0].parent


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new virtual environment that sees this one's packages."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    ours = sysconfig.get_path("purelib")
    theirs = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(theirs, "outer.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    return folder / "bin" / "python"


def install(python: Path, *what: str | Path) -> None:
    run(
        *(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"),
        *("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"),
        *("--force-reinstall", *what),
    )


@pytest.mark.parametrize("how", ["editable", "wheel"])
def test_it_installs_registers_and_passes_untouched(
    package: Path, python: Path, tmp_path: Path, how: str
) -> None:
    install(python, *(["-e"] if how == "editable" else []), package)

    shown = json.loads(run(*_command(python, "info", NAME, "--json"), cwd=tmp_path))
    assert shown["task_sets"][0]["splits"] == {"train": 3, "test": 3}
    report = json.loads(run(*_command(python, "check", NAME, "--json"), cwd=tmp_path))
    assert report["passed"]
    assert set(report["counts"]) == {"passed"}
    tested = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", package / "tests")
    assert "2 passed" in tested


def _command(python: Path, *arguments: str) -> tuple[str | Path, ...]:
    return (python, "-c", "from agentgym.cli.main import main; main()", *arguments)


@pytest.mark.parametrize("config", [[], ["--config", str(ROOT / "pyproject.toml")]])
@pytest.mark.parametrize("name", ["a", "my-env", LONGEST])
def test_it_is_clean_for_ruff(name: str, tmp_path: Path, config: list[str]) -> None:
    package = create_environment(name, tmp_path)[0].parent
    ruff = Path(sysconfig.get_path("scripts"), "ruff")
    run(ruff, "check", "--no-cache", *config, ".", cwd=package)
    run(ruff, "format", "--no-cache", "--check", *config, ".", cwd=package)


def test_it_is_clean_for_mypy(package: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "mypy", "--cache-dir", tmp_path, ".", cwd=package)


def test_two_packages_have_canaries_of_their_own(tmp_path: Path) -> None:
    canaries = set()
    for name in ("one", "two"):
        root = create_environment(name, tmp_path)[0].parent
        core = root / f"agentgym_{name}" / "tasks" / "core"
        canary = tomllib.loads((core / "taskset.toml").read_text())["canary"]
        lines = (core / "tasks.jsonl").read_text().splitlines()
        assert {json.loads(line)["canary"] for line in lines} == {canary}
        canaries.add(canary)
    assert len(canaries) == 2


def test_the_files_are_returned_pyproject_first(tmp_path: Path) -> None:
    files = create_environment("a-b2", tmp_path / "deep" / "down")
    assert files[0] == tmp_path / "deep" / "down" / "agentgym-a-b2" / "pyproject.toml"
    assert all(path.is_file() for path in files)
    assert (files[0].parent / "agentgym_a_b2" / "env.py") in files


@pytest.mark.parametrize(
    "name",
    [
        "",
        "My-Env",
        "my_env",
        "2cold",
        "-a",
        "a-",
        "a--b",
        "ünï",
        "a b",
        "../up",
        f"{LONGEST}s",
        "a\n",
    ],
)
def test_a_name_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be an environment's name"):
        create_environment(name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["class", "import", "match"])
def test_a_word_of_python_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="word of Python"):
        create_environment(name, tmp_path)


@pytest.mark.parametrize("name", ["sql", "core"])
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already"):
        create_environment(name, tmp_path)


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "agentgym-mine").mkdir()
    with pytest.raises(UsageError, match="already there"):
        create_environment("mine", tmp_path)
    assert not list((tmp_path / "agentgym-mine").iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        create_environment("mine", tmp_path / "file")


@settings(max_examples=25)
@given(name=st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,9}){0,2}", fullmatch=True))
def test_every_allowed_name_gives_python_that_compiles(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        files = create_environment(name, tmp_path_factory.mktemp("any"))
    except UsageError:
        return
    for path in files:
        if path.suffix == ".py":
            compile(path.read_text(), str(path), "exec")
