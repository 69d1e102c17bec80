"""The rules of twenty questions: yes and no about attributes, and one guess."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from agentgym.errors import ToolError


class Attribute(NamedTuple):
    """An attribute and the values it may have."""

    name: str
    values: tuple[str, ...]


class Item(NamedTuple):
    """One of those that may be hidden: its name, and its value of each attribute in order."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """What does not change during a game.

    Attributes:
        attributes: In order.
        items: Those that may be hidden, each of another name.
        hidden: The name of the one that is.
        questions: How many may be asked.
    """

    attributes: tuple[Attribute, ...]
    items: tuple[Item, ...]
    hidden: str
    questions: int


class Answer(NamedTuple):
    """A question and its answer."""

    attribute: str
    value: str
    yes: bool


@dataclass(frozen=True)
class QuestionsState:
    """What was asked, in order, and who was named; "" before the guess."""

    asked: tuple[Answer, ...] = ()
    named: str = ""


def every_item(attributes: Iterable[Attribute]) -> tuple[Item, ...]:
    """Return one item for each combination of values, named by them."""
    combinations = product(*(attribute.values for attribute in attributes))
    return tuple(Item(" ".join(values), values) for values in combinations)


def ask(table: Table, state: QuestionsState, attribute: str, value: str) -> QuestionsState:
    """Ask whether the hidden one has a value of an attribute.

    Raises:
        ToolError: No question is left, or there is no such attribute or value.
    """
    if len(state.asked) >= table.questions:
        raise ToolError("No question is left: name your guess.")
    known = {known.name: known.values for known in table.attributes}
    if attribute not in known:
        raise ToolError(f"There is no such attribute. Attributes: {', '.join(known)}.")
    if value not in known[attribute]:
        raise ToolError(f"{attribute} has no such value. Values: {', '.join(known[attribute])}.")
    hidden = next(item for item in table.items if item.name == table.hidden)
    answer = Answer(attribute, value, hidden.values[list(known).index(attribute)] == value)
    return replace(state, asked=(*state.asked, answer))


def guess(table: Table, state: QuestionsState, name: str) -> QuestionsState:
    """Name the hidden one; right or wrong, it ends the game.

    Raises:
        ToolError: Nobody has that name.
    """
    if all(item.name != name for item in table.items):
        raise ToolError("There is no such name.")
    return replace(state, named=name)


def fitting(
    attributes: Iterable[Attribute], items: Iterable[Item], answers: Iterable[Answer]
) -> tuple[Item, ...]:
    """Return the items that all answers hold of."""
    place = {attribute.name: number for number, attribute in enumerate(attributes)}
    known = [(place[answer.attribute], answer.value, answer.yes) for answer in answers]
    return tuple(
        item
        for item in items
        if all((item.values[column] == value) == yes for column, value, yes in known)
    )
