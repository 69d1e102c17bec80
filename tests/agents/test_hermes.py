"""Calls as models write them themselves: read back exactly, and mistakes kept as mistakes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.agents.formats import HermesFormat
from agentgym.clients.base import Completion
from agentgym.types import Action, ToolCall

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=6,
)


def read(text: str) -> Action:
    return HermesFormat().parse(Completion(text=text, model="m"), ())


def one(name: str, arguments: Any) -> tuple[ToolCall, ...]:
    return (ToolCall(name=name, arguments=arguments, id="call_0"),)


def test_words_and_every_call_are_read() -> None:
    action = read(
        'I look.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>\n'
        '<tool_call>{"name": "press", "arguments": {"colour": "red"}}</tool_call>'
    )
    assert action.text == "I look."
    assert [(call.name, call.arguments) for call in action.tool_calls] == [
        ("look", {}),
        ("press", {"colour": "red"}),
    ]


OBJECT_IN_TEXT = '{"name": "press", "arguments": "{\\"colour\\": \\"red\\"}"}'
CUT_OFF = '{"name": "press", "arguments": {"colour":'


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        ('{"name": "look"}', one("look", {})),
        ('{"name": "look", "arguments": null}', one("look", {})),
        (OBJECT_IN_TEXT, one("press", {"colour": "red"})),
        ('{"name": "press", "arguments": [1]}', one("press", "[1]")),
        (CUT_OFF, one("press", CUT_OFF)),
        ('{"name": "look"}}', one("look", '{"name": "look"}}')),
        ("look", one("", "look")),
        ('{"name": 3}', one("", '{"name": 3}')),
        ("", one("", "")),
    ],
)
def test_what_is_no_call_keeps_its_text(written: str, calls: tuple[ToolCall, ...]) -> None:
    assert read(f"<tool_call>{written}</tool_call>").tool_calls == calls


def test_a_call_that_was_cut_off_is_read_to_the_end() -> None:
    assert read('<tool_call>{"name": "look", "arguments": {}}').tool_calls == one("look", {})


@given(st.text("abc .?", max_size=20).map(str.strip), st.lists(
    st.tuples(st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
              st.dictionaries(st.text("abc"), VALUES, max_size=3)), max_size=3))  # fmt: skip
def test_what_is_written_is_read_back(words: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    made = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
    action = Action(text=words, tool_calls=made)
    if "</tool_call>" not in str(calls):
        assert read(HermesFormat().write(action)) == action


@given(st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "{", '"name":', '"x"', "}"])))
def test_nothing_raises(parts: list[str]) -> None:
    action = read("".join(parts))
    assert len(action.tool_calls) == parts.count("<tool_call>")
