"""What the README and the docs show works as it is written."""

import ast
import importlib
import inspect
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from agentgym import load_tasks
from agentgym.cli.main import app
from agentgym.evaluation.conformance import check_environment

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "sandboxes/README.md", "examples/train_vllm.md"]
PAGES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))

AROUND_THE_CLASS = """
from agentgym import Reward, ToolEnvironment, ToolError, tool
from agentgym.types import Frozen

class CounterPublic(Frozen):
    question: str

class CounterPrivate(Frozen):
    target: int

"""
AROUND_THE_SPEC = """
from pathlib import Path
from agentgym import EnvSpec

"""
ORACLE = """
from agentgym import call

def oracle(task, observation):
    yield call("add", amount=task.private.target)
    yield call("stop")
"""
TASK_SET = 'name = "core"\nenvironment = "counter"\nlicence = "MIT"\n'


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    """The `agentgym` commands of a page's terminal sessions, without what is before and after."""
    sessions = "\n".join(blocks(page, "console")).replace("\\\n", " ")
    return re.findall(r"(?:^|[\s/])agentgym ([^#&|\n]*)", sessions)


async def test_the_readme_plays_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = blocks("README.md", "python")
    code = compile(source, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    playing = eval(code, {})
    assert inspect.isawaitable(playing)
    await playing
    assert capsys.readouterr().out.endswith("0.0 False\n")


def test_the_readme_shows_commands() -> None:
    assert len(commands("README.md")) > 5
    assert len(commands("docs/mcp.md")) > 2


@pytest.mark.parametrize("page", PAGES)
def test_a_command_that_is_shown_exists(page: str) -> None:
    for command in commands(page):
        known: Any = get_command(app)
        words = shlex.split(command)
        while hasattr(known, "commands"):  # a group
            known = known.commands[words.pop(0)]
        options = {option for parameter in known.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, command


async def test_the_environment_that_is_shown_keeps_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, spec = blocks("docs/environments.md", "python")
    package = tmp_path / "agentgym_counter"
    (package / "tasks" / "core").mkdir(parents=True)
    (package / "env.py").write_text(AROUND_THE_CLASS + environment)
    (package / "__init__.py").write_text(AROUND_THE_SPEC + spec)
    (package / "oracle.py").write_text(ORACLE)
    (package / "tasks/core/taskset.toml").write_text(TASK_SET)
    tasks = [
        {"id": f"to-{n}", "public": {"question": f"Count to {n}."}, "private": {"target": n}}
        for n in (7, 9)
    ]
    (package / "tasks/core/tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("agentgym_counter").SPEC
    report = await check_environment(found, load_tasks(found))
    assert report.passed, report.listing()
