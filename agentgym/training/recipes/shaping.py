"""Shaping of the loss and the reward: mostly settings of TRL's, by the names papers give them.

The settings are dictionaries to unfold into a configuration, and the reward is one more function::

    args = GRPOConfig(**clip_higher(), **entropy_floor(0.3), ...)
    trainer = TurnLevelGRPOTrainer(
        args=args,
        reward_funcs=[*spec.reward_funcs, OverlongPenalty(limit=512, margin=128)],
        ...
    )

TRL's `mask_truncated_completions` takes every row whose last token is not an end token for cut,
among them each that ends in the environment's words; leave it off in multi-turn training.
"""

from collections.abc import Sequence
from typing import Any

from agentgym.errors import UsageError
from agentgym.training.tokens import NOBODY


def clip_higher(epsilon_high: float = 0.28) -> dict[str, Any]:
    """Return TRL settings that let unlikely tokens grow further than likely ones shrink.

    Source: Yu et al., "DAPO" (2025), section 3.1.

    Args:
        epsilon_high: Upper bound of the clipped ratio, less 1; the lower one stays `epsilon`.
    """
    return _settings(epsilon_high=epsilon_high)


def entropy_floor(floor: float, *, step: float = 0.005, largest: float = 0.1) -> dict[str, Any]:
    """Return TRL settings that add an entropy bonus while entropy is at or below a floor.

    The bonus grows by `step` an optimizer step below the floor and shrinks above it.

    Source: He et al., "Skywork Open Reasoner 1" (2025), adaptive entropy control.

    Args:
        floor: Mean entropy of a trained token, in nats.
        step: Change of the bonus's coefficient in an optimizer step.
        largest: The coefficient's upper bound.

    Raises:
        UsageError: The installed TRL has no entropy control.
    """
    return _settings(
        use_adaptive_entropy=True,
        entropy_target=floor,
        entropy_coef=step,
        entropy_coef_delta=step,
        entropy_coef_max=largest,
    )


class OverlongPenalty:
    """A reward function: 0 up to a length, then down to -1 at the limit.

    Counts the tokens that the model sampled in the whole episode; TRL's
    `get_soft_overlong_punishment` counts the environment's as well.

    Source: Yu et al., "DAPO" (2025), equation 13.

    Args:
        limit: Sampled tokens at which the penalty is whole.
        margin: Over how many tokens it grows.

    Raises:
        UsageError: The margin is not from 1 to `limit`.
    """

    __name__ = "overlong_penalty"

    def __init__(self, *, limit: int, margin: int) -> None:
        if not 1 <= margin <= limit:
            raise UsageError(
                f"A margin of {margin} does not fit a limit of {limit} tokens.",
                remedy="Give a margin from 1 to the limit.",
            )
        self._limit, self._margin = limit, margin

    def __call__(self, *, turn_ids: Sequence[Sequence[int]], **rest: Any) -> list[float]:
        """Return a penalty for each row, from -1 to 0.

        Args:
            turn_ids: Of each row, the turn that sampled each token, or -1.
            rest: What else TRL passes.
        """
        lengths = [sum(turn != NOBODY for turn in turns) for turns in turn_ids]
        free = self._limit - self._margin
        return [-min(1.0, max(0.0, (length - free) / self._margin)) for length in lengths]


def _settings(**settings: Any) -> dict[str, Any]:
    """Return settings that the installed TRL is checked to have."""
    from dataclasses import fields

    from trl.trainer.grpo_config import GRPOConfig

    missing = sorted(settings.keys() - {field.name for field in fields(GRPOConfig)})
    if missing:
        raise UsageError(
            f"The installed TRL has no {', '.join(missing)}.", remedy="Install a newer trl."
        )
    return settings
