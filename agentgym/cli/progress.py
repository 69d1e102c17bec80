"""The progress of a run: on a terminal a bar with rate and time left."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from agentgym.rollout.plan import Plan
from agentgym.trajectories.record import Trajectory


class Progress:
    """Where no terminal is: nothing is drawn."""

    @contextmanager
    def shown(self, missing: int) -> Iterator[None]:
        """Show the run inside the block, `missing` of whose episodes are to come."""
        yield

    def episode(self, trajectory: Trajectory) -> None:
        """Take note of a finished episode."""

    def say(self, text: str) -> None:
        """Tell the person something meanwhile."""
        typer.echo(text, err=True)


class _Bar(Progress):
    def __init__(self, plan: Plan) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("eta"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._total = len(plan.tasks) * plan.epochs
        self._task = self._bar.add_task(plan.agent.name, total=self._total, rate="", start=False)
        self._started = 0.0
        self._done = 0
        self._scores: list[float] = []

    @contextmanager
    def shown(self, missing: int) -> Iterator[None]:
        self._started = time.perf_counter()
        self._bar.update(self._task, completed=self._total - missing)
        self._bar.start_task(self._task)
        with self._bar:
            yield

    def episode(self, trajectory: Trajectory) -> None:
        self._done += 1
        if trajectory.grade is not None:
            self._scores.append(trajectory.grade.value)
        rate = self._done / (time.perf_counter() - self._started)
        mean = sum(self._scores) / len(self._scores) if self._scores else 0.0
        self._bar.update(self._task, advance=1, rate=f"{rate:.1f}/s  mean {mean:.3f}")

    def say(self, text: str) -> None:
        # Through the bar, which is then drawn again below the words.
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def make_progress(plan: Plan, *, quiet: bool) -> Progress:
    """Make the progress of a run.

    Args:
        plan: The run.
        quiet: Whether nothing is drawn; nor is it where standard error is no terminal.
    """
    return _Bar(plan) if sys.stderr.isatty() and not quiet else Progress()
