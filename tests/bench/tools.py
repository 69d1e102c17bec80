"""The tools environment: domains reset, hashed and stepped, and a thousand episodes at once.

The benchmark's airline domain is measured where its data lies in `../shared/data`, or in the
folder that `TAU2_DATA` names; our own domains everywhere. The floor is what the same domain costs
as plain data, and as the models that the reference implementation copies and hashes.
"""

import asyncio
import copy
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agentgym
from agentgym.tasks import load_tasks
from agentgym.types import Task, call
from agentgym_tools.domain import Domain
from agentgym_tools.domains import OWN, open_domain
from agentgym_tools.state import State
from agentgym_tools.tau2.airline_records import AirlineContent
from tests.bench.figures import Effort, Figure, Findings, Skipped

EPISODES = 1000
_ROOT = Path(__file__).parents[2]
_TAU2 = Path(os.environ.get("TAU2_DATA", _ROOT.parent / "shared" / "data" / "tau2"))
_ROUNDS = 200
_READ = call("get_user_details", user_id="mia_li_3668")


def measure(effort: Effort) -> Findings:
    """Wall time of each operation, and the memory of a crowd of episodes."""
    for name in OWN:
        yield from _domain(open_domain(name), effort)
    if (_TAU2 / "airline" / "db.json").is_file():
        airline = open_domain("airline", _TAU2 / "airline")
        yield from _domain(airline, effort)
        yield from _reference(airline, effort)
        yield from asyncio.run(_episode(effort))
    else:
        yield Skipped("airline", "tau2-bench's data is not here; TAU2_DATA names its folder")
    yield from _crowd(effort)


def _domain(domain: Domain, effort: Effort) -> Findings:
    name, rounds = domain.name, effort.of(_ROUNDS)
    collection = next(iter(domain.base.collections))
    key = next(iter(domain.base.collections[collection]))
    domain.base.digest  # noqa: B018 - hashed once in a process
    yield Figure(f"{name}: reset", "ms", _timed(lambda: domain.open(), rounds), aim=1.0)
    state = State(domain.base)

    def write() -> None:
        with state.edit(collection, key) as record:
            record["touched"] = True

    yield Figure(f"{name}: write of one record", "ms", _timed(write, rounds))
    yield Figure(f"{name}: hash after it", "ms", _timed(state.fingerprint, rounds), aim=0.2)
    yield Figure(f"{name}: snapshot", "ms", _timed(state.snapshot, rounds))
    snapshot = state.snapshot()
    yield Figure(f"{name}: restore", "ms", _timed(lambda: state.restore(snapshot), rounds))


def _reference(domain: Domain, effort: Effort) -> Findings:
    """The ways of plain data and of models, on the same content."""
    plain = State(domain.base).to_json()
    models = AirlineContent.model_validate(plain)
    few = min(effort.repetitions, 5)
    ways: dict[str, Callable[[], object]] = {
        "copy of plain data": lambda: copy.deepcopy(plain),
        "deep copy of models": lambda: models.model_copy(deep=True),
        "hash of all as JSON": lambda: _hashed(plain),
        "hash of all models": lambda: _hashed(models.model_dump()),
    }
    for name, run in ways.items():
        yield Figure(f"{domain.name}: {name}", "ms", _timed(run, few), kind="floor")


async def _episode(effort: Effort) -> list[Figure]:
    environment = agentgym.make("tools")
    task = load_tasks(agentgym.spec("tools"), str(_TAU2 / "airline")).tasks[3]
    await environment.reset(task, seed=0)
    rounds = effort.of(_ROUNDS)

    async def hashed() -> None:
        await environment.fingerprint()

    figures = [
        Figure("airline: environment reset", "ms", await _awaited(_reset(environment, task), 20)),
        Figure("airline: step, a read", "ms", await _awaited(_step(environment), rounds)),
        Figure("airline: environment fingerprint", "ms", await _awaited(hashed, rounds)),
    ]
    await environment.close()
    return figures


def _reset(environment: Any, task: Task[Any, Any]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await environment.reset(task, seed=0)

    return run


def _step(environment: Any) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await environment.step(_READ)

    return run


def _crowd(effort: Effort) -> Findings:
    episodes = effort.of(EPISODES)
    runs = [_played(episodes) for _ in range(min(effort.repetitions, 3))]
    what = f"{episodes} episodes at once in one process"
    yield Figure(f"{what}, peak memory", "MB", [run["peak"] for run in runs])
    yield Figure(f"{what}, memory before", "MB", [run["before"] for run in runs], kind="floor")
    yield Figure(f"{what}, CPU of a step", "ms", [run["step_ms"] for run in runs])


def _played(episodes: int) -> dict[str, float]:
    words = [sys.executable, "-m", "tests.bench.crowd", str(episodes)]
    done = subprocess.run(
        words, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _hashed(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _timed(run: Callable[[], object], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append((time.perf_counter() - started) * 1e3)
    return times


async def _awaited(run: Callable[[], Awaitable[None]], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        await run()
        times.append((time.perf_counter() - started) * 1e3)
    return times
