"""The registry: what packages bring, what is registered by hand, what is broken."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

import agentgym
from agentgym import EnvSpec, registry
from agentgym.errors import MissingExtraError, UnknownNameError, UsageError
from agentgym.registry import make, oracle_of, register, registered, resolve, spec
from tests.environments import COUNTER, CounterEnvironment

GOOD_MODULE = """
from agentgym import EnvSpec
SPEC = EnvSpec(name="{name}", entry_point="{module}_env:Nothing", description="of {module}")
"""

REPORT = """
import json
import agentgym
found = agentgym.registered()
print(json.dumps({
    "specs": {name: spec.description for name, spec in found.specs.items()},
    "broken": {item.name: [item.package, item.reason] for item in found.broken},
}))
"""


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_hand", {})


def install(site: Path, package: str, entries: dict[str, str], source: str | None) -> None:
    """Lay an installed distribution into a folder, as pip would."""
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
    (info / "entry_points.txt").write_text(f"[agentgym.environments]\n{lines}\n")
    if source is not None:
        (site / f"{package.replace('-', '_')}.py").write_text(source)


def run_with(site: Path, program: str) -> str:
    paths = [str(site), str(Path(agentgym.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def test_a_broken_package_breaks_no_other_and_is_reported(tmp_path: Path) -> None:
    def good(name: str) -> str:
        return GOOD_MODULE.format(name=name, module=name)

    install(tmp_path, "good", {"good": "good:SPEC"}, good("good"))
    install(tmp_path, "raises", {"raises": "raises:SPEC"}, "raise RuntimeError('no licence')")
    install(tmp_path, "exits", {"exits": "exits:SPEC"}, "import sys; sys.exit('bye')")
    install(tmp_path, "syntax", {"syntax": "syntax:SPEC"}, "def (:")
    install(tmp_path, "absent", {"absent": "absent:SPEC"}, None)
    install(tmp_path, "empty", {"empty": "empty:SPEC"}, "")
    install(tmp_path, "number", {"number": "number:SPEC"}, "SPEC = 3")
    install(tmp_path, "garbled", {"garbled": "not an entry point"}, "")
    install(tmp_path, "misnamed", {"misnamed": "misnamed:SPEC"}, good("other"))
    install(tmp_path, "a-first", {"twice": "a_first:SPEC"}, good("twice"))
    install(tmp_path, "b-second", {"twice": "b_second:SPEC"}, good("twice"))

    found = json.loads(run_with(tmp_path, REPORT))
    assert found["specs"]["good"] == "of good"
    assert found["specs"]["twice"] == "of twice"
    assert "sql" in found["specs"]
    broken = found["broken"]
    assert set(broken) - set(found["specs"]) == {
        "raises",
        "exits",
        "syntax",
        "absent",
        "empty",
        "number",
        "garbled",
        "misnamed",
    }
    assert broken["raises"] == ["raises", "RuntimeError: no licence"]
    assert broken["exits"] == ["exits", "SystemExit: bye"]
    assert broken["syntax"][1].startswith("SyntaxError: ")
    assert broken["absent"] == ["absent", "ModuleNotFoundError: No module named 'absent'"]
    assert broken["number"] == ["number", "number:SPEC is not an EnvSpec"]
    assert broken["misnamed"] == ["misnamed", "its spec is named 'other'"]
    assert broken["twice"] == ["b-second", "another package has registered this name"]


def test_asking_for_a_broken_environment_says_why(tmp_path: Path) -> None:
    install(tmp_path, "raises", {"raises": "raises:SPEC"}, "raise RuntimeError('no licence')")
    program = """
import agentgym
try:
    agentgym.make("raises")
except agentgym.UsageError as error:
    print(error)
