"""The same tasks on PostgreSQL and MariaDB: the same grades as on SQLite."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentgym import call, load_tasks, spec
from agentgym_sql.env import SqlEnvironment
from agentgym_sql.oracle import oracle

TASKS = load_tasks(spec("sql")).tasks


@pytest.fixture
async def env(server: Any) -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment(url=server.url, variants=0)
    yield made
    await made.close()


async def play_oracle(env: SqlEnvironment, task: Any) -> float:
    plan = oracle(task, await env.reset(task, seed=0))
    transition = await env.step(next(plan))
    while not transition.over:
        assert not transition.observation.faults, transition.observation.text
        transition = await env.step(plan.send(transition.observation))
    return transition.reward.value


async def test_the_oracle_scores(env: SqlEnvironment) -> None:
    wrong = [task.id for task in TASKS[::12] if await play_oracle(env, task) != 1]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("db", ["shop", "library", "clinic", "rail"])
async def test_the_oracle_scores_on_every_task(env: SqlEnvironment, db: str) -> None:
    tasks = [task for task in TASKS if task.public.db == db]
    wrong = [task.id for task in tasks if await play_oracle(env, task) != 1]
    assert wrong == []


async def test_a_wrong_answer_does_not(env: SqlEnvironment) -> None:
    for kind in ("query", "mutation"):
        task = next(task for task in TASKS if task.public.kind == kind)
        await env.reset(task, seed=0)
        submitted = {"query": "SELECT 1"} if kind == "query" else {}
        assert (await env.step(call("submit", **submitted))).reward.value == 0


async def test_the_agent_is_told_the_engine_and_its_mistakes(
    env: SqlEnvironment, server: Any
) -> None:
    observation = await env.reset(TASKS[0], seed=0)
    engine = "PostgreSQL" if server.url.startswith("postgresql") else "MariaDB"
    assert f"({engine})" in observation.text
    wrong = (await env.step(call("execute", sql="SELECT nosuch FROM products"))).observation
    assert wrong.faults == ("failed",)
    assert "nosuch" in wrong.text
    refused = (await env.step(call("execute", sql="DELETE FROM products"))).observation
    assert refused.faults == ("failed",)


async def test_snapshots_go_back(env: SqlEnvironment) -> None:
    task = next(task for task in TASKS if task.public.kind == "mutation")
    await env.reset(task, seed=0)
    fresh = await env.fingerprint()
    await env.step(call("execute", sql="DELETE FROM reviews"))
    snapshot, changed = await env.snapshot(), await env.fingerprint()
    assert changed != fresh
    await env.step(call("execute", sql="DELETE FROM stock_moves"))
    await env.restore(snapshot)
    assert await env.fingerprint() == changed
    await env.reset(task, seed=0)
    assert await env.fingerprint() == fresh
