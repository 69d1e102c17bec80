"""Write task sets: `python -m agentgym_games FOLDER`.

Without options it writes every shipped set to `FOLDER/<game>/<set>`; with them, sets of other
sizes or from other seeds: `python -m agentgym_games FOLDER --game maze --set tiny --seed 7
--train 1000 --test 200`.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from agentgym.errors import UsageError
from agentgym_games.recipes import RECIPES
from agentgym_games.sets import write_set


def main(arguments: list[str] | None = None) -> None:
    """Write the sets that the arguments name; None takes the command line's."""
    parser = argparse.ArgumentParser("python -m agentgym_games", description="Write task sets.")
    parser.add_argument("folder", type=Path, help="where to: FOLDER/<game>/<set>")
    parser.add_argument("--game", choices=sorted({recipe.game for recipe in RECIPES}))
    parser.add_argument("--set", dest="name", choices=sorted({recipe.name for recipe in RECIPES}))
    parser.add_argument("--seed", type=int, default=0, help="of all draws; 0 made the shipped sets")
    parser.add_argument("--train", type=int, help="tasks for training; as shipped by default")
    parser.add_argument("--test", type=int, help="tasks for reporting; as shipped by default")
    given = parser.parse_args(arguments)
    for recipe in RECIPES:
        if given.game in (None, recipe.game) and given.name in (None, recipe.name):
            train = recipe.train if given.train is None else given.train
            test = recipe.test if given.test is None else given.test
            sized = replace(recipe, train=train, test=test)
            try:
                write_set(sized, given.folder / recipe.game / recipe.name, seed=given.seed)
            except UsageError as error:
                parser.error(str(error))


if __name__ == "__main__":
    main()
