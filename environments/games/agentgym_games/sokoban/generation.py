"""Sokoban boards from seeds: played backwards from a solved board, then solved."""

from dataclasses import dataclass

from agentgym_games.compass import STEPS, Square, ahead
from agentgym_games.dice import Dice
from agentgym_games.sets import Draft
from agentgym_games.sokoban.rules import Board, SokobanState, draw_board, pull
from agentgym_games.sokoban.solver import shortest_solution
from agentgym_games.sokoban.tasks import SokobanPrivate, SokobanPublic


@dataclass(frozen=True)
class SokobanLevel:
    """How a board is made.

    Attributes:
        size: Rows and columns inside of the outer wall.
        boxes: Boxes and goals.
        walls: Walls inside.
        shortest: Moves of the shortest solution at least.
        longest: Moves of the shortest solution at most.
        pulls: Pulls by which the solved board is scrambled.
    """

    size: int
    boxes: int
    walls: int
    shortest: int
    longest: int
    pulls: int = 60


CORE = {
    "easy": SokobanLevel(size=5, boxes=1, walls=4, shortest=8, longest=20),
    "medium": SokobanLevel(size=5, boxes=2, walls=3, shortest=14, longest=30),
    "hard": SokobanLevel(size=6, boxes=3, walls=7, shortest=22, longest=50),
}
TINY = {"tiny": SokobanLevel(size=4, boxes=1, walls=0, shortest=2, longest=8, pulls=6)}


def draft(level: SokobanLevel, dice: Dice, number: int) -> Draft | None:
    """Draw one board; None where its solution is too short or too long for the level."""
    inside = [(r, c) for r in range(1, level.size + 1) for c in range(1, level.size + 1)]
    *walls, player = dice.sample(inside, level.walls + 1)
    board = _board(level, walls, dice)
    if player in board.goals:
        return None
    state = _scramble(board, SokobanState(player, board.goals), level.pulls, dice)
    if set(state.boxes) & set(board.goals):
        return None
    solution = shortest_solution(board, state)
    if solution is None or not level.shortest <= len(solution) <= level.longest:
        return None
    layout = draw_board(board, state)
    return Draft(
        public=SokobanPublic(layout=layout),
        private=SokobanPrivate(solution="".join(way[0] for way in solution)),
        content="/".join(layout),
        max_turns=2 * len(solution) + 4,
    )


def _board(level: SokobanLevel, walls: list[Square], dice: Dice) -> Board:
    side = level.size + 2
    rows = tuple(
        "".join(
            "#" if r in (0, side - 1) or c in (0, side - 1) or (r, c) in walls else "-"
            for c in range(side)
        )
        for r in range(side)
    )
    floor = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "-"]
    return Board(rows, tuple(sorted(dice.sample(floor, level.boxes))))


def _scramble(board: Board, state: SokobanState, pulls: int, dice: Dice) -> SokobanState:
    """Pull boxes about, choosing among the pulls that can be got at, then walk away."""
    for _ in range(pulls):
        ways = _pulls(board, state)
        if not ways:
            break
        state = dice.pick(ways)
    return SokobanState(dice.pick(_reach(board, state)), state.boxes)


def _pulls(board: Board, state: SokobanState) -> list[SokobanState]:
    found = []
    for square in _reach(board, state):
        here = SokobanState(square, state.boxes)
        found += [after for way in STEPS if (after := pull(board, here, way)) is not None]
    return found


def _reach(board: Board, state: SokobanState) -> list[Square]:
    reached = [state.player]
    for square in reached:  # grows while it is walked through
        for way in STEPS:
            there = ahead(square, way)
            if board.free(there) and there not in state.boxes and there not in reached:
                reached.append(there)
    return reached
