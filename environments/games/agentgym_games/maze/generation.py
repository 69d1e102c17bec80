"""Mazes from seeds: carved ones with corridors, and open rooms with a few walls."""

from dataclasses import dataclass

from agentgym_games.compass import STEPS, Square
from agentgym_games.dice import Dice
from agentgym_games.maze.rules import FREE, WALL, Maze, begin, distances, draw_maze, shortest_path
from agentgym_games.maze.tasks import MazePrivate, MazePublic, View
from agentgym_games.sets import Draft


@dataclass(frozen=True)
class MazeLevel:
    """How a maze is made.

    Attributes:
        size: Rows and columns; odd where it is carved.
        views: The views, taken in turn.
        carved: Whether corridors are carved out of rock; else walls are put into a room.
        walls: Walls put into a room that is not carved, at most.
        loops: Walls opened again, by which a carved maze gets more ways than one.
        nearest: Moves from start to goal at least.
    """

    size: int
    views: tuple[View, ...] = ("map", "position", "walls")
    carved: bool = True
    walls: int = 0
    loops: int = 0
    nearest: int = 2


CORE = {
    "easy": MazeLevel(size=7, nearest=14),
    "medium": MazeLevel(size=9, loops=2, nearest=18),
    "hard": MazeLevel(size=11, loops=4, nearest=24),
}
TINY = {"tiny": MazeLevel(size=4, views=("position",), carved=False, walls=4, nearest=3)}


def draft(level: MazeLevel, dice: Dice, number: int) -> Draft | None:
    """Draw one maze; None where it does not fit the level.

    Args:
        level: How it is made.
        dice: What is drawn from.
        number: The task's number, by which views take turns.
    """
    rows = _carve(level, dice) if level.carved else _furnish(level, dice)
    free = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == FREE]
    start = dice.pick(free)
    reach = distances(Maze(rows, start, start))
    far = [square for square in free if reach.get(square, -1) >= level.nearest]
    if len(reach) < len(free) or not far:
        return None
    maze = Maze(rows, start, dice.pick(far))
    layout = draw_maze(maze)
    view = level.views[number % len(level.views)]
    shortest = len(shortest_path(maze, begin(maze)))
    seen = view == "map"
    return Draft(
        public=MazePublic(view=view, layout=layout if seen else ()),
        private=MazePrivate(layout=() if seen else layout),
        content="/".join(rows),
        max_turns=2 * len(free) if level.carved and not seen else 2 * shortest + 2,
        tags={"view": view},
    )


def _carve(level: MazeLevel, dice: Dice) -> tuple[str, ...]:
    """Carve by depth-first search: cells lie on even rows and columns, walls between them."""
    grid = [[WALL] * level.size for _ in range(level.size)]
    cells = (level.size + 1) // 2
    first = (2 * dice.below(cells), 2 * dice.below(cells))
    grid[first[0]][first[1]] = FREE
    trail = [first]
    while trail:
        row, column = trail[-1]
        rock = [
            (down, right)
            for down, right in STEPS.values()
            if _is_wall(grid, (row + 2 * down, column + 2 * right))
        ]
        if not rock:
            trail.pop()
            continue
        down, right = dice.pick(rock)
        grid[row + down][column + right] = FREE
        trail.append((row + 2 * down, column + 2 * right))
        grid[trail[-1][0]][trail[-1][1]] = FREE
    between = [(r, c) for r in range(level.size) for c in range(level.size) if (r + c) % 2 == 1]
    for r, c in dice.sample([(r, c) for r, c in between if grid[r][c] == WALL], level.loops):
        grid[r][c] = FREE
    return tuple("".join(row) for row in grid)


def _furnish(level: MazeLevel, dice: Dice) -> tuple[str, ...]:
    squares = [(r, c) for r in range(level.size) for c in range(level.size)]
    walls = dice.sample(squares, dice.between(level.walls // 2, level.walls))
    return tuple(
        "".join(WALL if (r, c) in walls else FREE for c in range(level.size))
        for r in range(level.size)
    )


def _is_wall(grid: list[list[str]], square: Square) -> bool:
    row, column = square
    inside = 0 <= row < len(grid) and 0 <= column < len(grid)
    return inside and grid[row][column] == WALL
