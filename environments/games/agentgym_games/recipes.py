"""The shipped task sets: what is in them, and how often chance alone solves a task."""

from agentgym.errors import UnknownNameError
from agentgym_games.maze import generation as maze
from agentgym_games.minesweeper import generation as minesweeper
from agentgym_games.sets import Recipe
from agentgym_games.sokoban import generation as sokoban
from agentgym_games.textnav import generation as textnav
from agentgym_games.twenty_questions import generation as twenty_questions
from agentgym_games.wordle import generation as wordle

RECIPES: tuple[Recipe, ...] = (
    Recipe(
        game="maze",
        name="core",
        levels=maze.CORE,
        draft=maze.draft,
        train=300,
        test=100,
        description="Carved mazes of 7, 9 and 11 squares a side, each seen as a map, by "
        "position or by the nearest walls. Legal moves at random solve a share of "
        "0.02.",
    ),
    Recipe(
        game="maze",
        name="tiny",
        levels=maze.TINY,
        draft=maze.draft,
        train=300,
        test=100,
        description="Rooms of 4 squares a side with a few walls, seen by position, for models "
        "of few words. Legal moves at random solve a share of 0.2.",
    ),
    Recipe(
        game="minesweeper",
        name="core",
        levels=minesweeper.CORE,
        draft=minesweeper.draft,
        train=300,
        test=100,
        description="Boards of 5, 6 and 7 squares a side that need no guess; the hard ones "
        "need more than comparing two numbers. Legal moves at random solve a "
        "share of 0.005.",
    ),
    Recipe(
        game="minesweeper",
        name="tiny",
        levels=minesweeper.TINY,
        draft=minesweeper.draft,
        train=150,
        test=50,
        description="Boards of 4 squares a side with 3 mines, for models of few words. Legal "
        "moves at random solve a share of 0.05.",
    ),
    Recipe(
        game="sokoban",
        name="core",
        levels=sokoban.CORE,
        draft=sokoban.draft,
        train=300,
        test=100,
        description="Boards of 1, 2 and 3 boxes, each with a shortest solution. Legal moves "
        "at random solve a share of 0.001.",
    ),
    Recipe(
        game="sokoban",
        name="tiny",
        levels=sokoban.TINY,
        draft=sokoban.draft,
        train=300,
        test=100,
        description="One box in an empty room of 4 squares a side, for models of few words. "
        "Legal moves at random solve a share of 0.04.",
    ),
    Recipe(
        game="textnav",
        name="core",
        levels=textnav.CORE,
        draft=textnav.draft,
        train=300,
        test=100,
        description="Houses of 4, 6 and 9 rooms with 0, 1 and 2 locked doors. Legal moves at "
        "random solve a share of 0.07.",
    ),
    Recipe(
        game="textnav",
        name="tiny",
        levels=textnav.TINY,
        draft=textnav.draft,
        train=300,
        test=100,
        description="Three rooms in a row and one thing, for models of few words. Legal moves "
        "at random solve a share of 0.31.",
    ),
    Recipe(
        game="twenty-questions",
        name="core",
        levels=twenty_questions.CORE,
        draft=twenty_questions.draft,
        train=300,
        test=100,
        description="Tables of 8, 16 and 32 people with 3, 4 and 5 attributes. Legal moves at "
        "random solve a share of 0.07.",
    ),
    Recipe(
        game="twenty-questions",
        name="tiny",
        levels=twenty_questions.TINY,
        draft=twenty_questions.draft,
        train=37,
        test=11,
        description="48 things, one for each size, colour and shape, for models of few words. "
        "Legal moves at random solve a share of 0.03.",
    ),
    Recipe(
        game="wordle",
        name="core",
        levels=wordle.CORE,
        draft=wordle.draft,
        train=300,
        test=100,
        description="Common English words of five letters, in 8, 6 and 5 guesses. Legal moves "
        "at random solve a share of 0.01.",
    ),
    Recipe(
        game="wordle",
        name="small",
        levels=wordle.SMALL,
        draft=wordle.draft,
        train=180,
        test=72,
        description="Every string of four letters over a, b, c and d, in 7 guesses. Legal "
        "moves at random solve a share of 0.03.",
    ),
    Recipe(
        game="wordle",
        name="tiny",
        levels=wordle.TINY,
        draft=wordle.draft,
        train=42,
        test=22,
        description="Every string of three letters over a, b, c and d, in 6 guesses, for "
        "models of few words. Legal moves at random solve a share of 0.09.",
    ),
)


def find_recipe(game: str, name: str) -> Recipe:
    """Return the recipe of a shipped set.

    Raises:
        UnknownNameError: There is no such set.
    """
    known = {f"{recipe.game}/{recipe.name}": recipe for recipe in RECIPES}
    wanted = f"{game}/{name}"
    if wanted not in known:
        raise UnknownNameError("task set", wanted, known)
    return known[wanted]
