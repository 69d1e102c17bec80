"""Peak memory of 200 episodes at concurrency 50, each time in a fresh process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.figures import Effort, Figure, Findings, Skipped
from tests.bench.footprint import CONCURRENCY

EPISODES = 200
_ROOT = Path(__file__).parents[2]
_LIMIT_S = 120


def measure(effort: Effort) -> Findings:
    """Memory and CPU of the process itself and of its children."""
    if not Path("/proc/self/smaps_rollup").exists():
        yield Skipped("memory", "needs Linux's /proc")
        return
    episodes = effort.of(EPISODES)
    for env in ("ledger", "sql"):
        runs = [_run(env, episodes) for _ in range(min(effort.repetitions, 3))]
        what = f"{env}, {episodes} episodes at concurrency {CONCURRENCY}"
        yield Figure(f"{what}, peak", "MB", [run["peak"] for run in runs], aim=120)
        yield Figure(f"{env}, before the run", "MB", [run["before"] for run in runs], kind="floor")
        cpu = [run["cpu_ms"] for run in runs]
        yield Figure(f"{env}, CPU an episode, child processes included", "ms", cpu)
        if any(run["processes"] for run in runs):
            workers = [run["children"] for run in runs]
            yield Figure(f"{env}, its child processes together, peak", "MB", workers)
            count = [run["processes"] for run in runs]
            yield Figure(f"{env}, its child processes at that moment", "processes", count)


def _run(env: str, episodes: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.footprint", env, str(episodes)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_LIMIT_S,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
