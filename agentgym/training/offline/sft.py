"""Episodes to rows for TRL's `SFTTrainer`: exact tokens where they were recorded, else messages."""

import json
from collections.abc import Iterable, Iterator, Sequence

from agentgym.agents.formats import get_format
from agentgym.errors import UsageError
from agentgym.training.offline.filters import distinct
from agentgym.training.offline.turns import completion_of, places, prompt_of
from agentgym.training.tokens import Row, rows
from agentgym.trajectories.record import Trajectory
from agentgym.types import Json, TokenTrace

IGNORED = -100
"""The label of a token that no loss is computed on."""


def sft_rows(
    episodes: Sequence[Trajectory], *, action_format: str = "native"
) -> Iterator[dict[str, Json]]:
    """Return rows of tokens where every turn of every episode has them, else rows of messages.

    Args:
        episodes: What is to be imitated.
        action_format: How a model writes its turns: `native`, `react` or `brackets`; only
            messages depend on it.

    Raises:
        UsageError: The format cannot say what a turn did.
    """
    played = [episode for episode in episodes if episode.turns]
    if played and all(turn.tokens for episode in played for turn in episode.turns):
        return token_rows(played)
    return message_rows(played, action_format=action_format)


def token_rows(episodes: Iterable[Trajectory]) -> Iterator[dict[str, Json]]:
    """Yield `input_ids` and `labels`, as long as each other, of distinct rows.

    A label is the token where the agent sampled it and `IGNORED` everywhere else, so that the
    loss is on the agent's own tokens and no template takes part. An episode whose history was
    trimmed gives several rows.

    Raises:
        UsageError: A turn has no tokens.
    """
    return distinct(labelled(row) for episode in episodes for row in rows(traces(episode)))


def labelled(row: Row) -> dict[str, Json]:
    """Return a row's `input_ids` and `labels`."""
    sampled = [
        token if mine else IGNORED for token, mine in zip(row.completion_ids, row.mask, strict=True)
    ]
    return {
        "input_ids": [*row.prompt_ids, *row.completion_ids],
        "labels": [IGNORED] * len(row.prompt_ids) + sampled,
    }


def traces(episode: Trajectory) -> list[TokenTrace]:
    """Return the tokens of every turn.

    Raises:
        UsageError: A turn has none.
    """
    found = [turn.tokens for turn in episode.turns if turn.tokens is not None]
    if len(found) < len(episode.turns):
        raise UsageError(
            f"Not every turn of {episode.key.task_id!r} epoch {episode.key.epoch} has tokens.",
            remedy="Train on messages, or play with a policy that records tokens.",
        )
    return found


def message_rows(
    episodes: Iterable[Trajectory], *, action_format: str = "native"
) -> Iterator[dict[str, Json]]:
    """Yield `messages` up to the agent's last turn, and `tools` as JSON text, distinct ones.

    Train on them with `assistant_only_loss=True` and a chat template that marks what the
    assistant says. `tools` is absent where the format puts the tools into words. The tools are
    those of the last turn.

    Raises:
        UsageError: The format cannot say what a turn did.
    """
    return distinct(_message_row(episode, action_format) for episode in episodes if episode.turns)


def _message_row(episode: Trajectory, action_format: str) -> dict[str, Json]:
    chosen = get_format(action_format)
    found = places(episode)
    said = [completion_of(place, chosen) for place in found]
    messages, tools = prompt_of(found[-1], chosen)
    return with_tools({"messages": [*messages, *said[-1]]}, tools)


def with_tools(row: dict[str, Json], tools: list[dict[str, Json]]) -> dict[str, Json]:
    """Return a row with its tools as JSON text, which TRL reads; without any as it is."""
    return {**row, "tools": json.dumps(tools)} if tools else row
