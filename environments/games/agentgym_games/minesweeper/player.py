"""The player of minesweeper: it deduces, and never looks at the hidden mines."""

from collections.abc import Generator

from agentgym.types import Action, Observation, Task, call
from agentgym_games.minesweeper.env import read_board
from agentgym_games.minesweeper.rules import FieldState, closed_squares, label, lost
from agentgym_games.minesweeper.solver import likeliest_safe, simply_safe
from agentgym_games.minesweeper.tasks import MinesweeperPrivate, MinesweeperPublic


def oracle(
    task: Task[MinesweeperPublic, MinesweeperPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play as `play` does: every shipped board can be solved by deduction."""
    yield from play(observation)


def play(observation: Observation) -> Generator[Action, Observation, None]:
    """Play from observations alone: open what is certainly safe, else what is likeliest so."""
    first = next(line for line in observation.text.splitlines() if line.startswith("mines "))
    mines = int(first.split()[1])
    shown = read_board(observation.text)
    while closed_squares(shown) > mines and not lost(FieldState(shown)):
        certain = simply_safe(shown)
        square = certain[0] if certain else likeliest_safe(shown, mines)
        observation = yield call("open", square=label(square))
        shown = read_board(observation.text)
