"""Carrying out plans in a terminal: one run after the other, and Ctrl-C that drains."""

import asyncio
import resource
import shlex
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import NamedTuple

from agentgym.cli.progress import Progress, make_progress
from agentgym.evaluation.metrics import RunResult, summarise
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.trajectories.store import TrajectoryStore


class CarriedOut(NamedTuple):
    """What became of some plans.

    Attributes:
        results: What each run came to, those that were begun.
        interrupted: Whether a Ctrl-C left something unplayed.
    """

    results: list[RunResult]
    interrupted: bool


def carry_out(
    plans: Sequence[Plan], store: TrajectoryStore, *, run_id: str, resume: bool, quiet: bool
) -> CarriedOut:
    """Play what is missing of runs, one after the other.

    The first Ctrl-C lets the episodes in flight finish; a second one stops at once.

    Args:
        plans: The runs.
        store: Where trajectories go.
        run_id: What the person calls these runs together, to go on with them.
        resume: Whether runs that exist are gone on with.
        quiet: Whether nothing is drawn.

    Raises:
        UsageError: One of them cannot be played; nothing was.
    """
    return asyncio.run(_carry_out(plans, store, run_id, resume=resume, quiet=quiet))


async def _carry_out(
    plans: Sequence[Plan], store: TrajectoryStore, run_id: str, *, resume: bool, quiet: bool
) -> CarriedOut:
    results: list[RunResult] = []
    async with AsyncExitStack() as stack:
        for plan in plans:
            stack.push_async_callback(plan.agent.close)
        # What cannot work is found out before anything is in the store.
        for plan in plans:
            await plan.environment().close()
            await plan.agent.check()
        runs = [_open(plan, store, resume=resume, quiet=quiet) for plan in plans]
        for run in runs:
            result = await _play(run, store, run_id)
            results.append(result)
            unplayed = result.scored < result.planned or len(results) < len(runs)
            if run.engine.draining and unplayed:
                return CarriedOut(results, interrupted=True)
    return CarriedOut(results, interrupted=False)


class _Run(NamedTuple):
    plan: Plan
    engine: Engine
    bar: Progress
    missing: int


def _open(plan: Plan, store: TrajectoryStore, *, resume: bool, quiet: bool) -> _Run:
    bar = make_progress(plan, quiet=quiet)
    engine = Engine(plan, store, on_episode=bar.episode)
    return _Run(plan, engine, bar, engine.open(resume=resume))


async def _play(run: _Run, store: TrajectoryStore, run_id: str) -> RunResult:
    started, cpu = time.perf_counter(), _cpu_seconds()
    with run.bar.shown(run.missing), _draining(run.engine, run.bar, run_id):
        await run.engine.run()
    result = summarise(store.get_run(run.plan.run_id), store.summaries(run.plan.run_id))
    timed = {"wall_s": time.perf_counter() - started, "cpu_s": _cpu_seconds() - cpu}
    return result.model_copy(update=timed)


def first_error(store: TrajectoryStore, results: Sequence[RunResult]) -> str | None:
    """Return what broke the first episode that ended in an error; None where none did."""
    for result in results:
        for row in store.summaries(result.run_id):
            if row.status == "error":
                return store.get(result.run_id, row.key).faults[-1].message
    return None


@contextmanager
def _draining(engine: Engine, bar: Progress, run_id: str) -> Iterator[None]:
    """Let the first Ctrl-C drain the engine, and the second one stop at once."""

    def interrupt() -> None:
        if engine.draining:
            raise KeyboardInterrupt
        engine.drain()
        bar.say(
            "\nFinishing the episodes in flight; Ctrl-C again stops at once. Go on later with "
            f"--run-id {shlex.quote(run_id)} --resume"
        )

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
