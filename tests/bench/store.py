"""What keeping an episode costs: CPU of the write and bytes on the disk."""

import time
from collections.abc import Sequence
from pathlib import Path

from agentgym.rollout.plan import Plan
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.bench import ledger
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.playing import ledger_plan, play, scratch

EPISODES = 1000
_TOGETHER = 16


def measure(effort: Effort) -> Findings:
    """Save recorded episodes of 5 short turns, and look at the file."""
    plan = ledger_plan(ledger.InstantAgent(), effort.of(EPISODES))
    with scratch() as folder, TrajectoryStore.open(folder / "runs.db") as store:
        play(plan, store)
        episodes = list(store.trajectories(plan.run_id))
    together, alone, sizes = [], [], []
    for _ in range(effort.repetitions):
        cpu_ms, size = _saved(plan, episodes, _TOGETHER)
        together.append(cpu_ms)
        sizes.append(size)
        alone.append(_saved(plan, episodes[: len(episodes) // 4], 1)[0])
    yield Figure(f"saving {_TOGETHER} episodes a commit, CPU an episode", "ms", together)
    yield Figure("saving 1 episode a commit, CPU an episode", "ms", alone)
    yield Figure("an episode of 5 short turns on the disk", "bytes", sizes, aim=3000)


def _saved(plan: Plan, episodes: Sequence[Trajectory], together: int) -> tuple[float, float]:
    """Return CPU milliseconds and bytes an episode, tables and write-ahead log included."""
    with scratch() as folder:
        with TrajectoryStore.open(folder / "runs.db") as store:
            store.create_run(plan.record())
            cpu = time.process_time()
            for start in range(0, len(episodes), together):
                store.save(episodes[start : start + together])
            spent = time.process_time() - cpu
        # Closing the last connection moved the log into the file.
        return spent * 1e3 / len(episodes), _bytes_in(folder) / len(episodes)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
