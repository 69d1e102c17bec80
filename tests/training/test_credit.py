import math
from collections.abc import Sequence
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.credit.base import Episode, Step
from agentgym.training.credit.estimators import estimator, gigpo, grpo, spa, turn
from agentgym.training.credit.returns import EPSILON, discounted

rewards = st.lists(st.floats(-5, 5), min_size=1, max_size=6)
groups = st.lists(rewards, min_size=1, max_size=6)


def episode(values: Sequence[float], states: str = "", progress: Sequence[float] = ()) -> Episode:
    return Episode(
        tuple(
            Step(
                reward=value,
                state=states[i] if states else f"only {i}",
                progress=progress[i] if progress else None,
            )
            for i, value in enumerate(values)
        )
    )


def test_returns_are_discounted_from_the_end() -> None:
    assert discounted([1.0, 0.0, 4.0], 0.5) == [2.0, 2.0, 4.0]
    assert discounted([], 0.5) == []


def test_gigpo_on_a_worked_example() -> None:
    """Two episodes meet in state s: one goes on to a reward of 1, one to none."""
    group = [episode([0.0, 1.0], "as"), episode([0.0, 0.0, 0.0], "asb")]
    half = 0.5 / (math.sqrt(0.5) + EPSILON)  # totals 1 and 0: mean 0.5, deviation sqrt(0.5)
    in_a = 0.45 / (math.sqrt(2 * 0.45**2) + EPSILON)  # returns 0.9 and 0
    in_s = 0.5 / (math.sqrt(0.5) + EPSILON)  # returns 1 and 0
    assert gigpo(group, gamma=0.9, weight=2.0) == [
        pytest.approx([half + 2 * in_a, half + 2 * in_s]),
        pytest.approx([-half - 2 * in_a, -half - 2 * in_s, -half]),
    ]


def test_a_turn_is_not_credited_for_what_came_before_it() -> None:
    group = [episode([1.0, 0.0]), episode([0.0, 0.0])]
    first, second = turn(group)[0]
    assert first > 0 > second


def test_progress_spreads_the_total_over_the_turns() -> None:
    group = [
        episode([0.0, 0.0, 1.0], progress=[0.5, 0.5, 1.0]),
        episode([0.0, 0.0, 0.0], progress=[0.0, 0.0, 0.0]),
    ]
    found = spa(group, scale="none")[0]
    mean = (1.0 + 0.5 + 0.5) / 6
    assert found == pytest.approx([1.0 - mean, 0.5 - mean, 0.5 - mean])


@given(groups)
def test_grpo_is_the_normalised_total(group: list[list[float]]) -> None:
    totals = [sum(values) for values in group]
    found = grpo([episode(values) for values in group])
    assert [len(part) for part in found] == [len(values) for values in group]
    for values, part, total in zip(group, found, totals, strict=True):
        assert len(set(part)) == 1 or not values
        spread = stdev(totals) + EPSILON if len(totals) > 1 else 1.0
        expected = (total - fmean(totals)) / spread if len(totals) > 1 else 0.0
        assert part[0] == pytest.approx(expected, abs=1e-6)


@given(groups)
def test_without_shared_states_gigpo_is_grpo(group: list[list[float]]) -> None:
    alone = [
        Episode(tuple(Step(value, state=f"{number}-{i}") for i, value in enumerate(values)))
        for number, values in enumerate(group)
    ]
    assert gigpo(alone) == grpo(alone)


@given(groups, st.sampled_from(["grpo", "gigpo", "turn"]), st.randoms())
def test_the_order_of_a_groups_episodes_does_not_matter(
    group: list[list[float]], name: str, random: object
) -> None:
    episodes = [episode(values, "abcdef") for values in group]
    found = estimator(name)(episodes)
    backwards = estimator(name)(episodes[::-1])[::-1]
    for part, other in zip(found, backwards, strict=True):
        assert part == pytest.approx(other, abs=1e-6)


@given(groups, st.sampled_from(["grpo", "gigpo"]))
def test_equal_episodes_are_worth_nothing(group: list[list[float]], name: str) -> None:
    same = [episode(group[0], "abcdef")] * 3
    for part in estimator(name, scale="none")(same):
        assert part == pytest.approx([0.0] * len(part), abs=1e-6)


def test_what_an_estimator_needs_is_asked_for() -> None:
    with pytest.raises(UsageError, match="fingerprint"):
        gigpo([Episode((Step(1.0),))])
    with pytest.raises(UsageError, match="progress"):
        spa([Episode((Step(1.0),))])
    with pytest.raises(UnknownNameError, match="gigpo"):
        estimator("gipo")
    with pytest.raises(UnknownNameError, match="gamma"):
        estimator("turn", gama=0.9)
