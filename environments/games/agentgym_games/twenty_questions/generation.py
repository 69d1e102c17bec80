"""Tables from seeds: people with names and attributes, of whom one is hidden."""

from dataclasses import dataclass

from agentgym_games.dice import Dice
from agentgym_games.sets import Draft
from agentgym_games.twenty_questions.player import most_questions
from agentgym_games.twenty_questions.tasks import QuestionsPrivate, QuestionsPublic

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "hair": ("black", "brown", "blond", "red", "gray"),
    "eyes": ("brown", "blue", "green"),
    "hat": ("cap", "beret", "hood", "none"),
    "coat": ("red", "blue", "green", "white", "black"),
    "pet": ("cat", "dog", "bird", "fish"),
    "drink": ("tea", "coffee", "milk", "juice"),
    "job": ("baker", "nurse", "pilot", "singer", "judge"),
    "home": ("city", "village", "farm", "harbor"),
}
FIRST_NAMES = (
    "Ada", "Ben", "Cara", "Dan", "Elsa", "Finn", "Gita", "Hugo", "Ida", "Jon", "Kim", "Leo",
    "Mona", "Nils", "Olga", "Paul", "Rosa", "Sam", "Tara", "Udo", "Vera", "Will", "Yara", "Zoe",
)  # fmt: skip
LAST_NAMES = (
    "Bell", "Cole", "Dale", "Ford", "Gray", "Hill", "Lake", "Moss", "Park", "Reed", "Stone", "Wood",
)  # fmt: skip
THINGS: dict[str, tuple[str, ...]] = {
    "size": ("tiny", "small", "big"),
    "colour": ("red", "blue", "green", "white"),
    "shape": ("cube", "ball", "ring", "cone"),
}
SPARE = 4
"""Turns allowed beyond the questions and the guess, for calls that are not accepted."""


@dataclass(frozen=True)
class QuestionsLevel:
    """How a table is made.

    Attributes:
        people: How many; 0 for things, of which every combination of values is one.
        attributes: How many they have.
        spare: Questions beyond those that halving needs at most.
    """

    people: int = 0
    attributes: int = 3
    spare: int = 0


CORE = {
    "easy": QuestionsLevel(people=8, attributes=3, spare=2),
    "medium": QuestionsLevel(people=16, attributes=4, spare=1),
    "hard": QuestionsLevel(people=32, attributes=5),
}
TINY = {"tiny": QuestionsLevel(spare=2)}


def draft(level: QuestionsLevel, dice: Dice, number: int) -> Draft | None:
    """Draw one table and who is hidden; None where two people are alike."""
    attributes = THINGS
    items: dict[str, tuple[str, ...]] = {}
    if level.people:
        chosen = dice.sample(list(ATTRIBUTES), level.attributes)
        attributes = {name: ATTRIBUTES[name] for name in chosen}
        names = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
        for name in dice.sample(names, level.people):
            items[name] = tuple(dice.pick(values) for values in attributes.values())
        if len(set(items.values())) < len(items):
            return None
    public = QuestionsPublic(attributes=attributes, items=items, questions=1)
    table = public.table("")
    hidden = dice.pick(table.items).name
    questions = most_questions(table.attributes, table.items) + level.spare
    return Draft(
        public=public.model_copy(update={"questions": questions}),
        private=QuestionsPrivate(hidden=hidden),
        content=f"{public.model_dump_json()} {hidden}",
        max_turns=questions + 1 + SPARE,
    )
