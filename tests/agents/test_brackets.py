"""The brackets format: `tool[argument]`, read from what models write and written back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.agents.formats import BracketsFormat
from agentgym.clients import Completion
from agentgym.types import Action, Message, ToolCall, ToolSpec


def tool(name: str, required: tuple[str, ...] = (), **types: str) -> ToolSpec:
    properties = {parameter: {"type": kind} for parameter, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=f"What {name} does.", parameters=schema)


SEARCH = tool("search", ("query",), query="string")
CLICK = tool("click", ("element",), element="string")
ADD = tool("add", ("amount",), amount="integer")
STOP = tool("stop")
SUBMIT = tool("submit", query="string", rows="array")
MOVE = tool("move", ("file", "folder"), file="string", folder="string")
TOOLS = (SEARCH, CLICK, ADD, STOP, SUBMIT, MOVE)


def read(text: str, tools: tuple[ToolSpec, ...] = TOOLS) -> Action:
    return BracketsFormat().parse(Completion(text=text, model="m"), tools)


def only_call(text: str) -> tuple[str, Any]:
    (call,) = read(text).tool_calls
    return call.name, call.arguments


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("search[red shoes]", "search", {"query": "red shoes"}),
        ("click[< Prev]", "click", {"element": "< Prev"}),
        ("click[size: 5 [wide]]", "click", {"element": "size: 5 [wide]"}),
        ("Action: search[red shoes]", "search", {"query": "red shoes"}),
        ("**Action 2:** `search[red shoes]`", "search", {"query": "red shoes"}),
        ("> click[Buy Now]", "click", {"element": "Buy Now"}),
        ("I will search[red shoes].", "search", {"query": "red shoes"}),
        ("<think>click[x]</think>search[red]", "search", {"query": "red"}),
        ("search[red]\nclick[x]", "search", {"query": "red"}),
        ("list[0] is red\nclick[x]", "click", {"element": "x"}),
        ("search[red", "search", {"query": "red"}),
        ("search[]", "search", {"query": ""}),
        ('search[{"query": "red"}]', "search", {"query": "red"}),
        ("add[3]", "add", {"amount": 3}),
        ("add[many]", "add", {"amount": "many"}),
        ("stop[]", "stop", {}),
        ("stop[now]", "stop", "now"),
        ("submit[select 1]", "submit", {"query": "select 1"}),
        ("submit[]", "submit", {}),
        ('submit[{"rows": [[1]]}]', "submit", {"rows": [[1]]}),
        ('move[{"file": "a", "folder": "b"}]', "move", {"file": "a", "folder": "b"}),
        ("move[a]", "move", "a"),
        ("buy[now]", "buy", "now"),
    ],
)
def test_an_action_is_read(text: str, name: str, arguments: Any) -> None:
    assert only_call(text) == (name, arguments)


def test_what_stands_before_is_the_thought() -> None:
    assert read("Thought: shoes first.\nsearch[shoes]").text == "shoes first."
    assert read("Let me see.\n\nsearch[shoes]").text == "Let me see."


def test_words_alone_are_words() -> None:
    assert read("I am done [really].") == Action(text="I am done [really].")


def test_native_calls_are_kept() -> None:
    calls = (ToolCall(name="search", arguments={"query": "x"}, id="a"),)
    completion = Completion(text="hm", tool_calls=calls, model="m")
    assert BracketsFormat().parse(completion, TOOLS).tool_calls == calls


def test_the_tools_are_told_in_the_system_message() -> None:
    described = SEARCH.model_copy(
        update={
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "A few words."}},
                "required": ["query"],
            }
        }
    )
    rules, question = Message(role="system", content="Rules."), Message(role="user", content="Go.")
    turn = Action(text="Hm.", tool_calls=(ToolCall(name="search", arguments={"query": "red"}),))
    answer = Message(role="tool", content="Found.", tool_call_id="call_0")
    messages, sent = BracketsFormat().request_parts(
        [rules, question, turn, answer], (described, STOP, MOVE)
    )
    assert sent == []
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    told = messages[0]["content"]
    assert told.startswith("Rules.\n\nYou act by writing actions.")
    assert "- search[query]: What search does. query: A few words." in told
    assert "- stop[]: What stop does." in told
    assert "- move[JSON object]: What move does. Arguments: {" in told
    assert messages[2]["content"] == "Hm.\nsearch[red]"
    assert messages[3]["content"] == "Observation: Found."


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(codec="utf-8"))
    | st.sampled_from(["]", "a\nb]", '{"query": 1}']),
    "integer": st.integers(),
    "array": st.lists(st.integers()),
}


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    chosen = draw(st.sampled_from(TOOLS))
    required = chosen.parameters["required"]
    given_values = {
        name: draw(VALUES[schema["type"]])
        for name, schema in chosen.parameters["properties"].items()
        if name in required or draw(st.booleans())
    }
    return ToolCall(name=chosen.name, arguments=given_values)


@given(calls())
def test_what_is_written_is_read_back(call: ToolCall) -> None:
    action = Action(tool_calls=(call,))
    assert read(BracketsFormat().write(action, TOOLS)) == action


PIECES = ["Action:", "search[", "click[", "]", "\n", "{", '"', "[", "Thought:", "</think>"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join))
def test_nothing_raises(text: str) -> None:
    assert len(read(text).tool_calls) <= 1
    assert len(read(text, ()).tool_calls) <= 1
