"""Draws: the same everywhere, and fair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_games.dice import Dice


def test_draws_are_pinned() -> None:
    dice = Dice("key")
    assert [dice.below(100) for _ in range(6)] == [28, 97, 18, 96, 90, 51]
    assert Dice("key").shuffled("abcdefgh") == list("fgdcbhae")


@given(key=st.text(), count=st.integers(1, 2**63 + 7))
def test_a_draw_is_in_range_and_repeats(key: str, count: int) -> None:
    drawn = Dice(key).below(count)
    assert 0 <= drawn < count
    assert Dice(key).below(count) == drawn


@given(key=st.text(), items=st.lists(st.integers()))
def test_shuffling_keeps_every_item(key: str, items: list[int]) -> None:
    assert sorted(Dice(key).shuffled(items)) == sorted(items)


@given(key=st.text(), items=st.lists(st.integers(), unique=True), data=st.data())
def test_a_sample_has_different_items(key: str, items: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(items)))
    sample = Dice(key).sample(items, count)
    assert len(set(sample)) == count
    assert set(sample) <= set(items)


def test_draws_are_spread_evenly() -> None:
    dice = Dice("fair")
    drawn = [dice.below(6) for _ in range(6000)]
    assert all(900 < drawn.count(face) < 1100 for face in range(6))


def test_impossible_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing is below 0"):
        Dice("x").below(0)
    with pytest.raises(ValueError, match="3 of 2 items"):
        Dice("x").sample([1, 2], 3)


def test_both_ends_can_be_drawn() -> None:
    dice = Dice("ends")
    assert {dice.between(2, 4) for _ in range(100)} == {2, 3, 4}
