"""pass@k and pass^k against counting subsets, and where they are shown."""

import math
from itertools import combinations, pairwise
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.cli.results import print_results
from agentgym.evaluation.metrics import RunResult, summarise
from agentgym.evaluation.passes import looked_at, pass_all, pass_at, pass_rates
from agentgym.trajectories.summaries import EpisodeSummary
from tests.evaluation.test_metrics import row, run

tries = st.lists(st.booleans(), min_size=1, max_size=8)


@given(tries, st.data())
def test_they_are_the_share_of_subsets(outcomes: list[bool], data: st.DataObject) -> None:
    n, c = len(outcomes), sum(outcomes)
    k = data.draw(st.integers(1, n))
    chosen = list(combinations(outcomes, k))
    assert pass_at(n, c, k) == pytest.approx(fmean(float(any(one)) for one in chosen))
    assert pass_all(n, c, k) == pytest.approx(fmean(float(all(one)) for one in chosen))


@given(st.integers(1, 5000), st.data())
def test_they_stay_chances_however_many_tries(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    assert 0.0 <= pass_all(n, c, k) <= c / n <= pass_at(n, c, k) + 1e-12 <= 1.0 + 1e-12


@given(st.lists(tries, min_size=1, max_size=6))
def test_rates_are_means_over_the_tasks_tried_often_enough(tasks: list[list[bool]]) -> None:
    counts = {str(number): (len(one), sum(one)) for number, one in enumerate(tasks)}
    found = pass_rates(counts, 8)
    assert [rates.k for rates in found] == list(range(1, 9))
    for rates in found:
        enough = [one for one in tasks if len(one) >= rates.k]
        assert (rates.tasks, rates.left_out) == (len(enough), len(tasks) - len(enough))
        at = [fmean(float(any(chosen)) for chosen in combinations(one, rates.k)) for one in enough]
        assert rates.pass_at == (pytest.approx(fmean(at)) if at else None)
        spread = stdev(at) / math.sqrt(len(at)) if len(at) > 1 else None
        assert rates.pass_at_stderr == (None if spread is None else pytest.approx(spread))
    for fewer, more in pairwise(found):
        if fewer.tasks == more.tasks and fewer.tasks:
            assert (fewer.pass_at or 0.0) <= (more.pass_at or 0.0) + 1e-12


@pytest.mark.parametrize(
    ("epochs", "ks"),
    [(1, [1]), (4, [1, 2, 3, 4]), (9, [1, 2, 4, 8, 9]), (64, [1, 2, 4, 8, 16, 32, 64])],
)
def test_with_many_epochs_powers_of_two_are_looked_at(epochs: int, ks: list[int]) -> None:
    assert list(looked_at(epochs)) == ks


def result(epochs: int, scores: list[list[float | None]]) -> RunResult:
    rows: list[EpisodeSummary] = [
        row(task, epoch, score)
        for task, found in enumerate(scores)
        for epoch, score in enumerate(found)
    ]
    return summarise(run(len(scores), epochs), rows)


def test_a_run_of_several_epochs_has_them() -> None:
    found = result(3, [[1.0, 0.0, 1.0], [0.0, None, 0.0], [None, None, None]]).passes
    assert [(rates.k, rates.tasks, rates.left_out) for rates in found] == [
        (1, 2, 1),
        (2, 2, 1),
        (3, 1, 2),
    ]
    assert found[0].pass_at == pytest.approx(1 / 3)
    assert found[1].pass_at == pytest.approx(0.5)
    assert found[1].pass_all == pytest.approx(1 / 6)
    assert found[2].pass_all == 0.0
    assert found[2].pass_at_stderr is None


def test_a_run_of_one_epoch_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    once = result(1, [[1.0], [0.0]])
    assert once.passes == ()
    print_results([once])
    assert "pass@k" not in capsys.readouterr().out


def test_they_are_shown_and_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    twice = result(2, [[1.0, 0.0], [1.0, 1.0]])
    print_results([twice])
    out = capsys.readouterr().out
    assert "pass@k" in out
    assert "pass^k" in out
    assert "1.000 ± 0.000" in out
    assert "0.500 ± 0.500" in out
    assert twice.model_dump(mode="json")["passes"][1]["pass_all"] == 0.5
