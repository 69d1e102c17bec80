"""The rules of Sokoban: boxes are pushed, one at a time, and never pulled.

Boards are written in the marks that are usual for Sokoban levels, with `-` for the floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.errors import ToolError
from agentgym_games.compass import STEPS, Direction, Square, ahead

WALL, FLOOR, GOAL, BOX, BOX_ON_GOAL, PLAYER, PLAYER_ON_GOAL = "#-.$*@+"


@dataclass(frozen=True)
class Board:
    """What does not change during a game.

    Attributes:
        rows: Equally long rows of `#` (wall) and `-` (floor); what lies outside is wall.
        goals: Sorted squares.
    """

    rows: tuple[str, ...]
    goals: tuple[Square, ...]

    def free(self, square: Square) -> bool:
        """Whether there is floor, be there a box on it or not."""
        row, column = square
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        return inside and self.rows[row][column] != WALL


@dataclass(frozen=True)
class SokobanState:
    """What changes: the player's square and the boxes' sorted squares."""

    player: Square
    boxes: tuple[Square, ...]


def read_board(layout: Sequence[str]) -> tuple[Board, SokobanState]:
    """Read rows of `#` wall, `-` floor, `.` goal, `$` box, `*` box on goal, `@` and `+` player.

    Raises:
        ValueError: They are no such rows, or there are not as many boxes as goals.
    """
    rows = tuple(layout)
    marks = WALL + FLOOR + GOAL + BOX + BOX_ON_GOAL + PLAYER + PLAYER_ON_GOAL
    if not rows or any(len(row) != len(rows[0]) or set(row) - set(marks) for row in rows):
        raise ValueError(f"a board is equally long rows of {marks!r}")
    goals = _find(rows, GOAL + BOX_ON_GOAL + PLAYER_ON_GOAL)
    boxes = _find(rows, BOX + BOX_ON_GOAL)
    players = _find(rows, PLAYER + PLAYER_ON_GOAL)
    if len(players) != 1 or len(boxes) != len(goals) or not boxes:
        raise ValueError("a board has one player, and as many boxes as goals")
    plain = tuple("".join(WALL if mark == WALL else FLOOR for mark in row) for row in rows)
    return Board(plain, goals), SokobanState(players[0], boxes)


def draw_board(board: Board, state: SokobanState) -> tuple[str, ...]:
    """Draw a state; `read_board` reads it again."""
    return tuple(
        "".join(
            WALL if mark == WALL else _mark(board, state, (row, column))
            for column, mark in enumerate(marks)
        )
        for row, marks in enumerate(board.rows)
    )


def move(board: Board, state: SokobanState, direction: Direction) -> SokobanState:
    """Go one square, pushing the box that stands there.

    Raises:
        ToolError: There is a wall, or a box that cannot be pushed.
    """
    there = ahead(state.player, direction)
    if not board.free(there):
        raise ToolError(f"There is a wall to the {direction}.")
    if there not in state.boxes:
        return SokobanState(there, state.boxes)
    beyond = ahead(there, direction)
    if not board.free(beyond) or beyond in state.boxes:
        raise ToolError(f"The box to the {direction} cannot be pushed.")
    boxes = tuple(sorted(beyond if box == there else box for box in state.boxes))
    return SokobanState(there, boxes)


def solved(board: Board, state: SokobanState) -> bool:
    """Whether every box is on a goal."""
    return state.boxes == board.goals


def pull(board: Board, state: SokobanState, direction: Direction) -> SokobanState | None:
    """Undo a push: go one square and drag along the box behind; None where that is impossible.

    By pulling from a solved board one gets only boards that can be solved.
    """
    there = ahead(state.player, direction)
    down, right = STEPS[direction]
    behind = (state.player[0] - down, state.player[1] - right)
    if not board.free(there) or there in state.boxes or behind not in state.boxes:
        return None
    boxes = tuple(sorted(state.player if box == behind else box for box in state.boxes))
    return SokobanState(there, boxes)


def _find(rows: Sequence[str], marks: str) -> tuple[Square, ...]:
    return tuple((r, c) for r, row in enumerate(rows) for c, one in enumerate(row) if one in marks)


def _mark(board: Board, state: SokobanState, square: Square) -> str:
    goal = square in board.goals
    if square == state.player:
        return PLAYER_ON_GOAL if goal else PLAYER
    if square in state.boxes:
        return BOX_ON_GOAL if goal else BOX
    return GOAL if goal else FLOOR
