"""Task sets from seeds: drafts are drawn until there are enough of different content.

The content itself decides the split it belongs to, so that training tasks from any seed share
nothing with testing tasks from any other.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from agentgym.errors import UsageError
from agentgym.types import Task
from agentgym_games.dice import Dice

TRIES = 2000
"""Drafts in a row that may be of no use, before a level is said to be exhausted."""

Split: TypeAlias = Literal["train", "test"]

_TEST_SHARE = 4
"""One in so many contents is for testing."""

_CANARIES = uuid.UUID("5d0f1c2e-7d0b-5a52-9f0e-3b7c6a1e4d11")


@dataclass(frozen=True)
class Draft:
    """One task in the making.

    Attributes:
        content: What no two tasks of a set share, such as a maze's walls or a hidden word.
        max_turns: The task's turn limit.
        tags: Further tags.
    """

    public: BaseModel
    private: BaseModel
    content: str
    max_turns: int
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How a set of one game is made.

    Attributes:
        game: The environment's name.
        name: The set's name.
        levels: The levels' parameters by the level's name.
        draft: `draft(parameters, dice, number)`: a draft, or None where the draw came to nothing.
        train: Tasks for training, over all levels.
        test: Tasks for reporting, over all levels.
        description: What the set is, with its chance level.
    """

    game: str
    name: str
    levels: Mapping[str, Any]
    draft: Callable[[Any, Dice, int], Draft | None]
    train: int
    test: int
    description: str


def make_tasks(recipe: Recipe, *, seed: int = 0) -> list[Task[Any, Any]]:
    """Make the tasks of a set: the same recipe and seed give the same tasks everywhere.

    Raises:
        UsageError: A level has not as much different content as was asked for.
    """
    tasks: list[Task[Any, Any]] = []
    used: set[str] = set()
    sizes: dict[Split, int] = {"train": recipe.train, "test": recipe.test}
    for split, total in sizes.items():
        for place, (level, parameters) in enumerate(recipe.levels.items()):
            count = total // len(recipe.levels) + (place < total % len(recipe.levels))
            for number in range(count):
                dice = Dice(f"{recipe.game}:{recipe.name}:{seed}:{split}:{level}:{number}")
                draft = _fresh(recipe, parameters, dice, number, split, used)
                tasks.append(_task(draft, f"{level}-{split}-{number:03d}", split, level))
    return tasks


def write_set(recipe: Recipe, folder: Path, *, seed: int = 0) -> None:
    """Write a set's `taskset.toml` and `tasks.jsonl` into a folder."""
    canary = f"agentgym-canary:{uuid.uuid5(_CANARIES, f'{recipe.game}/{recipe.name}/{seed}')}"
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "name": recipe.name,
        "environment": recipe.game,
        "description": recipe.description,
        "licence": "MIT",
        "canary": canary,
    }
    lines = [f"{key} = {json.dumps(word)}" for key, word in words.items()]
    lines.insert(1, "version = 1")
    lines += ["", "[splits]", 'train = "For training."', 'test = "For reporting."', ""]
    (folder / "taskset.toml").write_text("\n".join(lines), "utf-8")
    rows = (
        {**task.model_dump(mode="json", exclude_defaults=True), "split": task.split}
        for task in make_tasks(recipe, seed=seed)
    )
    text = "".join(json.dumps({**row, "canary": canary}) + "\n" for row in rows)
    (folder / "tasks.jsonl").write_text(text, "utf-8")


def split_of(game: str, content: str) -> Split:
    """Return the split that some content of a game belongs to, whatever the seed."""
    drawn = hashlib.sha256(f"{game}:{content}".encode()).digest()[0]
    return "test" if drawn % _TEST_SHARE == 0 else "train"


def _fresh(
    recipe: Recipe, parameters: Any, dice: Dice, number: int, split: Split, used: set[str]
) -> Draft:
    """Draw until there is content of the right split that no other task has."""
    for _ in range(TRIES):
        draft = recipe.draft(parameters, dice, number)
        if draft is None or draft.content in used:
            continue
        if split_of(recipe.game, draft.content) == split:
            used.add(draft.content)
            return draft
    raise UsageError(
        f"{recipe.game}/{recipe.name} has not as much content for {split}.",
        remedy="Ask for fewer tasks.",
    )


def _task(draft: Draft, task_id: str, split: Split, level: str) -> Task[Any, Any]:
    generic: Any = Task
    task: Task[Any, Any] = generic[type(draft.public), type(draft.private)](
        id=task_id,
        split=split,
        public=draft.public,
        private=draft.private,
        max_turns=draft.max_turns,
        tags={"difficulty": level, **draft.tags},
    )
    return task
