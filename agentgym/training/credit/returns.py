"""Arithmetic that the estimators share: discounted returns, and normalising a group."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

EPSILON = 1e-4
"""Added to a standard deviation before dividing by it; TRL's value."""

Scale = Literal["std", "none"]
"""Whether advantages are divided by the standard deviation of what they are compared with."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
"""Options as a training's settings are checked by."""


def discounted(rewards: Sequence[float], gamma: float) -> list[float]:
    """Return the discounted return from each turn on.

    Args:
        rewards: Of each turn, in order.
        gamma: Discount of a turn, from 0 to 1.
    """
    returns = [0.0] * len(rewards)
    following = 0.0
    for turn in range(len(rewards) - 1, -1, -1):
        following = returns[turn] = rewards[turn] + gamma * following
    return returns


def normalised(values: Sequence[float], scale: Scale = "std") -> list[float]:
    """Return each value less the mean, divided by the sample standard deviation plus `EPSILON`.

    A value alone is compared with nothing: it gives 0.
    """
    if len(values) < 2:
        return [0.0] * len(values)
    mean = math.fsum(values) / len(values)
    differences = [value - mean for value in values]
    if scale == "none":
        return differences
    variance = math.fsum(d * d for d in differences) / (len(values) - 1)
    divisor = math.sqrt(variance) + EPSILON
    return [difference / divisor for difference in differences]
