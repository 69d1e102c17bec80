"""A run in numbers: means and clustered errors, faults apart from scores."""

import math
from datetime import UTC, datetime
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.evaluation.metrics import clustered_stderr, summarise
from agentgym.trajectories.record import EpisodeKey, RunRecord
from agentgym.trajectories.summaries import EpisodeSummary
from agentgym.types import Usage

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def run(tasks: int, epochs: int = 1) -> RunRecord:
    return RunRecord(
        run_id="r",
        env="sql-v1",
        tasks="core",
        tasks_hash="h",
        task_ids=tuple(f"t{i}" for i in range(tasks)),
        agent="a",
        epochs=epochs,
        created_at=WHEN,
    )


def row(task: int = 0, epoch: int = 0, score: float | None = 1.0, **more: Any) -> EpisodeSummary:
    fields: dict[str, Any] = {
        "status": "error" if score is None else "completed",
        "detail": "",
        "success": None if score is None else score >= 1.0,
        "turns": 2,
        "attempts": 1,
        "agent_faults": 0,
        "faults": {},
        "usage": Usage(),
        "model_s": 0.0,
        "env_s": 0.0,
    }
    key = EpisodeKey(task_id=f"t{task}", epoch=epoch)
    return EpisodeSummary(key=key, seed=0, score=score, started_at=WHEN, **(fields | more))


def test_means_and_errors_of_one_epoch() -> None:
    scores = [1.0, 0.0, 0.5, 1.0]
    result = summarise(run(4), [row(i, score=score) for i, score in enumerate(scores)])
    assert (result.tasks, result.planned, result.episodes, result.scored) == (4, 4, 4, 4)
    assert result.mean_reward == pytest.approx(0.625)
    assert result.stderr == pytest.approx(stdev(scores) / 2)
    assert result.success_rate == pytest.approx(0.5)
    assert result.success_stderr == pytest.approx(stdev([1.0, 0.0, 0.0, 1.0]) / 2)
    assert result.success_rate_planned == 0.5


def test_errors_are_counted_apart_from_scores() -> None:
    rows = [
        row(0, score=1.0, faults={"model_rate_limited": 2}),
        row(1, score=0.0),
        row(2, score=None, faults={"environment_lost": 3, "model_rate_limited": 1}),
    ]
    result = summarise(run(4), rows)
    assert (result.episodes, result.scored, result.errored, result.planned) == (3, 2, 1, 4)
    assert result.mean_reward == 0.5
    assert result.success_rate == 0.5
    assert result.success_rate_planned == 0.25
    assert result.errors == {"environment_lost": 3, "model_rate_limited": 3}


def test_a_run_without_scores_has_no_means() -> None:
    for rows in ([], [row(0, score=None)]):
        result = summarise(run(2), rows)
        assert (result.mean_reward, result.stderr, result.success_rate) == (None, None, None)
        assert (result.turns, result.success_rate_planned) == (None, 0.0)


def test_sums_and_limits() -> None:
    rows = [
        row(0, status="limit", detail="turns", agent_faults=2, usage=Usage(prompt_tokens=5)),
        row(1, status="limit", detail="turns", turns=4, usage=Usage(cost=0.5), env_s=1.5),
        row(2, status="limit", detail="cost", model_s=2.0),
        row(3, score=None, turns=100, detail="model", agent_faults=1, usage=Usage(cost=0.25)),
    ]
    result = summarise(run(4), rows)
    assert result.limits == {"turns": 2, "cost": 1}
    assert result.agent_faults == 3
    assert result.turns == pytest.approx(8 / 3)
    assert result.usage == Usage(prompt_tokens=5, cost=0.75)
    assert (result.model_s, result.env_s) == (2.0, 1.5)


def test_a_negative_grade_is_a_score() -> None:
    result = summarise(run(2), [row(0, score=-1.0), row(1, score=0.0)])
    assert result.mean_reward == -0.5


values = st.lists(st.floats(-10, 10), min_size=2, max_size=20)


@given(values)
def test_single_values_give_the_usual_standard_error(scores: list[float]) -> None:
    found = clustered_stderr({str(i): [score] for i, score in enumerate(scores)})
    assert found == pytest.approx(stdev(scores) / math.sqrt(len(scores)), abs=1e-9)


@given(values, st.integers(1, 5))
def test_repeating_what_never_varies_gains_nothing(scores: list[float], times: int) -> None:
    once = clustered_stderr({str(i): [score] for i, score in enumerate(scores)})
    often = clustered_stderr({str(i): [score] * times for i, score in enumerate(scores)})
    assert often == pytest.approx(once, abs=1e-9)


def test_clusters_of_different_sizes() -> None:
    # By hand: mean 0.5; cluster sums of deviations 0.5, 0.5, -1; squares 1.5; times 3/2.
    clusters = {"a": [1.0], "b": [1.0, 0.5, 0.5], "c": [0.0, 0.0]}
    assert fmean([v for cluster in clusters.values() for v in cluster]) == 0.5
    assert clustered_stderr(clusters) == pytest.approx(math.sqrt(2.25) / 6)


def test_one_cluster_has_no_standard_error() -> None:
    assert clustered_stderr({}) is None
    assert clustered_stderr({"a": [0.0, 1.0]}) is None
