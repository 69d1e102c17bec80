"""A critic of turns: credit as what a turn brought over what was to be expected before it."""

from collections.abc import Sequence
from typing import Literal

import torch

from agentgym.errors import UsageError
from agentgym.training.credit.base import Advantages, Episode


class TurnCritic:
    """Values the state before every turn, and credits a turn with what it changed.

    A small network over a turn's features (the policy's frozen hidden state where the turn
    begins) predicts the discounted return from there on, one value a turn and none a token. It is
    fitted to lambda-returns, which bootstrap from its own values: `lam` 1 is Monte-Carlo
    regression, 0 is TD(0). A turn's advantage is its lambda-return less its value. No group is
    needed: one episode a task is enough, where the group estimators give 0.

    Source: the utterance-level critic of Zhou et al., "ArCHer" (2024); generalised advantage
    estimation of Schulman et al. (2016), over turns.

    Args:
        width: Features a step.
        gamma: Discount of a turn, from 0 to 1.
        lam: How far returns look before they trust the critic, from 0 to 1.
        hidden: Units of the hidden layer.
        rate: Learning rate of the fit.
        passes: Gradient steps a batch.
        seed: Of the network's first weights, so that every rank has the same critic.
    """

    reads: Literal["before", "after"] | None = "before"

    def __init__(
        self,
        *,
        width: int = 64,
        gamma: float = 0.95,
        lam: float = 0.95,
        hidden: int = 64,
        rate: float = 1e-2,
        passes: int = 20,
        seed: int = 0,
    ) -> None:
        self.width = width
        self._gamma, self._lam, self._passes = gamma, lam, passes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inner = torch.nn.Linear(width, hidden)
        last = torch.nn.Linear(hidden, 1)
        torch.nn.init.zeros_(last.weight)  # values begin at 0, not at noise
        torch.nn.init.zeros_(last.bias)
        self._network = torch.nn.Sequential(inner, torch.nn.Tanh(), last)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=rate)

    def values(self, episode: Episode) -> list[float]:
        """Return the value of the state before each turn.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        if not episode.steps:
            return []
        with torch.no_grad():
            found: list[float] = self._network(self._features(episode)).squeeze(1).tolist()
        return found

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        """Return each turn's lambda-return less its value.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        return [self._advantages(episode) for episode in group]

    def learn(self, episodes: Sequence[Episode], /) -> None:
        """Fit the values to the episodes' lambda-returns.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        played = [episode for episode in episodes if episode.steps]
        if not played:
            return
        features = torch.cat([self._features(episode) for episode in played])
        for _ in range(self._passes):
            targets = torch.tensor([value for one in played for value in self._returns(one)])
            self._optimizer.zero_grad()
            with torch.enable_grad():
                found = self._network(features).squeeze(1)
                torch.nn.functional.mse_loss(found, targets).backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()

    def _advantages(self, episode: Episode) -> list[float]:
        pairs = zip(self._returns(episode), self.values(episode), strict=True)
        return [found - value for found, value in pairs]

    def _returns(self, episode: Episode) -> list[float]:
        """Return the lambda-return from each turn on; the end is worth 0."""
        values = [*self.values(episode), 0.0]
        returns = [0.0] * len(episode.steps)
        following = 0.0
        for turn in range(len(returns) - 1, -1, -1):
            ahead = (1 - self._lam) * values[turn + 1] + self._lam * following
            following = returns[turn] = episode.steps[turn].reward + self._gamma * ahead
        return returns

    def _features(self, episode: Episode) -> torch.Tensor:
        """Return the features, of shape (turns, width)."""
        return features(episode, self.width)


def features(episode: Episode, width: int) -> torch.Tensor:
    """Return an episode's features, of shape (turns, `width`).

    Raises:
        UsageError: A turn has no features, or not `width` of them.
    """
    for number, step in enumerate(episode.steps):
        if step.features is None or len(step.features) != width:
            given = "no" if step.features is None else len(step.features)
            raise UsageError(
                f"Turn {number} has {given} features, and the learner reads {width}.",
                remedy="Train with TurnLevelGRPOTrainer, which adds them, or set the width.",
            )
    return torch.tensor([step.features for step in episode.steps], dtype=torch.float32)