"""
    assert run_with(tmp_path, program) == (
        "Environment 'raises' of package raises is broken: RuntimeError: no licence. "
        "Mend or uninstall that package.\n"
    )


def test_an_environment_is_imported_only_when_it_is_made(tmp_path: Path) -> None:
    install(tmp_path, "lazy", {"lazy": "lazy:SPEC"}, GOOD_MODULE.format(name="lazy", module="lazy"))
    (tmp_path / "lazy_env.py").write_text("raise OSError('no display')")
    program = """
import agentgym
assert "lazy" in [spec.name for spec in agentgym.list()]
try:
    agentgym.make("lazy")
except agentgym.UsageError as error:
    print(error)
"""
    assert run_with(tmp_path, program) == (
        "Cannot import lazy_env:Nothing: OSError: no display. Mend the package it belongs to.\n"
    )


def test_environments_are_found_by_name_and_by_versioned_id() -> None:
    register(COUNTER)
    assert spec("test-counter") is COUNTER
    assert spec("test-counter-v1") is COUNTER
    assert isinstance(make("test-counter"), CounterEnvironment)
    made = make("test-counter-v1", start=4)
    assert isinstance(made, CounterEnvironment)
    assert made.start == 4


def test_the_same_name_again_replaces() -> None:
    register(COUNTER)
    newer = register(COUNTER.model_copy(update={"version": 2}))
    assert spec("test-counter") is newer
    with pytest.raises(UsageError, match=r"'test-counter-v1' is not installed. 'test-counter-v2'"):
        spec("test-counter-v1")


def test_names_are_listed_in_order() -> None:
    for name in ("zeta", "alpha"):
        register(COUNTER.model_copy(update={"name": name}))
    names = [env_spec.name for env_spec in agentgym.list()]
    assert names == sorted(names)
    assert {"alpha", "zeta"} <= set(registered().specs)


def test_unknown_names_come_with_the_nearest() -> None:
    register(COUNTER)
    with pytest.raises(UnknownNameError, match=r"'test-countr'. Did you mean 'test-counter'"):
        make("test-countr")
    with pytest.raises(
        UnknownNameError,
        match=r"option of environment 'test-counter' 'strt'. Did you mean 'start'",
    ):
        make("test-counter", strt=1)
    with pytest.raises(UnknownNameError, match="Known: "):
        make("qqqqqqqq")


@pytest.mark.parametrize(
    ("entry_point", "problem"),
    [
        ("tests.environments:Breakage", "Breakage of 'test-counter' is not an Environment"),
        ("tests.environments:counter_task", "is not an Environment"),
        ("tests.environments:Absent", "Cannot import tests.environments:Absent"),
        ("tests.absent:Absent", "No module named 'tests.absent'"),
    ],
)
def test_an_entry_point_has_to_name_an_environment(entry_point: str, problem: str) -> None:
    register(COUNTER.model_copy(update={"entry_point": entry_point}))
    with pytest.raises(UsageError, match=problem):
        make("test-counter")


def test_an_error_of_agentgym_at_import_keeps_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from agentgym.errors import MissingExtraError\nraise MissingExtraError('It', 'llm')"
    (tmp_path / "needs_extra.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingExtraError, match="pip install"):
        resolve("needs_extra:Thing")


def test_oracles_are_optional() -> None:
    assert oracle_of(COUNTER).__name__ == "counter_oracle"
    with pytest.raises(UsageError, match="'test-counter' has no oracle"):
        oracle_of(COUNTER.model_copy(update={"oracle": None}))


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "Upper"},
        {"name": "two words"},
        {"entry_point": "no_class"},
        {"version": 0},
        {"capabilities": ["flight"]},
        {"unknown": 1},
    ],
)
def test_malformed_specs_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        EnvSpec.model_validate({**COUNTER.model_dump(), **fields})


def test_task_sets_are_the_folders_with_a_toml(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "taskset.toml").touch()
    (tmp_path / "none").mkdir()
    rooted = COUNTER.model_copy(update={"tasks_root": tmp_path})
    assert list(rooted.task_set_paths().items()) == [("a", tmp_path / "a"), ("b", tmp_path / "b")]
    assert COUNTER.task_set_paths() == {}
