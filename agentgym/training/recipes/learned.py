"""What recipes and learned estimators know, kept with a trainer's checkpoints."""

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from agentgym.errors import UsageError
from agentgym.training.credit.base import Episode, Step
from agentgym.types import Reward

FILE = "learned.pt"

KINDS = [Episode, Step, Reward]
"""What a state may hold besides numbers, text, tensors and containers of them."""


@runtime_checkable
class Stateful(Protocol):
    """Something that learns beside the model."""

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned: numbers, text, tensors, `KINDS`, and containers of them."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` returned."""


def save_learned(parts: Sequence[object], folder: Path) -> None:
    """Write down what each part that is `Stateful` has learned.

    Args:
        parts: Recipes, an estimator, a sampler.
        folder: A checkpoint; made where it is missing.
    """
    learning = _learning(parts)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save([(name, part.state_dict()) for name, part in learning], folder / FILE)


def load_learned(parts: Sequence[object], folder: Path) -> None:
    """Give each part back what it had learned.

    Raises:
        UsageError: The checkpoint is of other parts, or holds what cannot be read.
    """
    path = folder / FILE
    try:
        with torch.serialization.safe_globals([*KINDS]):  # nothing in it is executed
            found = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} was written by another trainer: it has no {FILE}.",
            remedy="Load its model and begin anew.",
        ) from error
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise UsageError(
            f"{path} cannot be read.", remedy="Go on from an earlier checkpoint."
        ) from error
    learning = _learning(parts)
    if [name for name, _ in found] != [name for name, _ in learning]:
        raise UsageError(
            f"{folder} was written with {', '.join(name for name, _ in found) or 'no recipes'}.",
            remedy="Go on with the same recipes and estimator, in the same order.",
        )
    for (_, part), (_, state) in zip(learning, found, strict=True):
        part.load_state_dict(state)


def _learning(parts: Sequence[object]) -> list[tuple[str, Stateful]]:
    return [(type(part).__name__, part) for part in parts if isinstance(part, Stateful)]
