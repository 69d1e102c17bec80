"""Every example of playing runs as it stands, and so does its kind inside a loop that is running.

Examples of training take minutes and are type-checked alone.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import agentgym

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("play_*.py")), ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


async def test_an_environment_is_played_in_a_notebook() -> None:
    # A notebook's cells run inside a loop, where nothing may start another one in the thread.
    task = agentgym.load_tasks(agentgym.spec("sql")).tasks[0]
    with agentgym.SyncEnvironment(agentgym.make("sql")) as env:
        assert task.public.question in env.reset(task, seed=0).text
        last = env.step(agentgym.call("submit", query=task.private.gold))
    assert (last.terminated, last.reward.value) == (True, 1.0)
