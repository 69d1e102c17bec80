"""Sokoban's rules and solver."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.compass import OPPOSITE, STEPS, Direction
from agentgym_games.dice import Dice
from agentgym_games.sokoban.generation import CORE, TINY, SokobanLevel, draft
from agentgym_games.sokoban.rules import (
    Board,
    SokobanState,
    draw_board,
    move,
    pull,
    read_board,
    solved,
)
from agentgym_games.sokoban.solver import pushes_left, shortest_solution
from agentgym_games.sokoban.tasks import SokobanPrivate, SokobanPublic

LEVELS = st.sampled_from([CORE["easy"], CORE["medium"], TINY["tiny"]])
KEYS = st.integers(0, 10**9)


def some_board(level: SokobanLevel, key: int) -> tuple[Board, SokobanState, str]:
    dice = Dice(f"test:{key}")
    while True:
        found = draft(level, dice, key)
        if found is not None:
            assert isinstance(found.public, SokobanPublic)
            assert isinstance(found.private, SokobanPrivate)
            return *read_board(found.public.layout), found.private.solution


def after(board: Board, state: SokobanState, way: Direction) -> SokobanState | None:
    try:
        return move(board, state, way)
    except ToolError:
        return None


@given(level=LEVELS, key=KEYS, ways=st.lists(st.sampled_from(list(STEPS)), max_size=30))
def test_play_keeps_boxes_and_is_undone_by_pulling(
    level: SokobanLevel, key: int, ways: list[Direction]
) -> None:
    board, state, _ = some_board(level, key)
    for way in ways:
        then = after(board, state, way)
        if then is None:
            continue
        assert len(set(then.boxes)) == level.boxes
        assert all(board.free(square) for square in (then.player, *then.boxes))
        assert then.player not in then.boxes
        assert read_board(draw_board(board, then)) == (board, then)
        if then.boxes != state.boxes:
            assert pull(board, then, OPPOSITE[way]) == state
        else:
            assert move(board, then, OPPOSITE[way]) == state
        state = then


@settings(max_examples=25)
@given(level=LEVELS, key=KEYS)
def test_a_stored_solution_wins_and_none_is_shorter(level: SokobanLevel, key: int) -> None:
    board, first, solution = some_board(level, key)
    state = first
    for letter in solution:
        assert not solved(board, state)
        state = move(board, state, next(way for way in STEPS if way[0] == letter))
    assert solved(board, state)
    assert len(solution) == fewest_moves(board, first)
    assert pushes_left(board, state.boxes) == 0
    assert 0 < pushes_left(board, first.boxes) <= len(solution)


def fewest_moves(board: Board, first: SokobanState) -> int:
    """Search without leaving anything out."""
    found = {first: 0}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        if solved(board, state):
            return found[state]
        for way in STEPS:
            then = after(board, state, way)
            if then is not None and then not in found:
                found[then] = found[state] + 1
                queue.append(then)
    raise AssertionError("not solvable")


def test_a_box_against_a_wall_or_a_box_stays() -> None:
    board, state = read_board(["#######", "#@$$-.#", "#----.#", "#######"])
    with pytest.raises(ToolError, match="box to the east cannot be pushed"):
        move(board, state, "east")
    with pytest.raises(ToolError, match="wall to the north"):
        move(board, state, "north")
    assert draw_board(board, move(board, state, "south"))[2] == "#@---.#"


def test_all_marks_are_read_and_drawn() -> None:
    rows = ("######", "#+$*-#", "#----#", "######")
    board, state = read_board(rows)
    assert draw_board(board, state) == rows
    assert board.goals == ((1, 1), (1, 3))
    assert state.boxes == ((1, 2), (1, 3))


def test_a_box_in_a_corner_is_beyond_repair() -> None:
    board, state = read_board(["#####", "#$-@#", "#--.#", "#####"])
    assert shortest_solution(board, state) is None
    assert pushes_left(board, state.boxes) >= 10**6


@pytest.mark.parametrize("rows", [[], ["#@$"], ["@@$."], ["@$.", "#"], ["@$?."]], ids=str)
def test_what_is_no_board_is_refused(rows: list[str]) -> None:
    with pytest.raises(ValueError, match="a board"):
        read_board(rows)
