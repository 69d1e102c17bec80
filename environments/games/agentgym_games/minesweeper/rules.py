"""The rules of minesweeper: an opened square shows how many of its neighbours hold a mine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentgym.errors import ToolError
from agentgym_games.compass import Square

CLOSED, MINE = ".", "*"
LARGEST = 26
"""Columns, which are named by letters, and rows at most."""


@dataclass(frozen=True)
class Field:
    """What does not change during a game.

    Attributes:
        rows: How many.
        columns: How many.
        mines: Sorted squares.
    """

    rows: int
    columns: int
    mines: tuple[Square, ...]

    def squares(self) -> Iterator[Square]:
        """Yield every square, row by row."""
        return ((row, column) for row in range(self.rows) for column in range(self.columns))


@dataclass(frozen=True)
class FieldState:
    """What is seen.

    Attributes:
        shown: Rows of `.` (closed), a digit (opened) and `*` (the mine that went off).
    """

    shown: tuple[str, ...]

    def at(self, square: Square) -> str:
        """Return what is seen of a square."""
        return self.shown[square[0]][square[1]]


@lru_cache(maxsize=4096)
def neighbours(rows: int, columns: int, square: Square) -> tuple[Square, ...]:
    """Return the up to eight squares around one."""
    row, column = square
    return tuple(
        (r, c)
        for r in range(max(0, row - 1), min(rows, row + 2))
        for c in range(max(0, column - 1), min(columns, column + 2))
        if (r, c) != square
    )


def label(square: Square) -> str:
    """Return a square's name: the column's letter and the row's number, such as "b3"."""
    return f"{chr(ord('a') + square[1])}{square[0] + 1}"


def read_label(text: str, rows: int, columns: int) -> Square:
    """Read a square's name.

    Raises:
        ToolError: It is no square of the board.
    """
    letter, number = text[:1].lower(), text[1:]
    if letter.isascii() and letter.isalpha() and number.isascii() and 0 < len(number) < 3:
        column = ord(letter) - ord("a")
        if number.isdigit() and 1 <= int(number) <= rows and column < columns:
            return int(number) - 1, column
    last = label((rows - 1, columns - 1))
    raise ToolError(f"There is no such square. Squares are a1 to {last}.")


def closed(field: Field) -> FieldState:
    """Return the state in which nothing is opened."""
    return FieldState((CLOSED * field.columns,) * field.rows)


def open_square(field: Field, state: FieldState, square: Square) -> FieldState:
    """Open a square, and with a 0 all around it, on and on.

    Raises:
        ToolError: It is open.
    """
    if state.at(square) != CLOSED:
        raise ToolError("That square is open.")
    grid = [list(row) for row in state.shown]
    queue = [square]
    for row, column in queue:  # grows while it is walked through
        if grid[row][column] != CLOSED:
            continue
        grid[row][column] = _face(field, (row, column))
        if grid[row][column] == "0":
            queue.extend(neighbours(field.rows, field.columns, (row, column)))
    return FieldState(tuple("".join(row) for row in grid))


def lost(state: FieldState) -> bool:
    """Whether a mine went off."""
    return any(MINE in row for row in state.shown)


def closed_squares(shown: Sequence[str]) -> int:
    """Return how many squares are closed."""
    return sum(row.count(CLOSED) for row in shown)


def solved(field: Field, state: FieldState) -> bool:
    """Whether all squares but the mines are open."""
    return not lost(state) and closed_squares(state.shown) == len(field.mines)


def fewest_openings(field: Field, state: FieldState) -> int:
    """Return how many squares have to be opened at least to win from here.

    Each region of zeros takes one, and so does each number beside none (the "3BV" of minesweeper
    players).
    """
    count = 0
    for wanted in ("0", "12345678"):
        for square in field.squares():
            if state.at(square) == CLOSED and _face(field, square) in wanted:
                state = open_square(field, state, square)
                count += 1
    return count


def _face(field: Field, square: Square) -> str:
    if square in field.mines:
        return MINE
    around = neighbours(field.rows, field.columns, square)
    return str(sum(other in field.mines for other in around))
