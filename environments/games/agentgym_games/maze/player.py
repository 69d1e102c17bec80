"""Players of the maze: the shortest way, and an explorer that knows only what it sees."""

from collections.abc import Generator, Iterable

from agentgym.types import Action, Observation, Task, call
from agentgym_games.compass import OPPOSITE, STEPS, Direction, Square, ahead
from agentgym_games.maze.rules import HERE, START, begin, read_maze, shortest_path
from agentgym_games.maze.tasks import MazePrivate, MazePublic


def oracle(
    task: Task[MazePublic, MazePrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Walk a shortest way, read from the hidden layout."""
    maze = read_maze(task.public.layout or task.private.layout)
    yield from _walk(shortest_path(maze, begin(maze)))


def play(observation: Observation) -> Generator[Action, Observation, None]:
    """Play from observations alone: the shortest way on a map, else depth-first search.

    The search turns toward the goal where it sees both positions, and walks back from dead ends,
    so it makes at most two moves for every free square.
    """
    rows = [line for line in observation.text.splitlines() if line and not set(line) - set("#.@G")]
    if rows:
        maze = read_maze([row.replace(HERE, START) for row in rows])
        yield from _walk(shortest_path(maze, begin(maze)))
        return
    yield from _explore(observation)


def _walk(path: Iterable[Direction]) -> Generator[Action, Observation, None]:
    for direction in path:
        yield call("move", direction=direction)


def _explore(observation: Observation) -> Generator[Action, Observation, None]:
    here: Square = (0, 0)  # counted from the start
    seen = {here}
    trail: list[Direction] = []
    words = observation.text.splitlines()[-1].split()
    while words != ["goal"]:
        fresh = [way for way in _open_ways(words) if ahead(here, way) not in seen]
        if fresh:
            row, column = _offset(words)
            way = min(fresh, key=lambda way: _after(way, row, column))
            trail.append(way)
        else:
            way = OPPOSITE[trail.pop()]
        words = (yield call("move", direction=way)).text.split()
        here = ahead(here, way)
        seen.add(here)


def _open_ways(words: list[str]) -> list[Direction]:
    return [way for way in STEPS if way in words]


def _offset(words: list[str]) -> Square:
    """Return how far the goal is to the south and to the east; nothing where it is not shown."""
    if words[0] != "at":
        return 0, 0
    row, column, goal_row, goal_column = (int(words[i]) for i in (1, 2, 4, 5))
    return goal_row - row, goal_column - column


def _after(way: Direction, row: int, column: int) -> int:
    down, right = STEPS[way]
    return abs(row - down) + abs(column - right)
