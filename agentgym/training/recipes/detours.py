"""Rows of episodes in which turns were undone, and the same rows without those turns.

An episode that was set back in the middle is one sequence of tokens: the turns up to the failing
one, the failing ones, the words that set it back, and the turns after. Its final grade names the
turns that were not undone, by the label `KEPT`. Leaving out the others gives the sequence as if
the agent had done right at once: before the first turn after the setback stands what stood
before the turn that it replaces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgym.training.credit.base import Episode
from agentgym.training.tokens import NOBODY
from agentgym.types import Reward

KEPT = "kept_turns"
"""Label of a final grade: the turns that were not undone, such as "0,1,5"."""

BY_TOKEN = ("completion_ids", "turn_ids", "env_mask")


def kept_turns(row: Mapping[str, Any]) -> list[int] | None:
    """Return the turns of a row that were not undone; None where no turn was undone.

    Empty where a limit ended the episode right after it was set back to its beginning.
    """
    grade = row.get("grade")
    label = grade.labels.get(KEPT) if isinstance(grade, Reward) else None
    return None if label is None else [int(number) for number in label.split(",") if number]


def undone_left_out(row: Mapping[str, Any]) -> list[int]:
    """Return the places of the completion tokens that stay when undone turns are left out."""
    turns: Sequence[int] = row["turn_ids"]
    kept = kept_turns(row)
    if kept is None:
        return list(range(len(turns)))
    tokens = {number: [at for at, turn in enumerate(turns) if turn == number] for number in kept}
    places: list[int] = []
    for number in kept:
        if places:  # what the world said after the turn before
            at = places[-1] + 1
            while at < len(turns) and turns[at] == NOBODY:
                places.append(at)
                at += 1
        places += tokens[number]
    return places


def cut(row: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """Return a row of which only some completion tokens, and their turns, are left.

    Args:
        row: By name; what it has for every token is cut, and its episode and turns renumbered.
        places: The tokens that stay, in order.
    """
    changed: dict[str, Any] = {
        key: [row[key][place] for place in places] for key in BY_TOKEN if key in row
    }
    kept = kept_turns(row)
    if kept is None:
        return {**row, **changed}
    numbers = {NOBODY: NOBODY, **{turn: number for number, turn in enumerate(kept)}}
    changed["turn_ids"] = [numbers[turn] for turn in changed["turn_ids"]]
    episode: Episode = row["episode"]
    changed["episode"] = replace(episode, steps=tuple(episode.steps[turn] for turn in kept))
    labels = {name: label for name, label in row["grade"].labels.items() if name != KEPT}
    changed["grade"] = row["grade"].model_copy(update={"labels": labels})
    return {**row, **changed}
