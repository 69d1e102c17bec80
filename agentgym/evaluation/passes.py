"""How often a task is solved in k tries: at least once (pass@k), and every time (pass^k)."""

import math
from collections.abc import Collection, Iterator, Mapping
from statistics import fmean, stdev

from agentgym.types import Frozen

MANY = 8
"""Epochs from which only powers of two are looked at, and the last."""


class PassRates(Frozen):
    """Both rates for one k, as means over tasks; None where no task was tried so often.

    Attributes:
        k: Tries.
        pass_at: Chance that one of k tries or more solves a task.
        pass_at_stderr: Standard error of `pass_at` over tasks; None with fewer than two.
        pass_all: Chance that all k tries solve a task, tau-bench's pass^k.
        pass_all_stderr: Standard error of `pass_all`, likewise.
        tasks: Tasks with k scored episodes or more.
        left_out: Tasks with fewer.
    """

    k: int
    pass_at: float | None
    pass_at_stderr: float | None
    pass_all: float | None
    pass_all_stderr: float | None
    tasks: int
    left_out: int


def pass_rates(tasks: Mapping[str, tuple[int, int]], epochs: int) -> tuple[PassRates, ...]:
    """Return the rates for each k that is looked at.

    Args:
        tasks: Scored episodes and successes of every task of the run.
        epochs: Episodes a task was to have.
    """
    return tuple(_rates(tasks.values(), k) for k in looked_at(epochs))


def looked_at(epochs: int) -> Iterator[int]:
    """Yield 1 to `epochs`, or the powers of two among them and the last where there are many."""
    for k in range(1, epochs + 1):
        if epochs <= MANY or k == epochs or k.bit_count() == 1:
            yield k


def pass_at(n: int, c: int, k: int) -> float:
    """Estimate the chance that one of k tries or more succeeds, without bias.

    It is the share of the k-subsets of n tries that hold a success. Source: Chen et al. (2021),
    "Evaluating Large Language Models Trained on Code", equation 1.

    Args:
        n: Tries that were made, k or more.
        c: Those that succeeded.
        k: Tries that are asked about.
    """
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float:
    """Estimate the chance that k tries all succeed, without bias.

    It is the share of the k-subsets of n tries that hold nothing but successes. Source: Yao et
    al. (2024), "tau-bench", section 3; written pass^k there.

    Args:
        n: Tries that were made, k or more.
        c: Those that succeeded.
        k: Tries that are asked about.
    """
    return math.comb(c, k) / math.comb(n, k)


def _rates(tasks: Collection[tuple[int, int]], k: int) -> PassRates:
    counted = [(n, c) for n, c in tasks if n >= k]
    at = [pass_at(n, c, k) for n, c in counted]
    every = [pass_all(n, c, k) for n, c in counted]
    return PassRates(
        k=k,
        pass_at=fmean(at) if at else None,
        pass_at_stderr=_stderr(at),
        pass_all=fmean(every) if every else None,
        pass_all_stderr=_stderr(every),
        tasks=len(counted),
        left_out=len(tasks) - len(counted),
    )


def _stderr(values: list[float]) -> float | None:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
