"""Reward functions for TRL: an episode's reward, and parts of its grade for the log."""

from collections.abc import Callable, Sequence
from typing import Any

from agentgym.errors import UsageError
from agentgym.types import Reward

RewardFunction = Callable[..., list[float | None]]

GRADE = "grade"
"""The component that is the grade itself."""


def episode_reward(
    prompts: Sequence[Any],
    episode: Sequence[Any] | None = None,
    grade: Sequence[Reward | None] | None = None,
    environments: Sequence[Any] | None = None,
    **others: Any,
) -> list[float | None]:
    """Return the sum of each episode's rewards, the final grade among them.

    None where infrastructure broke, so that TRL leaves the row out of its group. Under an
    `environment_factory`, None everywhere: there the environments bring the reward themselves.

    Raises:
        UsageError: The rows are not those of a `TrlSpec`.
    """
    if environments is not None:
        return [None] * len(prompts)
    if episode is None or grade is None:
        raise UsageError(
            "The rows have no episode to take the reward from.",
            remedy="Pass rollout_func=spec.rollout_func.",
        )
    return [
        None if found is None else played.total
        for played, found in zip(episode, grade, strict=True)
    ]


def component_reward(name: str) -> RewardFunction:
    """Return a function that logs one component of the grade; its weight is to be 0.

    Args:
        name: The component, or `grade` for the grade's value.
    """

    def component(
        prompts: Sequence[Any],
        grade: Sequence[Reward | None] | None = None,
        environments: Sequence[Any] | None = None,
        **others: Any,
    ) -> list[float | None]:
        if environments is not None:
            grade = [environment._graded() for environment in environments]
        return [_component(found, name) for found in grade or [None] * len(prompts)]

    component.__name__ = name
    return component


def _component(grade: Reward | None, name: str) -> float | None:
    if grade is None:
        return None
    return grade.value if name == GRADE else grade.components.get(name)


def check_weights(functions: Sequence[Any], weights: Sequence[float], own: Sequence[Any]) -> None:
    """Refuse to add a component, which is for the log, to the reward.

    Args:
        functions: The trainer's reward functions.
        weights: What each weighs.
        own: Those that are for the log.

    Raises:
        UsageError: One of them weighs something.
    """
    for function, weight in zip(functions, weights, strict=False):
        if function in own and weight:
            raise UsageError(
                f"The component {function.__name__!r} is for the log and weighs {weight:g}.",
                remedy="Set GRPOConfig(reward_weights=spec.reward_weights).",
            )
