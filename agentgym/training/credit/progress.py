"""Progress scores for `spa`: what the environment tells, a function of one's own, or learned.

Each is an estimator to pass to the trainer: `Progressed(component("goals_met"))`,
`SeenProgress()`, `LearnedProgress()`.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch

from agentgym.training.credit.base import Advantages, Episode, Estimator, Step
from agentgym.training.credit.critic import features
from agentgym.training.credit.estimators import spa
from agentgym.training.credit.returns import Count, Share

Progress = Callable[[Episode], Sequence[float]]
"""From an episode to how far the task had come after each of its turns, from 0 to 1."""


def component(name: str, *, gains: bool = False) -> Progress:
    """Return a progress function that reads a reward component.

    Args:
        name: The component; a turn without it stands where the turn before stood.
        gains: Whether the component is what the turn added, not how far the task has come.
    """

    def progress(episode: Episode) -> list[float]:
        found: list[float] = []
        reached = 0.0
        for step in episode.steps:
            if name in step.components:
                reached = step.components[name] + (reached if gains else 0.0)
            found.append(_clipped(reached))
        return found

    return progress


class Progressed:
    """An estimator to which a progress function is given: `spa` on any environment.

    Args:
        progress: Where a turn's progress comes from.
        estimator: What reads it.
    """

    def __init__(self, progress: Progress, estimator: Estimator = spa) -> None:
        self._progress = progress
        self._estimator = estimator

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        """Return the estimator's advantages on the episodes with their progress."""
        return self._estimator([with_progress(episode, self._progress) for episode in group])


class SeenProgress(Progressed):
    """Progress learned from states of successful episodes: how much of the way lay behind them.

    A state's progress is the mean, over successful visits, of the share of the episode's turns
    that were taken before it. A state never seen in success keeps the progress of the state
    before it. States are the environment's fingerprints, so this fits tasks whose states recur.

    Args:
        success: The total from which an episode counts as successful.
        estimator: What reads the progress.
    """

    reads: Literal["before", "after"] | None = None
    width = 0

    def __init__(self, *, success: float = 1.0, estimator: Estimator = spa) -> None:
        super().__init__(self.progress, estimator)
        self._success = success
        self._shares: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def progress(self, episode: Episode) -> list[float]:
        """Return the progress after each turn; after the last it is that of success or not."""
        found: list[float] = []
        reached = 0.0
        for step in episode.steps[1:]:  # the state after a turn is the one the next is taken in
            total, visits = self._shares.get(step.state or "", (0.0, 0.0))
            reached = total / visits if visits else reached
            found.append(reached)
        if episode.steps:
            found.append(1.0 if episode.total >= self._success else reached)
        return found

    def learn(self, episodes: Sequence[Episode], /) -> None:
        """Take in the states of the successful episodes."""
        for episode in episodes:
            if episode.total < self._success:
                continue
            for number, step in enumerate(episode.steps):
                if step.state is not None:
                    entry = self._shares[step.state]
                    entry[0] += number / len(episode.steps)
                    entry[1] += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the summed shares and the visits of each state."""
        return {"shares": dict(self._shares)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self._shares.update(state["shares"])


class LearnedProgress(Progressed):
    """Progress as the sum of what each turn contributes to the total, learned by regression.

    A turn's contribution is linear in its features, and the contributions of an episode are
    fitted to add up to its total: ridge regression of totals on summed features, in closed form
    over every episode seen, older ones counting less.

    Source: the progress estimator of Wang et al., "SPA-RL" (2025), whose network is replaced by a
    linear map of the policy's hidden state.

    Args:
        width: Features a step.
        ridge: Weight of the penalty that keeps the map small.
        decay: What earlier batches count against the newest, from 0 to 1.
        estimator: What reads the progress.
    """

    reads: Literal["before", "after"] | None = "after"

    def __init__(
        self,
        *,
        width: Count = 64,
        ridge: float = 1.0,
        decay: Share = 0.9,
        estimator: Estimator = spa,
    ) -> None:
        super().__init__(self.progress, estimator)
        self.width = width
        self._ridge, self._decay = ridge, decay
        self._moments = torch.zeros(width, width, dtype=torch.float64)
        self._targets = torch.zeros(width, dtype=torch.float64)
        self._weights = torch.zeros(width, dtype=torch.float64)

    def progress(self, episode: Episode) -> list[float]:
        """Return the summed contributions up to each turn, within 0 and 1.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        if not episode.steps:
            return []
        parts = features(episode, self.width).double() @ self._weights
        return [_clipped(value) for value in parts.cumsum(0).tolist()]

    def learn(self, episodes: Sequence[Episode], /) -> None:
        """Fit the contributions to the episodes' totals.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        played = [episode for episode in episodes if episode.steps]
        if not played:
            return
        summed = torch.stack([features(one, self.width).double().sum(0) for one in played])
        totals = torch.tensor([episode.total for episode in played], dtype=torch.float64)
        self._moments = self._decay * self._moments + summed.T @ summed
        self._targets = self._decay * self._targets + summed.T @ totals
        penalty = self._ridge * torch.eye(self.width, dtype=torch.float64)
        self._weights = torch.linalg.solve(self._moments + penalty, self._targets)

    def state_dict(self) -> dict[str, Any]:
        """Return the moments, the targets and the map that was fitted to them."""
        return {"moments": self._moments, "targets": self._targets, "weights": self._weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self._moments, self._targets = state["moments"], state["targets"]
        self._weights = state["weights"]


def with_progress(episode: Episode, progress: Progress) -> Episode:
    """Return the episode with every step's progress filled in."""
    pairs = zip(episode.steps, progress(episode), strict=True)
    steps: list[Step] = [replace(step, progress=_clipped(value)) for step, value in pairs]
    return Episode(tuple(steps))


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
