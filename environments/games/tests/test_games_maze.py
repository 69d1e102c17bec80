"""The maze's rules, and its players."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.compass import OPPOSITE, STEPS, Direction, ahead
from agentgym_games.dice import Dice
from agentgym_games.maze.generation import CORE, TINY, MazeLevel, draft
from agentgym_games.maze.rules import (
    Maze,
    MazeState,
    begin,
    distances,
    draw_maze,
    exits,
    move,
    read_maze,
    shortest_path,
    solved,
)
from agentgym_games.maze.tasks import MazePrivate, MazePublic

LEVELS = st.sampled_from([*CORE.values(), *TINY.values()])
KEYS = st.integers(0, 10**9)


def some_maze(level: MazeLevel, key: int) -> Maze:
    dice = Dice(f"test:{key}")
    while True:
        found = draft(level, dice, key)
        if found is not None:
            assert isinstance(found.public, MazePublic)
            assert isinstance(found.private, MazePrivate)
            return read_maze(found.public.layout or found.private.layout)


@given(level=LEVELS, key=KEYS)
def test_a_drawn_maze_reads_the_same(level: MazeLevel, key: int) -> None:
    maze = some_maze(level, key)
    assert read_maze(draw_maze(maze)) == maze


@given(level=LEVELS, key=KEYS)
def test_every_free_square_leads_to_the_goal(level: MazeLevel, key: int) -> None:
    maze = some_maze(level, key)
    free = sum(row.count(".") for row in maze.rows)
    assert len(distances(maze)) == free
    assert distances(maze)[maze.start] >= level.nearest


@given(level=LEVELS, key=KEYS, ways=st.lists(st.sampled_from(list(STEPS))))
def test_moves_go_through_no_wall_and_can_be_taken_back(
    level: MazeLevel, key: int, ways: list[Direction]
) -> None:
    maze = some_maze(level, key)
    state = begin(maze)
    for way in ways:
        if way not in exits(maze, state):
            with pytest.raises(ToolError, match=f"wall to the {way}"):
                move(maze, state, way)
            continue
        after = move(maze, state, way)
        assert maze.free(after.square)
        assert after.square == ahead(state.square, way)
        assert move(maze, after, OPPOSITE[way]) == state
        assert abs(distances(maze)[after.square] - distances(maze)[state.square]) <= 1
        state = after


@given(level=LEVELS, key=KEYS)
def test_the_shortest_path_is_as_long_as_the_distance(level: MazeLevel, key: int) -> None:
    maze = some_maze(level, key)
    path = shortest_path(maze, begin(maze))
    state = begin(maze)
    for way in path:
        assert not solved(maze, state)
        state = move(maze, state, way)
    assert solved(maze, state)
    assert len(path) == distances(maze)[maze.start]


def test_a_detour_is_found() -> None:
    maze = read_maze(["S#G", ".#.", "..."])
    assert shortest_path(maze, begin(maze)) == [
        "south", "south", "east", "east", "north", "north",
    ]  # fmt: skip
    assert draw_maze(maze, (2, 1)) == (".#G", ".#.", ".@.")
    assert exits(maze, MazeState(2, 1)) == ("east", "west")


@pytest.mark.parametrize("layout", [[], ["S.", "G"], ["S.", ".."], ["SS", "G."], ["SxG"]], ids=str)
def test_what_is_no_maze_is_refused(layout: list[str]) -> None:
    with pytest.raises(ValueError, match="a maze"):
        read_maze(layout)


def test_a_goal_behind_walls_has_no_path() -> None:
    maze = read_maze(["S#G"])
    with pytest.raises(ValueError, match="cannot be reached"):
        shortest_path(maze, begin(maze))
