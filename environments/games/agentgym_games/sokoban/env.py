"""The Sokoban environment."""

from agentgym.tools import tool
from agentgym_games.compass import Direction
from agentgym_games.game import GameEnvironment
from agentgym_games.sokoban.rules import Board, SokobanState, draw_board, move, read_board, solved
from agentgym_games.sokoban.solver import pushes_left
from agentgym_games.sokoban.tasks import SokobanPrivate, SokobanPublic

RULES = (
    "Push every box onto a goal. You push the box before you by moving against it; there is no "
    "pulling, and two boxes in a row are too heavy. # is a wall, - the floor, @ you, $ a box, "
    ". a goal, * a box on a goal, + you on a goal. North is up."
)


class SokobanEnvironment(GameEnvironment[SokobanPublic, SokobanPrivate, SokobanState]):
    """Push every box onto a goal; a wrong push may be beyond repair."""

    _board: Board
    _pushes: int

    def begin(self) -> SokobanState:
        """Read the board."""
        self._board, state = read_board(self.task.public.layout)
        self._pushes = pushes_left(self._board, state.boxes) if self._dense else 0
        return state

    def explain(self) -> str:
        """Return the rules."""
        return RULES

    def show(self) -> str:
        """Draw the board."""
        return "\n".join(draw_board(self._board, self.state))

    @tool
    async def move(self, direction: Direction) -> str:
        """Move one square, pushing the box that stands there.

        Args:
            direction: Where to.
        """
        return self.play(move(self._board, self.on_move(), direction))

    @property
    def solved(self) -> bool:
        """Whether every box is on a goal."""
        return solved(self._board, self.state)

    def potential(self) -> float:
        """Return 1 less the pushes left at least, in pushes at first; -1 at the lowest.

        It is a bound that leaves aside what is in the way, so on some boards good play lowers it
        for a while.
        """
        return max(1 - pushes_left(self._board, self.state.boxes) / self._pushes, -1.0)

    def efficiency(self) -> float:
        """Return the shortest solution's share of the moves made."""
        return len(self.task.private.solution) / self.moves
