"""The estimator that a training asks for by name, learned ones too."""

from collections.abc import Callable, Mapping
from typing import Any

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.credit.base import Estimator
from agentgym.training.credit.critic import TurnCritic
from agentgym.training.credit.estimators import ESTIMATORS
from agentgym.training.credit.progress import (
    LearnedProgress,
    Progressed,
    SeenProgress,
)
from agentgym.training.credit.progress import (
    component as named_component,
)
from agentgym.training.recipes.named import checked_options
from agentgym.types import Json


def component_progress(*, component: str, gains: bool = False) -> Estimator:
    """Return `spa` on the progress that a reward component tells; see `credit.progress`."""
    return Progressed(named_component(component, gains=gains))


MADE: Mapping[str, Callable[..., Estimator]] = {
    "component_progress": component_progress,
    "learned_progress": LearnedProgress,
    "seen_progress": SeenProgress,
    "turn_critic": TurnCritic,
}
"""Estimators that are made, and may learn; the others are functions."""


def make_estimator(
    name: str, options: Mapping[str, Json]
) -> tuple[Estimator | str, dict[str, Any]]:
    """Return what `TurnLevelGRPOTrainer` takes: an estimator or its name, and its options.

    Raises:
        UnknownNameError: There is no such estimator or option.
        UsageError: An option cannot be, or `spa` would have no progress to go by.
    """
    if name == "spa":
        raise UsageError(
            "spa needs to know how far the task has come.",
            remedy="Take component_progress, seen_progress or learned_progress for the estimator.",
        )
    known = {**ESTIMATORS, **MADE}
    del known["spa"]
    if name not in known:
        raise UnknownNameError("estimator", name, known)
    chosen = checked_options(known[name], options, name)
    return (MADE[name](**chosen), {}) if name in MADE else (name, chosen)
