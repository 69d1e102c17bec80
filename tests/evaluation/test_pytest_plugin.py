"""The pytest plugin: found by pytest itself, and readable where an environment is broken."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgym import EnvSpec
from agentgym.evaluation.conformance import Report
from agentgym.registry import register

TASKS = {
    "taskset.toml": 'name = "core"\nenvironment = "door"\nlicence = "MIT"\n',
    "tasks.jsonl": '{"id": "one", "public": {"word": "Knock."}, "private": {}}\n',
}
ENVIRONMENT = """
import random
from agentgym import Reward, ToolEnvironment, tool

class Door(ToolEnvironment):
    def __init__(self, *, draught: bool = False) -> None:
        self.draught = draught

    async def setup(self):
        return f"{self.task.public.word} {random.random() if self.draught else ''}"

    @tool
    async def knock(self) -> str:
        '''Knock.'''
        return "Nobody is in."

    async def grade(self):
        return Reward()
"""
TESTS = """
from pathlib import Path
from agentgym import EnvSpec

SPEC = EnvSpec(
    name="door", entry_point="door:Door", description="Knock.", tasks_root=Path(__file__).parent
)

def test_sound(conformance):
    assert conformance(SPEC, sample=1).passed

def test_draughty(conformance):
    conformance(SPEC, draught=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "core").mkdir()
    for name, text in TASKS.items():
        (tmp_path / "core" / name).write_text(text)
    (tmp_path / "door.py").write_text(ENVIRONMENT)
    (tmp_path / "test_door.py").write_text(TESTS)
    return tmp_path


def test_a_broken_environment_fails_with_a_listing(project: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_door.py"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert "1 failed, 1 passed" in found.stdout
    assert "determinism.new_instance: An episode played again in a new instance is the same." in (
        found.stdout
    )
    assert "Traceback" not in found.stdout


async def test_it_works_inside_a_running_event_loop(
    project: Path, conformance: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(project)
    spec = EnvSpec(name="door", entry_point="door:Door", description="Knock.", tasks_root=project)
    monkeypatch.setattr("agentgym.registry._by_hand", {})
    register(spec)
    assert conformance("door", tasks=str(project / "core")).passed


def test_the_plugin_brings_nothing_heavy() -> None:
    heavy = ("jsonschema", "sqlalchemy", "aiohttp", "agentgym.evaluation.conformance")
    code = (
        "import sys, agentgym.evaluation.pytest_plugin\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.strip() == "[]"
