"""A critic of turns: credit as what a turn brought over what was to be expected before it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from agentgym.errors import UsageError
from agentgym.training.credit.base import Advantages, Episode
from agentgym.training.credit.returns import Count, Share


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
        width: Count = 64,
        gamma: Share = 0.95,
        lam: Share = 0.95,
        hidden: Count = 64,
        rate: float = 1e-2,
        passes: Count = 20,
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
        return self._values([episode])[0]

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        """Return each turn's lambda-return less its value.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        found: Advantages = []
        for episode, values in zip(group, self._values(group), strict=True):
            returns = self._returns(episode, values)
            found.append([one - value for one, value in zip(returns, values, strict=True)])
        return found

    def learn(self, episodes: Sequence[Episode], /) -> None:
        """Fit the values to the episodes' lambda-returns.

        Raises:
            UsageError: A turn has no features, or not `width` of them.
        """
        played = [episode for episode in episodes if episode.steps]
        if not played:
            return
        read = torch.cat([features(episode, self.width) for episode in played])
        for _ in range(self._passes):
            with torch.enable_grad():
                found = self._network(read).squeeze(1)
                values = _split(found.tolist(), played)
                pairs = zip(played, values, strict=True)
                targets = [one for pair in pairs for one in self._returns(*pair)]
                loss = torch.nn.functional.mse_loss(found, torch.tensor(targets))
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the network's weights and the state of their fit."""
        return {
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])

    def _values(self, episodes: Sequence[Episode]) -> list[list[float]]:
        played = [features(episode, self.width) for episode in episodes if episode.steps]
        if not played:
            return [[] for _ in episodes]
        with torch.no_grad():
            return _split(self._network(torch.cat(played)).squeeze(1).tolist(), episodes)

    def _returns(self, episode: Episode, values: Sequence[float]) -> list[float]:
        """Return the lambda-return from each turn on; the end is worth 0."""
        after = [*values[1:], 0.0]
        returns = [0.0] * len(episode.steps)
        following = 0.0
        for turn in range(len(returns) - 1, -1, -1):
            ahead = (1 - self._lam) * after[turn] + self._lam * following
            following = returns[turn] = episode.steps[turn].reward + self._gamma * ahead
        return returns


def _split(flat: list[float], episodes: Sequence[Episode]) -> list[list[float]]:
    """Return the numbers of all turns as lists of one episode each."""
    left = iter(flat)
    return [[next(left) for _ in episode.steps] for episode in episodes]


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
