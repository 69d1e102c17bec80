"""The rules of twenty questions, and its player."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.twenty_questions.player import best_question, most_questions
from agentgym_games.twenty_questions.rules import (
    Answer,
    Attribute,
    Item,
    QuestionsState,
    Table,
    ask,
    every_item,
    fitting,
    guess,
)

COLOURS = Attribute("colour", ("red", "blue", "green"))
SHAPES = Attribute("shape", ("cube", "ball"))
THINGS = every_item((COLOURS, SHAPES))
TABLE = Table((COLOURS, SHAPES), THINGS, "blue ball", 2)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[Attribute, ...], tuple[Item, ...]]:
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    attributes = tuple(
        Attribute(f"a{n}", tuple(f"v{i}" for i in range(size))) for n, size in enumerate(sizes)
    )
    rows = st.tuples(*(st.sampled_from(attribute.values) for attribute in attributes))
    chosen = draw(st.lists(rows, min_size=1, max_size=12, unique=True))
    return attributes, tuple(Item(f"i{n}", row) for n, row in enumerate(chosen))


def test_combinations_are_named_by_their_values() -> None:
    assert [item.name for item in THINGS[:3]] == ["red cube", "red ball", "blue cube"]
    assert len(THINGS) == 6


def test_answers_are_true_and_questions_run_out() -> None:
    state = ask(TABLE, QuestionsState(), "colour", "blue")
    state = ask(TABLE, state, "shape", "cube")
    assert [answer.yes for answer in state.asked] == [True, False]
    with pytest.raises(ToolError, match="No question is left"):
        ask(TABLE, state, "shape", "ball")
    assert guess(TABLE, state, "red cube").named == "red cube"


def test_what_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ToolError, match="Attributes: colour, shape"):
        ask(TABLE, QuestionsState(), "size", "big")
    with pytest.raises(ToolError, match="Values: cube, ball"):
        ask(TABLE, QuestionsState(), "shape", "red")
    with pytest.raises(ToolError, match="no such name"):
        guess(TABLE, QuestionsState(), "red")


@given(table=tables(), data=st.data())
def test_the_hidden_one_fits_every_answer(
    table: tuple[tuple[Attribute, ...], tuple[Item, ...]], data: st.DataObject
) -> None:
    attributes, items = table
    hidden = data.draw(st.sampled_from(items))
    game, state = Table(attributes, items, hidden.name, 10), QuestionsState()
    for _ in range(data.draw(st.integers(0, 10))):
        attribute = data.draw(st.sampled_from(attributes))
        state = ask(game, state, attribute.name, data.draw(st.sampled_from(attribute.values)))
    assert hidden in fitting(attributes, items, state.asked)


@given(table=tables())
def test_halving_finds_everyone_within_its_bound(
    table: tuple[tuple[Attribute, ...], tuple[Item, ...]],
) -> None:
    attributes, items = table
    needed = []
    for hidden in items:
        left, count = items, 0
        game, state = Table(attributes, items, hidden.name, 100), QuestionsState()
        while len(left) > 1:
            state = ask(game, state, *best_question(attributes, left))
            left, count = fitting(attributes, items, state.asked), count + 1
        assert left == (hidden,)
        needed.append(count)
    assert max(needed) == most_questions(attributes, items)


def test_an_answer_of_no_rules_out() -> None:
    left = fitting((COLOURS, SHAPES), THINGS, [Answer("colour", "red", yes=False)])
    assert len(left) == 4
