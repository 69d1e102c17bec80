"""Episodes to rows for TRL's `KTOTrainer`: single turns with a label, good or bad.

A row is one turn, for the reason that `agentgym.training.offline.dpo` gives.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Literal

from agentgym.agents.formats import get_format
from agentgym.training.offline.dpo import Same, compared
from agentgym.training.offline.filters import distinct
from agentgym.training.offline.sft import with_tools
from agentgym.training.offline.turns import Place, completion_of, places, prompt_of
from agentgym.trajectories.record import Trajectory
from agentgym.types import Json

LabelBy = Literal["episode", "turn"]
"""Whose merit decides a turn's label: its episode's success, or its own return."""


def kto_rows(
    episodes: Sequence[Trajectory],
    *,
    action_format: str = "native",
    label_by: LabelBy = "episode",
    same: Same = "history",
) -> Iterator[dict[str, Json]]:
    """Yield `prompt` and `completion` as messages, `label`, and `tools` as JSON text.

    Args:
        episodes: Graded ones, good and bad.
        action_format: How a model writes its turns: `native`, `react` or `brackets`.
        label_by: With `episode` every turn has its episode's success for a label. With `turn` it
            is whether the return from the turn on is above the mean of the turns taken in the
            same place; a turn that is exactly average, or was compared with nothing, is left
            out.
        same: What makes places the same; see `agentgym.training.offline.dpo.dpo_rows`.

    Raises:
        UsageError: The format cannot say what a turn did.
    """
    judged = _by_turn(episodes, same) if label_by == "turn" else _by_episode(episodes)
    return distinct(_row(place, label, action_format) for place, label in judged)


def _by_episode(episodes: Iterable[Trajectory]) -> Iterator[tuple[Place, bool]]:
    for episode in episodes:
        for place in places(episode):
            yield place, bool(episode.success)


def _by_turn(episodes: Iterable[Trajectory], same: Same) -> Iterator[tuple[Place, bool]]:
    for met in compared(episodes, same):
        mean = fmean(place.value for place in met)
        for place in met:
            if place.value != mean:
                yield place, place.value > mean


def _row(place: Place, label: bool, action_format: str) -> dict[str, Json]:
    written = get_format(action_format)
    messages, tools = prompt_of(place, written)
    row = {"prompt": messages, "completion": completion_of(place, written), "label": label}
    return with_tools(row, tools)
