"""The player of twenty questions: it reads the table, and never the hidden name."""

from collections.abc import Generator, Sequence

from agentgym.types import Action, Observation, Task, call
from agentgym_games.twenty_questions.rules import Answer, Attribute, Item, every_item, fitting
from agentgym_games.twenty_questions.tasks import QuestionsPrivate, QuestionsPublic


def oracle(
    task: Task[QuestionsPublic, QuestionsPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play as `play` does."""
    yield from play(observation)


def play(observation: Observation) -> Generator[Action, Observation, None]:
    """Play from observations alone: halve what is left with every question, then guess."""
    attributes, items = read_table(observation.text)
    while len(items) > 1:
        attribute, value = best_question(attributes, items)
        observation = yield call("ask", question=f"{attribute} {value}")
        answer = Answer(attribute, value, observation.text.startswith("yes"))
        items = fitting(attributes, items, [answer])
    yield call("guess", name=items[0].name)


def best_question(attributes: Sequence[Attribute], items: Sequence[Item]) -> tuple[str, str]:
    """Return the attribute and value that split the items most evenly; the first of equals."""
    questions = {
        (attribute.name, value): sum(item.values[column] == value for item in items)
        for column, attribute in enumerate(attributes)
        for value in attribute.values
    }
    return min(questions, key=lambda question: abs(2 * questions[question] - len(items)))


def most_questions(attributes: Sequence[Attribute], items: Sequence[Item]) -> int:
    """Return how many questions `play` needs at most."""
    if len(items) < 2:
        return 0
    attribute, value = best_question(attributes, items)
    halves = [fitting(attributes, items, [Answer(attribute, value, yes)]) for yes in (True, False)]
    return 1 + max(most_questions(attributes, half) for half in halves)


def read_table(text: str) -> tuple[tuple[Attribute, ...], tuple[Item, ...]]:
    """Read the attributes and items of the first observation."""
    listed = [line.partition(": ") for line in text.partition(" left\n")[2].splitlines()]
    rows = [(name, tuple(values.split(", "))) for name, _, values in listed]
    attributes = tuple(Attribute(*row) for row in rows if not row[0].startswith("- "))
    items = tuple(Item(name[2:], values) for name, values in rows if name.startswith("- "))
    return attributes, items or every_item(attributes)
