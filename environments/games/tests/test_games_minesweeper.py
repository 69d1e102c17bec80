"""Minesweeper's rules and deduction."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.compass import Square
from agentgym_games.minesweeper.env import board_text, read_board
from agentgym_games.minesweeper.rules import (
    Field,
    FieldState,
    closed,
    closed_squares,
    fewest_openings,
    label,
    lost,
    neighbours,
    open_square,
    read_label,
    solved,
)
from agentgym_games.minesweeper.solver import (
    likeliest_safe,
    mine_weights,
    safe_squares,
    simply_safe,
)


@st.composite
def fields(draw: st.DrawFn, largest: int = 6) -> Field:
    rows, columns = draw(st.integers(2, largest)), draw(st.integers(2, largest))
    squares = [(r, c) for r in range(rows) for c in range(columns)]
    mines = draw(st.sets(st.sampled_from(squares), min_size=1, max_size=len(squares) // 3))
    return Field(rows, columns, tuple(sorted(mines)))


@st.composite
def played(draw: st.DrawFn, largest: int = 6) -> tuple[Field, FieldState]:
    """Draw a field with some safe squares opened."""
    field = draw(fields(largest))
    safe = [square for square in field.squares() if square not in field.mines]
    state = closed(field)
    for square in draw(st.lists(st.sampled_from(safe), unique=True, max_size=4)):
        if state.at(square) == ".":
            state = open_square(field, state, square)
    return field, state


@given(game=played())
def test_what_is_open_is_true_and_zeros_open_all_around(game: tuple[Field, FieldState]) -> None:
    field, state = game
    for square in field.squares():
        mark = state.at(square)
        around = neighbours(field.rows, field.columns, square)
        if mark != ".":
            assert square not in field.mines
            assert int(mark) == sum(other in field.mines for other in around)
        if mark == "0":
            assert all(state.at(other) != "." for other in around)


@given(field=fields(), data=st.data())
def test_a_mine_ends_the_game(field: Field, data: st.DataObject) -> None:
    state = open_square(field, closed(field), data.draw(st.sampled_from(field.mines)))
    assert lost(state)
    assert not solved(field, state)


@given(game=played())
def test_opening_the_rest_wins_in_no_fewer_than_the_fewest(game: tuple[Field, FieldState]) -> None:
    field, state = game
    fewest, openings = fewest_openings(field, state), 0
    for square in field.squares():
        if square not in field.mines and state.at(square) == ".":
            assert not solved(field, state)
            state = open_square(field, state, square)
            openings += 1
    assert solved(field, state)
    assert fewest <= openings
    assert fewest_openings(field, state) == 0


@given(game=played())
def test_deduction_never_errs(game: tuple[Field, FieldState]) -> None:
    field, state = game
    safe = safe_squares(state.shown, len(field.mines))
    assert not set(safe) & set(field.mines)
    assert set(simply_safe(state.shown)) <= set(safe)


@given(game=played(largest=4))
def test_weights_count_every_arrangement(game: tuple[Field, FieldState]) -> None:
    field, state = game
    hidden = [square for square in field.squares() if state.at(square) == "."]
    weights: dict[Square, int] = dict.fromkeys(hidden, 0)
    for mines in combinations(hidden, len(field.mines)):
        if agrees(Field(field.rows, field.columns, mines), state):
            for square in mines:
                weights[square] += 1
    assert mine_weights(state.shown, len(field.mines)) == weights
    if hidden:
        chosen = likeliest_safe(state.shown, len(field.mines))
        assert weights[chosen] == min(weights.values())


def agrees(field: Field, state: FieldState) -> bool:
    shown = [square for square in field.squares() if state.at(square) != "."]
    return all(open_square(field, closed(field), s).at(s) == state.at(s) for s in shown)


@given(game=played())
def test_a_shown_board_reads_the_same(game: tuple[Field, FieldState]) -> None:
    assert read_board(f"mines 3\n{board_text(game[1].shown)}") == game[1].shown


def test_two_numbers_compared() -> None:
    # 1 2 1 along a wall: the mines are at the ends, the middle is safe
    assert simply_safe(("...", "121")) == ((0, 1),)


def test_the_count_of_mines_is_used() -> None:
    shown = ("1.", "..")
    assert not safe_squares(shown, 1)
    assert simply_safe(("1...", "....")) == ()
    assert set(safe_squares(("1...", "...."), 1)) == {(0, 2), (0, 3), (1, 2), (1, 3)}


@given(rows=st.integers(1, 26), columns=st.integers(1, 26), data=st.data())
def test_labels_read_the_same(rows: int, columns: int, data: st.DataObject) -> None:
    square = data.draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)))
    assert read_label(label(square), rows, columns) == square


@pytest.mark.parametrize("text", ["", "a", "3", "d1", "a4", "a0", "aa", "a1x", "é1", "a²", "a 1"])
def test_what_is_no_square_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="a1 to c3"):
        read_label(text, 3, 3)


def test_an_open_square_is_not_opened_again() -> None:
    field = Field(2, 2, ((0, 0),))
    state = open_square(field, closed(field), (1, 1))
    assert closed_squares(state.shown) == 3
    with pytest.raises(ToolError, match="is open"):
        open_square(field, state, (1, 1))
