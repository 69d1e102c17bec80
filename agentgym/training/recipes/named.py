"""Recipes by name and options, as a settings file asks for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agentgym.env import Environment
from agentgym.errors import CapabilityError, UnknownNameError, UsageError
from agentgym.registry import EnvSpec
from agentgym.tasks import TaskSet
from agentgym.training.recipes.base import Recipe
from agentgym.training.recipes.curriculum import Difficulty, Horizon
from agentgym.training.recipes.distill import SelfDistillation
from agentgym.training.recipes.reflect import Reflect, Retrying
from agentgym.training.recipes.replay import Replay
from agentgym.training.recipes.selection import DropEqualGroups, Selection
from agentgym.types import Json

Wrap = Callable[[Environment], Environment]

RECIPES: Mapping[str, Callable[..., Recipe]] = {
    "difficulty": Difficulty,
    "drop_equal_groups": DropEqualGroups,
    "horizon": Horizon,
    "reflect": Reflect,
    "replay": Replay,
    "selection": Selection,
    "self_distillation": SelfDistillation,
}
"""Those that need nothing but numbers and words; others are for scripts."""

GIVEN = ("tasks", "inner")
"""Parameters that the training fills in."""


@dataclass
class Recipes:
    """What is switched on.

    Attributes:
        recipes: In the order they act in.
        wraps: What is made of each environment, the first innermost.
    """

    recipes: list[Recipe]
    wraps: list[Wrap]

    def wrap(self, environment: Environment) -> Environment:
        """Return the environment with all wrappers around it."""
        for wrap in self.wraps:
            environment = wrap(environment)
        return environment


def make_recipes(
    asked: Sequence[tuple[str, Mapping[str, Json]]], env_spec: EnvSpec, tasks: TaskSet
) -> Recipes:
    """Make recipes from names and options.

    `horizon` and `reflect` wrap the environment too; the options of `reflect` are those of its
    wrapper, `Retrying`.

    Args:
        asked: Names and options, in the order the recipes act in.
        env_spec: The environment they act on.
        tasks: Those that are trained on.

    Raises:
        UnknownNameError: There is no such recipe or option.
        UsageError: An option cannot be.
        CapabilityError: `reflect` in an environment without snapshots.
    """
    made = Recipes([], [])
    for name, options in asked:
        if name not in RECIPES:
            raise UnknownNameError("recipe", name, RECIPES)
        if name == "reflect":
            if "snapshot" not in env_spec.capabilities:
                raise CapabilityError("snapshot", env_spec.name)
            chosen = checked_options(Retrying, options, name)
            made.recipes.append(Reflect())
            made.wraps.append(partial(Retrying, **chosen))
            continue
        kind = RECIPES[name]
        chosen = checked_options(kind, options, name)
        recipe = kind(tasks, **chosen) if kind is Difficulty else kind(**chosen)
        made.recipes.append(recipe)
        if isinstance(recipe, Horizon):
            made.wraps.append(recipe.wrap)
    return made


def checked_options(
    function: Callable[..., Any], options: Mapping[str, Json], what: str
) -> dict[str, Any]:
    """Return options as a function's parameters have them.

    Args:
        function: What takes them.
        options: By name.
        what: What an error calls it.

    Raises:
        UnknownNameError: There is no such option.
        UsageError: One is missing, or cannot be.
    """
    known = {
        name: parameter
        for name, parameter in signature(function).parameters.items()
        if name not in GIVEN and parameter.kind is not Parameter.POSITIONAL_ONLY
    }
    for name, parameter in known.items():
        if parameter.default is Parameter.empty and name not in options:
            raise UsageError(f"{what} has no {name}.", remedy="Set it among its options.")
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise UnknownNameError(f"option of {what}", name, known)
        try:
            found[name] = TypeAdapter(known[name].annotation).validate_python(value)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise UsageError(
                f"The option {name} of {what} is {value!r}.", remedy=f"{said}."
            ) from error
    return found
