"""The engine's own cost: an agent and an environment that take no time, in this process."""

import asyncio
import time

from agentgym.trajectories.store import TrajectoryStore
from tests.bench import ledger
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.playing import Spent, ledger_plan, play, scratch

EPISODES = 400


def measure(effort: Effort) -> Findings:
    """CPU a turn with the engine and the store, and without them."""
    episodes = effort.of(EPISODES)
    _played(10)
    played: list[Spent] = []
    floor: list[float] = []
    for _ in range(effort.repetitions):
        played.append(_played(episodes))
        floor.append(asyncio.run(_bare(episodes)))
    yield Figure("engine and store, CPU a turn", "ms", [p.cpu_ms for p in played], aim=1.0)
    yield Figure("bare loop of reset and step, CPU a turn", "ms", floor, kind="floor")
    yield Figure("episodes of 5 turns", "1/s", [p.episodes_per_s for p in played])


def _played(episodes: int) -> Spent:
    with scratch() as folder, TrajectoryStore.open(folder / "runs.db") as store:
        return play(ledger_plan(ledger.InstantAgent(), episodes), store)


async def _bare(episodes: int) -> float:
    environment = ledger.LedgerEnvironment()
    tasks = ledger.task_set(episodes)
    cpu = time.process_time()
    for task in tasks:
        await environment.reset(task, seed=0)
        for action in ledger.actions():
            await environment.step(action)
    return (time.process_time() - cpu) * 1e3 / (episodes * ledger.TURNS)
