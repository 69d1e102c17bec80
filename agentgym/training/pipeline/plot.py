"""Curves of reward and of held-out success, with a band over seeds; needs matplotlib."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from agentgym.errors import MissingExtraError, UsageError
from agentgym.training.pipeline.report import SeedResult

_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""97.5 % quantiles of Student's t for 1 to 9 degrees of freedom."""

Curve = tuple[list[float], list[float], list[float]]
"""Steps, means and half widths of the band."""


def confidence(values: Sequence[float]) -> float:
    """Return the half width of the 95 % confidence interval of a mean; 0 for one value.

    Student's t up to ten values, the normal distribution beyond.
    """
    if len(values) < 2:
        return 0.0
    degrees = len(values) - 1
    quantile = _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else 1.96
    return quantile * stdev(values) / math.sqrt(len(values))


def smoothed(values: Sequence[float], width: int) -> list[float]:
    """Return the mean of each value and those before it, `width` at most."""
    return [fmean(values[max(0, end - width) : end]) for end in range(1, len(values) + 1)]


def reward_curve(results: Sequence[SeedResult], width: int = 10) -> Curve:
    """Return the mean over seeds of the training reward, each smoothed over some steps."""
    curves = [smoothed(result.rewards, width) for result in results if result.rewards]
    columns = list(zip(*curves, strict=False))
    steps = [float(step) for step in range(1, len(columns) + 1)]
    return steps, [fmean(column) for column in columns], [confidence(c) for c in columns]


def success_curve(results: Sequence[SeedResult]) -> Curve:
    """Return the mean over seeds of the success on held-out tasks, at the steps all were at."""
    by_step: dict[int, list[float]] = {}
    for result in results:
        for one in result.evaluations:
            by_step.setdefault(one.step, []).append(one.success)
    whole = {step: values for step, values in by_step.items() if len(values) == len(results)}
    steps = sorted(whole)
    return (
        [float(step) for step in steps],
        [fmean(whole[step]) for step in steps],
        [confidence(whole[step]) for step in steps],
    )


def plot(
    trainings: Mapping[str, Sequence[SeedResult]], path: Path, *, title: str | None = None
) -> None:
    """Draw trainings side by side: the reward in training, and the success on held-out tasks.

    Args:
        trainings: The seeds of each, by the name it is listed under.
        path: The picture; its suffix decides the kind. The same results give the same bytes.
        title: What stands above it.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The picture cannot be written, or is of an unknown kind.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A plot", "plot") from error
    with mpl.rc_context({"svg.hashsalt": "agentgym", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, results in trainings.items():
            seeds = f"{len(results)} seed{'s' if len(results) > 1 else ''}"
            _draw(left, reward_curve(results), f"{name} ({seeds})")
            _draw(right, success_curve(results), name, marker="o")
        left.set(xlabel="step", ylabel="reward in training", ylim=(-0.03, 1.03))
        right.set(xlabel="step", ylabel="success on held-out tasks", ylim=(-0.03, 1.03))
        left.legend(fontsize="small")
        if title:
            figure.suptitle(title)
        svg = path.suffix == ".svg"
        try:
            figure.savefig(path, metadata={"Date": None} if svg else None)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}.", remedy="Name another file."
            ) from error
        except ValueError as error:  # with the kinds that there are
            raise UsageError(f"{path}: {error}.", remedy="Name it x.svg or x.png.") from error


def _draw(axes: Any, curve: Curve, label: str, **style: Any) -> None:
    steps, means, widths = curve
    (line,) = axes.plot(steps, means, label=label, **style)
    low = [mean - width for mean, width in zip(means, widths, strict=True)]
    high = [mean + width for mean, width in zip(means, widths, strict=True)]
    axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
