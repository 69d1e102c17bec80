"""One run in a fresh process, which prints the memory it took; `memory` starts it.

`python -m tests.bench.footprint ENV EPISODES` plays the ledger or the SQL environment.
"""

import asyncio
import json
import resource
import sys
from itertools import count
from pathlib import Path

from agentgym.agents.baselines import OracleAgent
from agentgym.registry import spec
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.tasks import load_tasks
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.bench import ledger
from tests.bench.playing import ledger_plan, scratch

CONCURRENCY = 50
_EVERY = 10  # episodes between two looks at the children


def main(env: str, episodes: int) -> None:
    """Play and print one JSON object: memory in MB, and CPU."""
    made = _sql_plan(episodes) if env == "sql" else _ledger_plan(episodes)
    before = own_memory("VmRSS")
    children: list[tuple[float, int]] = [(0.0, 0)]
    seen = count(1)

    def look(_: Trajectory) -> None:
        if next(seen) % _EVERY == 0:
            children.append(children_memory())

    with scratch() as folder, TrajectoryStore.open(folder / "runs.db") as store:
        engine = Engine(made, store, on_episode=look)
        engine.open()
        cpu = _cpu_s()
        asyncio.run(engine.run())
    most, processes = max(children)
    found = {
        "before": before,
        "peak": own_memory("VmHWM"),
        "children": most,
        "processes": processes,
        "cpu_ms": (_cpu_s() - cpu) * 1e3 / episodes,
    }
    sys.stdout.write(json.dumps(found))


def own_memory(field: str) -> float:
    """Return a line of this process's status, in MB.

    The high-water mark is read here and not by getrusage, whose maximum a process inherits
    from the one that started it.
    """
    return _field(Path("/proc/self/status"), field)


def children_memory() -> tuple[float, int]:
    """Return the memory of the children together, in MB, and their number.

    A page that several share counts once (the proportional set size).
    """
    pids = {
        int(pid)
        for listed in Path("/proc/self/task").glob("*/children")
        for pid in listed.read_text().split()
    }
    sizes = [_field(Path(f"/proc/{pid}/smaps_rollup"), "Pss") for pid in pids]
    return sum(sizes), len(sizes)


def _cpu_s() -> float:
    """Return CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _field(path: Path, name: str) -> float:
    try:
        lines = path.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return 0.0
    found = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return float(next(found, 0)) * 1024 / 1e6  # the kernel writes kB of 1024 bytes


def _ledger_plan(episodes: int) -> Plan:
    return ledger_plan(ledger.InstantAgent(), episodes, concurrency=CONCURRENCY)


def _sql_plan(episodes: int) -> Plan:
    env_spec = spec("sql")
    tasks = load_tasks(env_spec).select(limit=episodes)
    return Plan(
        env_spec=env_spec,
        tasks=tasks,
        agent=OracleAgent(env_spec),
        epochs=-(-episodes // len(tasks)),
        concurrency=CONCURRENCY,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
