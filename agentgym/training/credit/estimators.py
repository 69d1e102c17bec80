"""The estimators, each a pure function from a group of episodes to an advantage for every turn."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.credit.base import Advantages, Episode, Estimator
from agentgym.training.credit.returns import Scale, Share, discounted, normalised


def grpo(group: Sequence[Episode], /, *, scale: Scale = "std") -> Advantages:
    """Compare whole episodes: every turn of one has the advantage of the episode's total.

    Source: Shao et al., "DeepSeekMath" (2024), outcome supervision.
    """
    advantages = normalised([episode.total for episode in group], scale)
    return [
        [advantage] * len(episode.steps)
        for advantage, episode in zip(advantages, group, strict=True)
    ]


def gigpo(
    group: Sequence[Episode], /, *, gamma: Share = 0.95, weight: float = 1.0, scale: Scale = "std"
) -> Advantages:
    """Compare whole episodes, and turns that were taken in the same state.

    A turn's advantage is the episode's as in `grpo`, plus `weight` times the advantage of its
    discounted return among all turns of the group that were taken in the state it was taken in.
    A state that was seen once adds nothing.

    Source: Feng et al., "Group-in-Group Policy Optimization" (2025), equations 4 to 8.

    Raises:
        UsageError: A turn's state is not known.
    """
    by_state: dict[str, list[tuple[int, int]]] = defaultdict(list)
    returns = [discounted([s.reward for s in episode.steps], gamma) for episode in group]
    for number, episode in enumerate(group):
        for turn, step in enumerate(episode.steps):
            if step.state is None:
                raise UsageError(
                    "gigpo compares states, and a turn's fingerprint is not known.",
                    remedy="Use an environment that declares `fingerprint`, or another estimator.",
                )
            by_state[step.state].append((number, turn))
    advantages = grpo(group, scale=scale)
    for places in by_state.values():
        found = normalised([returns[number][turn] for number, turn in places], scale)
        for (number, turn), advantage in zip(places, found, strict=True):
            advantages[number][turn] += weight * advantage
    return advantages


def turn(group: Sequence[Episode], /, *, gamma: Share = 1.0, scale: Scale = "std") -> Advantages:
    """Compare the discounted return from each turn on with that of all turns of the group.

    The return from a turn on leaves out what was earned before it, so that a good beginning
    does not credit a bad end.
    """
    returns = [discounted([s.reward for s in episode.steps], gamma) for episode in group]
    flat = normalised([value for episode in returns for value in episode], scale)
    found = iter(flat)
    return [[next(found) for _ in episode] for episode in returns]


def spa(group: Sequence[Episode], /, *, gamma: Share = 1.0, scale: Scale = "std") -> Advantages:
    """Spread each episode's total over its turns by the progress each has made, then as `turn`.

    A turn that moved the task from 0.2 to 0.5 of its way earns 0.3 of the total; what the
    progress does not explain is earned by the last turn, so that the sum stays the total.

    Source: the reward redistribution of Wang et al., "SPA-RL" (2025).

    Raises:
        UsageError: A turn's progress is not known.
    """
    return turn([_spread(episode) for episode in group], gamma=gamma, scale=scale)


def _spread(episode: Episode) -> Episode:
    before = 0.0
    rewards: list[float] = []
    for step in episode.steps:
        if step.progress is None:
            raise UsageError(
                "spa spreads the reward by progress, and a turn's is not known.",
                remedy="Give a progress function, or use another estimator.",
            )
        rewards.append((step.progress - before) * episode.total)
        before = step.progress
    if rewards:
        rewards[-1] += (1 - before) * episode.total
    steps = zip(episode.steps, rewards, strict=True)
    return Episode(tuple(replace(step, reward=reward) for step, reward in steps))


ESTIMATORS: Mapping[str, Callable[..., Advantages]] = {
    "grpo": grpo,
    "gigpo": gigpo,
    "turn": turn,
    "spa": spa,
}


def estimator(name: str, **options: Any) -> Estimator:
    """Return an estimator by name, with its options set.

    Raises:
        UnknownNameError: There is no such estimator.
        UsageError: It has no such option.
    """
    if name not in ESTIMATORS:
        raise UnknownNameError("estimator", name, ESTIMATORS)
    found = ESTIMATORS[name]
    known = [p for p in signature(found).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in {p.name for p in known}:
            raise UnknownNameError(f"option of {name}", option, [p.name for p in known])
    return partial(found, **options)
