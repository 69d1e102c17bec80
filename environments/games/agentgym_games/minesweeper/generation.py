"""Minesweeper boards from seeds, each solved by deduction before it is taken."""

from dataclasses import dataclass
from typing import Literal

from agentgym_games.compass import Square
from agentgym_games.dice import Dice
from agentgym_games.minesweeper.rules import (
    CLOSED,
    Field,
    closed,
    closed_squares,
    fewest_openings,
    label,
    neighbours,
    open_square,
    solved,
)
from agentgym_games.minesweeper.solver import safe_squares, simply_safe
from agentgym_games.minesweeper.tasks import MinesweeperPrivate, MinesweeperPublic
from agentgym_games.sets import Draft

SPARE = 4
"""Turns allowed beyond one for each square that is safe and closed at first."""


@dataclass(frozen=True)
class MinesweeperLevel:
    """How a board is made.

    Attributes:
        rows: Of the board.
        columns: Of the board.
        mines: How many.
        logic: `simple` where comparing numbers two at a time is enough; `full` where it is not,
            and all numbers, or the count of mines, have to be seen together.
        openings: Openings that win at least, were one to know where the mines are.
    """

    rows: int
    columns: int
    mines: int
    logic: Literal["simple", "full"] = "simple"
    openings: int = 3


CORE = {
    "easy": MinesweeperLevel(rows=5, columns=5, mines=4),
    "medium": MinesweeperLevel(rows=6, columns=6, mines=7, openings=6),
    "hard": MinesweeperLevel(rows=7, columns=7, mines=11, logic="full", openings=8),
}
TINY = {"tiny": MinesweeperLevel(rows=4, columns=4, mines=3, openings=2)}


def draft(level: MinesweeperLevel, dice: Dice, number: int) -> Draft | None:
    """Draw one board; None where it needs guesses, or other logic than the level's."""
    squares = [(r, c) for r in range(level.rows) for c in range(level.columns)]
    start = dice.pick(squares)
    near = (start, *neighbours(level.rows, level.columns, start))
    mines = tuple(sorted(dice.sample([s for s in squares if s not in near], level.mines)))
    field = Field(level.rows, level.columns, mines)
    first = open_square(field, closed(field), start)
    if fewest_openings(field, first) < level.openings or _logic_needed(field, start) != level.logic:
        return None
    public = MinesweeperPublic(
        rows=level.rows, columns=level.columns, mines=level.mines, start=label(start)
    )
    return Draft(
        public=public,
        private=MinesweeperPrivate(mines=tuple(label(mine) for mine in mines)),
        content=f"{level.rows} {level.columns} {mines}",
        max_turns=closed_squares(first.shown) - level.mines + SPARE,
    )


def _logic_needed(field: Field, start: Square) -> Literal["simple", "full"] | None:
    """Return the logic that solves a board; None where it has to be guessed."""
    state = open_square(field, closed(field), start)
    needed: Literal["simple", "full"] = "simple"
    while not solved(field, state):
        safe = simply_safe(state.shown)
        if not safe:
            needed = "full"
            safe = safe_squares(state.shown, len(field.mines))
        if not safe:
            return None
        for square in safe:
            if state.at(square) == CLOSED:
                state = open_square(field, state, square)
    return needed
