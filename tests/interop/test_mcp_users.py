"""Tasks with users through MCP: an SDK client talks by `say` and makes the oracle's calls."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agentgym.registry import spec
from agentgym.tasks import load_tasks
from agentgym.types import Task
from tests.interop.mcp_rig import play_oracle, served_stdio, serving_http, stored, text_of

DOMAINS = ("clinic", "broadband")


def task_of(domain: str) -> Task[Any, Any]:
    return next(t for t in load_tasks(spec("tools")) if t.tags["domain"] == domain)


async def play(client: Client, task: Task[Any, Any]) -> None:
    answers = await play_oracle(client, "tools", task)
    assert len(answers) > 4
    assert not [text_of(answer) for answer in answers if answer.is_error]


def check(folder: Path) -> None:
    (kept,) = stored(folder, "served")
    assert (kept.outcome.status, kept.success) == ("completed", True), kept.grade
    assert any(turn.action.text for turn in kept.turns)
    assert any(turn.action.tool_calls for turn in kept.turns)


@pytest.mark.parametrize("domain", DOMAINS)
async def test_a_user_is_served_over_stdio(tmp_path: Path, domain: str) -> None:
    task = task_of(domain)
    words = ("tools", "--task", task.id, "--run-id", "served")
    async with served_stdio(tmp_path, *words) as (client, said):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[-1] == "say"
        assert "Policy" in (client.instructions or "")
        await play(client, task)
    assert "reward 1.000, completed" in said.read_text()
    check(tmp_path)


@pytest.mark.parametrize("domain", DOMAINS)
async def test_a_user_is_served_over_http(tmp_path: Path, domain: str) -> None:
    task = task_of(domain)
    words = ("tools", "--task", task.id, "--run-id", "served")
    with serving_http(tmp_path, *words) as (url, process):
        async with Client(url) as client:
            await play(client, task)
        _, err = process.communicate(timeout=60)
        assert "reward 1.000, completed" in err
    check(tmp_path)
