"""Carrying out plans in a terminal: progress, Ctrl-C that drains, and the results' table."""

import asyncio
import contextlib
import resource
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import typer
from sqlalchemy import make_url

from agentgym.cli.output import print_table, print_text
from agentgym.evaluation.metrics import RunResult, summarise
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.trajectories.record import Trajectory
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
    async with contextlib.AsyncExitStack() as stack:
        for plan in plans:
            stack.push_async_callback(plan.agent.close)
        # What cannot work is found out before there is a run in the store.
        for plan in plans:
            await plan.environment().close()
            await plan.agent.check()
        for plan in plans:
            started, cpu = time.perf_counter(), _cpu_seconds()
            with _progress(plan, quiet=quiet) as bar:
                engine = Engine(plan, store, on_episode=bar.episode)
                bar.start(engine.open(resume=resume))
                with _draining(engine, run_id):
                    await engine.run()
            result = summarise(store.get_run(plan.run_id), store.summaries(plan.run_id))
            timed = {"wall_s": time.perf_counter() - started, "cpu_s": _cpu_seconds() - cpu}
            results.append(result.model_copy(update=timed))
            missing = result.scored < result.planned or len(results) < len(plans)
            if engine.draining and missing:
                return CarriedOut(results, interrupted=True)
    return CarriedOut(results, interrupted=False)


def first_error(store: TrajectoryStore, results: Sequence[RunResult]) -> str | None:
    """Return what broke the first episode that ended in an error; None where none did."""
    for result in results:
        for row in store.summaries(result.run_id):
            if row.status == "error":
                return store.get(result.run_id, row.key).faults[-1].message
    return None


@contextlib.contextmanager
def _draining(engine: Engine, run_id: str) -> Iterator[None]:
    """Let the first Ctrl-C drain the engine, and the second one stop at once."""

    def interrupt() -> None:
        if engine.draining:
            raise KeyboardInterrupt
        engine.drain()
        typer.echo(
            "\nFinishing the episodes in flight; Ctrl-C again stops at once. Go on later with "
            f"--run-id {shlex.quote(run_id)} --resume",
            err=True,
        )

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class _Bar:
    """Counts episodes; draws where there is a terminal to draw on."""

    def __init__(self, plan: Plan) -> None:
        self._total = len(plan.tasks) * plan.epochs

    def start(self, missing: int) -> None:
        """Take note of how many episodes are to come."""

    def episode(self, trajectory: Trajectory) -> None:
        """Take note of a finished episode."""


class _DrawnBar(_Bar):
    def __init__(self, plan: Plan) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        super().__init__(plan)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self.progress.add_task(plan.agent.name, total=self._total, rate="")
        self._started = time.perf_counter()
        self._done = 0
        self._scores: list[float] = []

    def start(self, missing: int) -> None:
        self.progress.update(self._task, completed=self._total - missing)

    def episode(self, trajectory: Trajectory) -> None:
        self._done += 1
        if trajectory.grade is not None:
            self._scores.append(trajectory.grade.value)
        rate = self._done / (time.perf_counter() - self._started)
        mean = sum(self._scores) / len(self._scores) if self._scores else 0.0
        self.progress.update(self._task, advance=1, rate=f"{rate:.1f}/s  mean {mean:.3f}")


@contextlib.contextmanager
def _progress(plan: Plan, *, quiet: bool) -> Iterator[_Bar]:
    if quiet or not sys.stderr.isatty():
        yield _Bar(plan)
        return
    bar = _DrawnBar(plan)
    with bar.progress:
        yield bar


def report(summaries: Sequence[RunResult], *, store: str | None) -> None:
    """Print what runs came to as a table, and how to look closer."""
    rows = [
        (
            summary.agent,
            summary.tasks,
            f"{summary.scored}/{summary.planned}",
            with_error(summary.mean_reward, summary.stderr),
            with_error(summary.success_rate, summary.success_stderr),
            "-" if summary.turns is None else f"{summary.turns:.1f}",
            summary.errors,
            summary.limits,
            "-" if summary.wall_s is None else f"{summary.wall_s:.1f}",
        )
        for summary in summaries
    ]
    columns = ("agent", "tasks", "scored", "mean reward", "success", "turns", "errors", "limits")
    print_table((*columns, "seconds"), rows)
    where = f" --store {shlex.quote(without_password(store))}" if store else ""
    for summary in summaries:
        print_text(f"Look closer: agentgym show {shlex.quote(summary.run_id)}{where}")


def without_password(store: str) -> str:
    """Return a store's URL as it may be printed."""
    return make_url(store).render_as_string() if "://" in store else store


def with_error(mean: float | None, stderr: float | None) -> str:
    """Return a mean with its standard error, as a person reads it."""
    if mean is None:
        return "-"
    return f"{mean:.3f}" if stderr is None else f"{mean:.3f} ± {stderr:.3f}"


def _cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
