"""The minesweeper environment."""

from agentgym.tools import tool
from agentgym_games.game import GameEnvironment
from agentgym_games.minesweeper.rules import (
    Field,
    FieldState,
    closed,
    closed_squares,
    fewest_openings,
    lost,
    open_square,
    read_label,
    solved,
)
from agentgym_games.minesweeper.tasks import MinesweeperPrivate, MinesweeperPublic

RULES = (
    "Open every square that holds no mine; opening a mine loses. A number says how many of the up "
    "to eight squares around it hold a mine; . is closed. Squares are named by column and row, "
    "such as b3. The first square is opened for you. No guess is ever needed."
)


class MinesweeperEnvironment(GameEnvironment[MinesweeperPublic, MinesweeperPrivate, FieldState]):
    """Open every square that holds no mine."""

    _field: Field
    _first: FieldState

    def begin(self) -> FieldState:
        """Lay the mines and open the first square."""
        public = self.task.public
        mines = [read_label(text, public.rows, public.columns) for text in self.task.private.mines]
        self._field = Field(public.rows, public.columns, tuple(sorted(mines)))
        start = read_label(public.start, public.rows, public.columns)
        self._first = open_square(self._field, closed(self._field), start)
        return self._first

    def explain(self) -> str:
        """Return the rules."""
        return RULES

    def announce(self) -> str:
        """Return how many mines there are, and the board."""
        return f"mines {len(self._field.mines)}\n{self.show()}"

    def show(self) -> str:
        """Return the board with its columns' letters and rows' numbers."""
        return board_text(self.state.shown)

    @tool
    async def open(self, square: str) -> str:
        """Open a square.

        Args:
            square: Column and row, such as "b3".
        """
        state = self.on_move()
        there = read_label(square, self._field.rows, self._field.columns)
        return self.play(open_square(self._field, state, there))

    @property
    def solved(self) -> bool:
        """Whether all squares but the mines are open."""
        return solved(self._field, self.state)

    @property
    def lost(self) -> bool:
        """Whether a mine went off."""
        return lost(self.state)

    def potential(self) -> float:
        """Return the share of the safe squares closed at first that are open; 0 after a mine."""
        if self.lost:
            return 0.0
        mines = len(self._field.mines)
        left = closed_squares(self.state.shown) - mines
        return 1 - left / (closed_squares(self._first.shown) - mines)

    def efficiency(self) -> float:
        """Return the fewest openings' share of the openings made."""
        return fewest_openings(self._field, self._first) / self.moves


def board_text(shown: tuple[str, ...]) -> str:
    """Return the board with its columns' letters and rows' numbers, marks apart by spaces."""
    letters = " ".join(chr(ord("a") + column) for column in range(len(shown[0])))
    lines = [f"{number} {' '.join(row)}" for number, row in enumerate(shown, start=1)]
    return "\n".join((f"  {letters}", *lines))


def read_board(text: str) -> tuple[str, ...]:
    """Read the last board of a text."""
    lines = [line.split() for line in text.splitlines()]
    rows = [words[1:] for words in lines if words and words[0].isdigit()]
    return tuple("".join(row) for row in rows)
