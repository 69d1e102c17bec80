"""Curves over seeds: means, their confidence bands, and pictures that are the same each time."""

import sys
from pathlib import Path

import pytest

from agentgym.errors import MissingExtraError
from agentgym.training.pipeline.plot import (
    confidence,
    plot,
    reward_curve,
    smoothed,
    success_curve,
)
from agentgym.training.pipeline.report import Evaluated, SeedResult


def seed(number: int, rewards: list[float], successes: dict[int, float]) -> SeedResult:
    return SeedResult(
        seed=number,
        rewards=tuple(rewards),
        evaluations=tuple(
            Evaluated(step=step, run_id="r", episodes=10, success=share, reward=share, errors=0)
            for step, share in successes.items()
        ),
    )


SEEDS = [
    seed(0, [0.0, 1.0, 1.0], {0: 0.2, 50: 0.6}),
    seed(1, [0.5, 0.5, 0.5], {0: 0.4, 50: 0.8}),
    seed(2, [0.0, 0.0], {0: 0.3}),
]


def test_a_band_is_students_t() -> None:
    assert confidence([0.5]) == 0
    # s = 0.1, n = 3, t(0.975, 2) = 4.30
    assert confidence([0.2, 0.3, 0.4]) == pytest.approx(4.30 * 0.1 / 3**0.5)
    assert confidence([0.0, 1.0] * 50) == pytest.approx(1.96 * 0.50252 / 10, rel=1e-4)


def test_curves_are_means_over_the_seeds_that_came_so_far() -> None:
    assert smoothed([0, 1, 2, 3], 2) == [0, 0.5, 1.5, 2.5]
    steps, means, _ = reward_curve(SEEDS, width=1)
    assert steps == [1, 2]
    assert means == [pytest.approx(0.5 / 3), 0.5]
    steps, means, widths = success_curve(SEEDS)
    assert steps == [0]  # the one step that every seed was evaluated at
    assert means == [pytest.approx(0.3)]
    assert widths == [pytest.approx(4.30 * 0.1 / 3**0.5)]


def test_the_same_results_give_the_same_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        plot({"grpo": SEEDS, "gigpo": SEEDS[:1]}, tmp_path / name, title="Sparse")
    picture = (tmp_path / "a.svg").read_text("utf-8")
    assert picture == (tmp_path / "b.svg").read_text("utf-8")
    for words in ("grpo (3 seeds)", "gigpo (1 seed)", "success on held-out tasks", "Sparse"):
        assert words in picture


def test_without_matplotlib_there_is_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\.\[plot\]"):
        plot({"grpo": SEEDS}, tmp_path / "a.svg")
