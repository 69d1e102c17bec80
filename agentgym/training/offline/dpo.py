"""Episodes to pairs for TRL's `DPOTrainer`: two turns of different worth in the same place.

A pair is of single turns, not of episodes: a trainer counts every token after the prompt, so that
whatever the environment answered would be learned too.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Literal

from agentgym.agents.formats import Said, get_format
from agentgym.training.offline.filters import distinct
from agentgym.training.offline.sft import with_tools
from agentgym.training.offline.turns import Place, completion_of, places, prompt_of
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Json

Same = Literal["history", "state"]
"""What makes two turns comparable: all that was said before, or the environment's state."""


def dpo_rows(
    episodes: Iterable[Trajectory],
    *,
    action_format: str = "native",
    same: Same = "history",
    margin: float = 0.0,
) -> Iterator[dict[str, Json]]:
    """Yield `prompt`, `chosen`, `rejected` as messages, and `tools` as JSON text.

    For each place that different turns were taken in, the turn with the highest mean return from
    there on is preferred to the one with the lowest. The prompt is the history of the preferred
    one.

    Args:
        episodes: Several of each task, else there is nothing to compare.
        action_format: How a model writes its turns: `native`, `react` or `brackets`.
        same: What makes places the same. `state` needs fingerprints, and finds more pairs; where
            what the agent has seen matters beyond the state, they are unfair.
        margin: By how much the returns of a pair have to differ at least.

    Raises:
        UsageError: The format cannot say what a turn did.
    """
    return distinct(_pairs(episodes, action_format, same, margin))


def compared(episodes: Iterable[Trajectory], same: Same) -> list[list[Place]]:
    """Return the places of all episodes, those of one task that are the same together.

    Places without a fingerprint are left out where states are compared.
    """
    together: dict[str, list[Place]] = defaultdict(list)
    for episode in episodes:
        for place in places(episode):
            where = place.state if same == "state" else _history_key(place)
            if where is not None:
                together[f"{episode.task_hash} {where}"].append(place)
    return list(together.values())


def _pairs(
    episodes: Iterable[Trajectory], action_format: str, same: Same, margin: float
) -> Iterator[dict[str, Json]]:
    written = get_format(action_format)
    for met in compared(episodes, same):
        by_action: dict[str, list[Place]] = defaultdict(list)
        for place in met:
            by_action[_action_key(place)].append(place)
        ranked = sorted(by_action.values(), key=_worth)
        worst, best = ranked[0], ranked[-1]
        if len(ranked) < 2 or _worth(best) - _worth(worst) <= max(margin, 0.0):
            continue
        messages, tools = prompt_of(best[0], written)
        row = {
            "prompt": messages,
            "chosen": completion_of(best[0], written),
            "rejected": completion_of(worst[0], written),
        }
        yield with_tools(row, tools)


def _worth(taken: list[Place]) -> float:
    return fmean(place.value for place in taken)


def _history_key(place: Place) -> str:
    return json.dumps([_content(said) for said in place.history], sort_keys=True)


def _action_key(place: Place) -> str:
    return json.dumps(_content(place.action), sort_keys=True)


def _content(said: Said) -> Json:
    """Return what was said, without the ids that a server draws for calls."""
    if isinstance(said, Action):
        return [said.text, [[call.name, call.arguments] for call in said.tool_calls]]
    return said.model_dump(mode="json", exclude={"fault", "tool_call_id"})
