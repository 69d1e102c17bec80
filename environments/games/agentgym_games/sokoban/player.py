"""Players of Sokoban: the stored solution, and a solver that reads the board it is shown."""

from collections.abc import Generator, Iterable

from agentgym.types import Action, Observation, Task, call
from agentgym_games.compass import STEPS, Direction
from agentgym_games.sokoban.rules import read_board
from agentgym_games.sokoban.solver import shortest_solution
from agentgym_games.sokoban.tasks import SokobanPrivate, SokobanPublic

LETTERS: dict[str, Direction] = {way[0]: way for way in STEPS}


def oracle(
    task: Task[SokobanPublic, SokobanPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play the stored solution."""
    yield from _walk(LETTERS[letter] for letter in task.private.solution)


def play(observation: Observation) -> Generator[Action, Observation, None]:
    """Play from observations alone: solve the board, then walk."""
    lines = observation.text.splitlines()
    board, state = read_board([line for line in lines if line and not set(line) - set("#-.$*@+")])
    yield from _walk(shortest_solution(board, state) or ())


def _walk(path: Iterable[Direction]) -> Generator[Action, Observation, None]:
    for direction in path:
        yield call("move", direction=direction)
