"""Shortest solutions of Sokoban boards, and how far boxes are from goals."""

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations

from agentgym.errors import ToolError
from agentgym_games.compass import STEPS, Direction, Square
from agentgym_games.sokoban.rules import Board, SokobanState, move, solved

_STUCK = 10**6


def shortest_solution(
    board: Board, start: SokobanState, *, most: int = 500_000
) -> tuple[Direction, ...] | None:
    """Return a solution with the fewest moves; None where there is none.

    Breadth-first search over moves that leaves out boxes on squares from which no goal can be
    reached.

    Args:
        board: The board.
        start: Where to begin.
        most: States that are looked at, at most; beyond it a board counts as not solvable.
    """
    live = {square for goal in board.goals for square in push_distances(board, goal)}
    before: dict[SokobanState, tuple[SokobanState, Direction] | None] = {start: None}
    queue = deque([start])
    while queue and len(before) <= most:
        state = queue.popleft()
        if solved(board, state):
            return _trace(before, state)
        for way in STEPS:
            after = _try(board, state, way)
            if after is None or after in before:
                continue
            if after.boxes == state.boxes or live.issuperset(after.boxes):
                before[after] = state, way
                queue.append(after)
    return None


@lru_cache(maxsize=1024)
def push_distances(board: Board, goal: Square) -> Mapping[Square, int]:
    """Return the pushes that bring a lone box to a goal, from every square where that is possible.

    Whether the player can get behind the box is left aside, so it is a lower bound.
    """
    found = {goal: 0}
    queue = deque([goal])
    while queue:
        square = queue.popleft()
        for down, right in STEPS.values():
            box = (square[0] - down, square[1] - right)
            player = (box[0] - down, box[1] - right)
            if box not in found and board.free(box) and board.free(player):
                found[box] = found[square] + 1
                queue.append(box)
    return found


def pushes_left(board: Board, boxes: tuple[Square, ...]) -> int:
    """Return a lower bound of the pushes that bring every box to a goal of its own.

    The cheapest assignment, over all permutations: boards have few boxes. A box that can reach no
    goal counts as a million pushes.
    """
    costs = [
        [push_distances(board, goal).get(box, _STUCK) for goal in board.goals] for box in boxes
    ]
    return min(
        sum(row[goal] for row, goal in zip(costs, order, strict=True))
        for order in permutations(range(len(boxes)))
    )


def _try(board: Board, state: SokobanState, way: Direction) -> SokobanState | None:
    try:
        return move(board, state, way)
    except ToolError:
        return None


def _trace(
    before: Mapping[SokobanState, tuple[SokobanState, Direction] | None], last: SokobanState
) -> tuple[Direction, ...]:
    path: list[Direction] = []
    step = before[last]
    while step is not None:
        path.append(step[1])
        step = before[step[0]]
    return tuple(reversed(path))
