"""What a person is told while a training runs: each stage's result, and a line now and then."""

import time
from collections.abc import Callable, Mapping
from statistics import fmean

from agentgym.types import Json

Say = Callable[[str], None]
"""Takes a line for a person."""

_SHOWN = {"loss": "loss", "reward": "reward", "credit/success": "success"}
_RATE = "rollout/tokens_per_second"


class Progress:
    """Tells of one seed's training.

    Args:
        say: Takes the lines.
        seed: Stands before each.
        every_s: Seconds between two lines of a stage that is not over yet.
    """

    def __init__(self, say: Say, seed: int, *, every_s: float = 15.0) -> None:
        self._say = say
        self._seed = seed
        self._every_s = every_s
        self._told = time.monotonic()

    def tell(self, line: str) -> None:
        """Tell a line."""
        self._told = time.monotonic()
        self._say(f"seed {self._seed}, {line}")

    def now_and_then(self, line: Callable[[], str]) -> None:
        """Tell a line if the last one was a while ago."""
        if time.monotonic() - self._told >= self._every_s:
            self.tell(line())


class StepLines:
    """Lines about the steps of a trainer: means over the steps since the last line.

    Args:
        progress: Tells them.
        stage: What is carried out.
    """

    def __init__(self, progress: Progress, stage: str) -> None:
        self._progress = progress
        self._stage = stage
        self._since: list[Mapping[str, Json]] = []
        self._began = time.monotonic()

    def add(self, step: int, steps: int, values: Mapping[str, Json]) -> None:
        """Take note of a step.

        Args:
            step: Its number, from 1.
            steps: How many there are to be.
            values: What was measured.
        """
        self._since.append(values)
        self._progress.now_and_then(lambda: self._line(step, steps))

    def _line(self, step: int, steps: int) -> str:
        now = time.monotonic()
        seconds = (now - self._began) / len(self._since)
        told = [
            f"{shown} {fmean(found):.3f}"
            for name, shown in _SHOWN.items()
            if (found := [values[name] for values in self._since if name in values])
            and not (name == "loss" and "reward" in self._since[-1])  # GRPO's says nothing
        ]
        told.append(f"{seconds:.1f} s a step")
        if rates := [values[_RATE] for values in self._since if _RATE in values]:
            told.append(f"{fmean(rates):.0f} tokens/s")
        told.append(f"{_duration(seconds * (steps - step))} left")
        self._since, self._began = [], now
        return f"{self._stage} step {step} of {steps}: {', '.join(told)}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
