"""Playing ledger episodes through the engine, measured."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agentgym.agents.base import Agent
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.trajectories.store import TrajectoryStore
from tests.bench import ledger

CONCURRENCY = 16


class Spent(NamedTuple):
    """What a run took, for each turn of its episodes.

    Attributes:
        cpu_ms: CPU milliseconds of this process a turn, all threads together.
        episodes_per_s: By the wall clock.
    """

    cpu_ms: float
    episodes_per_s: float


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        yield Path(folder)


def ledger_plan(agent: Agent, episodes: int, *, concurrency: int = CONCURRENCY) -> Plan:
    """Return a plan of ledger episodes."""
    return Plan(
        env_spec=ledger.spec(),
        tasks=ledger.task_set(episodes),
        agent=agent,
        concurrency=concurrency,
    )


def play(plan: Plan, store: TrajectoryStore) -> Spent:
    """Play a plan and return what it took.

    Raises:
        RuntimeError: An episode was not solved, so that the figure would mean nothing.
    """
    engine = Engine(plan, store)
    episodes = engine.open()
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(_run(engine, plan.agent))
    spent = time.process_time() - cpu
    rate = episodes / (time.perf_counter() - wall)
    summaries = store.summaries(plan.run_id)
    turns = sum(summary.turns for summary in summaries)
    unsolved = episodes - sum(summary.success is True for summary in summaries)
    if unsolved:
        raise RuntimeError(f"{unsolved} of {episodes} episodes were not solved.")
    return Spent(spent * 1e3 / turns, rate)


async def _run(engine: Engine, agent: Agent) -> None:
    try:
        await engine.run()
    finally:
        await agent.close()
