"""The rules of the maze: a grid of free squares and walls, a start and a goal."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentgym.errors import ToolError
from agentgym_games.compass import STEPS, Direction, Square, ahead

WALL, FREE, START, GOAL, HERE = "#", ".", "S", "G", "@"


@dataclass(frozen=True)
class Maze:
    """A maze; what lies outside of its rows is wall.

    Attributes:
        rows: Equally long rows of `#` (wall) and `.` (free).
        start: Where the game begins.
        goal: Where it is won.
    """

    rows: tuple[str, ...]
    start: Square
    goal: Square

    def free(self, square: Square) -> bool:
        """Whether a square can be walked on."""
        row, column = square
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        return inside and self.rows[row][column] != WALL


@dataclass(frozen=True)
class MazeState:
    """Where the walker is: row and column, from 0."""

    row: int
    column: int

    @property
    def square(self) -> Square:
        """The walker's square."""
        return self.row, self.column


def read_maze(layout: Sequence[str]) -> Maze:
    """Read rows with one `S` and one `G` among the walls and free squares.

    Raises:
        ValueError: They are no such rows.
    """
    rows = tuple(layout)
    if not rows or any(len(row) != len(rows[0]) or set(row) - set("#.SG") for row in rows):
        raise ValueError("a maze is equally long rows of '#', '.', one 'S' and one 'G'")
    places = {mark: _find(rows, mark) for mark in (START, GOAL)}
    plain = tuple(row.replace(START, FREE).replace(GOAL, FREE) for row in rows)
    return Maze(plain, places[START], places[GOAL])


def draw_maze(maze: Maze, walker: Square | None = None) -> tuple[str, ...]:
    """Draw a maze; with the walker as `@` in place of the start where one is given."""
    rows = [list(row) for row in maze.rows]
    first = maze.start if walker is None else walker
    rows[maze.goal[0]][maze.goal[1]] = GOAL
    rows[first[0]][first[1]] = START if walker is None else HERE
    return tuple("".join(row) for row in rows)


def begin(maze: Maze) -> MazeState:
    """Return the state at the start."""
    return MazeState(*maze.start)


def exits(maze: Maze, state: MazeState) -> tuple[Direction, ...]:
    """Return the directions in which there is no wall."""
    return tuple(way for way in STEPS if maze.free(ahead(state.square, way)))


def move(maze: Maze, state: MazeState, direction: Direction) -> MazeState:
    """Go one square.

    Raises:
        ToolError: There is a wall.
    """
    there = ahead(state.square, direction)
    if not maze.free(there):
        raise ToolError(f"There is a wall to the {direction}.")
    return MazeState(*there)


def solved(maze: Maze, state: MazeState) -> bool:
    """Whether the walker is at the goal."""
    return state.square == maze.goal


@lru_cache(maxsize=1024)
def distances(maze: Maze) -> Mapping[Square, int]:
    """Return the moves to the goal from every square that leads there."""
    found = {maze.goal: 0}
    queue = deque([maze.goal])
    while queue:
        square = queue.popleft()
        for way in STEPS:
            there = ahead(square, way)
            if there not in found and maze.free(there):
                found[there] = found[square] + 1
                queue.append(there)
    return found


def shortest_path(maze: Maze, state: MazeState) -> list[Direction]:
    """Return the moves of a shortest way to the goal.

    Raises:
        ValueError: There is none.
    """
    left = distances(maze)
    if state.square not in left:
        raise ValueError("the goal cannot be reached")
    square, path = state.square, list[Direction]()
    while square != maze.goal:
        way = next(w for w in STEPS if left.get(ahead(square, w), -1) == left[square] - 1)
        square = ahead(square, way)
        path.append(way)
    return path


def _find(rows: Sequence[str], mark: str) -> Square:
    places = [(r, c) for r, row in enumerate(rows) for c, one in enumerate(row) if one == mark]
    if len(places) != 1:
        raise ValueError(f"a maze has one {mark!r}, not {len(places)}")
    return places[0]
