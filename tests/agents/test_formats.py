"""Action formats: what a model is sent and how its answers are read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.agents.formats import FORMATS, NativeFormat, ReActFormat, Said, get_format
from agentgym.agents.formats.react import render_action
from agentgym.clients import ChatRequest, Completion
from agentgym.clients.lean import LeanClient
from agentgym.errors import UnknownNameError
from agentgym.types import Action, ImagePart, Message, TextPart, ToolCall, ToolSpec
from tests.fake_openai import FakeOpenAI, Reply

IMAGE = ImagePart.from_bytes(b"png")
TOOLS = (
    ToolSpec(
        name="query",
        description="Run one statement.",
        parameters={"type": "object", "properties": {"sql": {"type": "string"}}},
    ),
)
RULES = Message(role="system", content="Be brief.")
QUESTION = Message(role="user", content="How many?")


def query(sql: str, call_id: str = "") -> ToolCall:
    return ToolCall(name="query", arguments={"sql": sql}, id=call_id)


def answer(content: Any, call_id: str = "call_0") -> Message:
    return Message(role="tool", content=content, tool_call_id=call_id)


def read(text: str) -> Action:
    return ReActFormat().parse(Completion(text=text, model="m"), TOOLS)


# --- native ---------------------------------------------------------------------------------


def test_native_sends_the_protocols_wire_form() -> None:
    turn = Action(text="Let me see.", tool_calls=(query("select 1"),))
    messages, tools = NativeFormat().request_parts(
        [RULES, QUESTION, turn, answer("1"), Action(text="One.")], TOOLS
    )
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "query", "arguments": '{"sql": "select 1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": "1"},
        {"role": "assistant", "content": "One."},
    ]
    assert tools == [TOOLS[0].to_wire()]


def test_native_sends_arguments_that_were_no_object_as_an_object() -> None:
    turn = Action(tool_calls=(ToolCall(name="query", arguments="{oops"),))
    messages, _ = NativeFormat().request_parts([turn, answer("not JSON")], TOOLS)
    sent = json.loads(messages[0]["tool_calls"][0]["function"]["arguments"])
    assert list(sent.values()) == ["{oops"]


def test_native_shows_a_turns_images_after_all_of_its_answers() -> None:
    turn = Action(tool_calls=(query("a"), query("b")))
    shot = answer((TextPart(text="a shot"), IMAGE), "call_0")
    messages, _ = NativeFormat().request_parts([turn, shot, answer("b", "call_1")], TOOLS)
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user"]
    assert messages[1]["content"] == "a shot"
    assert messages[3]["content"] == [IMAGE.to_wire()]


def test_native_renders_an_answer_without_its_call_as_words() -> None:
    """An agent without history sends a memory and the last observation alone."""
    memory = Message(role="system", content="So far: nothing.")
    messages, _ = NativeFormat().request_parts([memory, answer("3 rows")], TOOLS)
    assert messages[1] == {"role": "user", "content": "3 rows"}


def test_native_takes_words_and_calls_as_they_are() -> None:
    completion = Completion(text="hm", tool_calls=(query("x", "a"),), model="m")
    assert NativeFormat().parse(completion, TOOLS) == Action(
        text="hm", tool_calls=(query("x", "a"),)
    )


# --- ReAct: what is sent --------------------------------------------------------------------


def test_react_puts_the_tools_into_the_system_message_and_history_into_words() -> None:
    turn = Action(text="Let me see.", tool_calls=(query("select 1"),))
    messages, tools = ReActFormat().request_parts(
        [RULES, QUESTION, turn, answer("1"), Message(role="user", content="Well?")], TOOLS
    )
    assert tools == []
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    system = messages[0]["content"]
    assert system.startswith("Be brief.\n\n")
    assert "query: Run one statement." in system
    assert json.dumps(TOOLS[0].parameters) in system
    assert messages[2]["content"] == (
        'Thought: Let me see.\nAction: query\nAction Input: {"sql": "select 1"}'
    )
    assert messages[3]["content"] == "Observation: 1\n\nWell?"


def test_react_without_tools_adds_nothing() -> None:
    messages, _ = ReActFormat().request_parts([QUESTION], ())
    assert messages == [QUESTION.to_wire()]


def test_react_keeps_images() -> None:
    shot = answer((TextPart(text="a shot"), IMAGE))
    messages, _ = ReActFormat().request_parts([QUESTION, shot], ())
    assert [part["type"] for part in messages[0]["content"]] == [
        "text",
        "text",
        "text",
        "image_url",
    ]


def test_react_sends_a_later_system_message_as_the_users() -> None:
    messages, _ = ReActFormat().request_parts([RULES, RULES, QUESTION, Action(text="x"), RULES], ())
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]


# --- ReAct: how answers are read ------------------------------------------------------------

SELECT = {"sql": "select 1"}


@pytest.mark.parametrize(
    "text",
    [
        'Thought: t\nAction: query\nAction Input: {"sql": "select 1"}',
        'Thought: t\nAction: query\nAction Input:\n{\n  "sql": "select 1"\n}\n',
        'Thought: t\nAction: query\nAction Input:\n```json\n{"sql": "select 1"}\n```',
        'Thought: t\nAction: `query`\nAction Input: ```{"sql": "select 1"}```',
        '**Thought:** t\n**Action:** query\n**Action Input:** {"sql": "select 1"}',
        'thought: t\naction: "query"\naction input: {"sql": "select 1"} and more',
        'Thought 1: t\nAction 1: query\nAction Input 1: {"sql": "select 1"}',
        'Thought: t\nAction: query({"sql": "select 1"})',
        'Thought: t\nAction: query {"sql": "select 1"}',
        'Thought: t\nAction: query\n{"sql": "select 1"}',
        'Thought: t\nAction:\n```\n{"action": "query", "action_input": {"sql": "select 1"}}\n```',
        'Thought: t\nAction: {"name": "query", "arguments": {"sql": "select 1"}}',
        'Thought: t\nAction: query\nAction Input: {"sql": "select 1"}\nObservation: 1\n'
        'Thought: done\nAction: submit\nAction Input: {"answer": 1}',
        "<think>Action: drop\nAction Input: {}</think>\nThought: t\nAction: query\n"
        'Action Input: {"sql": "select 1"}',
        'Thought: t\r\nAction: query\r\nAction Input: {"sql": "select 1"}\r\n',
    ],
)
def test_react_reads_the_first_action_however_it_is_dressed(text: str) -> None:
    action = read(text)
    assert [(call.name, call.arguments) for call in action.tool_calls] == [("query", SELECT)]
    assert action.text == "t"


@pytest.mark.parametrize(
    "text",
    [
        "Action: tables",
        "Action: tables()",
        "Action: tables\nAction Input:",
        "Action: tables\nAction Input: None",
        "Action: tables\nAction Input: {}\nObservation: x",
        "Action: tables\nObservation: made up\nAction: query",
    ],
)
def test_react_reads_a_call_without_arguments(text: str) -> None:
    (call,) = read(text).tool_calls
    assert (call.name, call.arguments) == ("tables", {})


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("Action: query\nAction Input: select 1\nfrom t\nObservation: x", "select 1\nfrom t"),
        ("Action: query\nAction Input: {'sql': 1}", "{'sql': 1}"),
        ('Action: query\nAction Input: {"sql": "select', '{"sql": "select'),
        ("Action: query\nAction Input: ```sql\nselect 1\n```", "select 1"),
        ('Action: query(sql="a")', 'sql="a"'),
        ("Action: query\nAction Input: " + '{"a":' * 50_000, '{"a":' * 50_000),
    ],
    ids=lambda text: text[:30],
)
def test_react_keeps_an_input_that_is_no_object_as_text(text: str, raw: str) -> None:
    (call,) = read(text).tool_calls
    assert (call.name, call.arguments) == ("query", raw)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Just words.", "Just words."),
        ("Thought: I know.\nAnswer: It is 3.\nAll of it.", "It is 3.\nAll of it."),
        ("Thought: I know.\nFinal Answer: 3", "3"),
        ("Thought: only a thought\nObservation: made up", "only a thought"),
        ("My action: none yet", "My action: none yet"),
        ("", ""),
    ],
)
def test_react_reads_words_where_there_is_no_action(text: str, words: str) -> None:
    assert read(text) == Action(text=words)


def test_react_takes_calls_that_the_server_has_read_itself() -> None:
    completion = Completion(text="", tool_calls=(query("x", "a"),), model="m")
    assert ReActFormat().parse(completion, TOOLS).tool_calls == (query("x", "a"),)


LABELS = ["Thought:", "Action:", "Action Input:", "Observation:", "Answer:", "```", "\n", "{", '"']


@given(st.lists(st.sampled_from(LABELS) | st.text(max_size=8), max_size=30).map("".join))
def test_react_never_raises(text: str) -> None:
    action = read(text)
    assert len(action.tool_calls) <= 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc_"), inner),
    max_leaves=8,
)  # fmt: skip
WORDS = st.text("abc ?.,'é", max_size=20).map(str.strip)


@given(
    WORDS, st.from_regex(r"[a-z_][a-z0-9_.-]{0,20}", fullmatch=True), st.dictionaries(WORDS, JSON)
)
def test_react_reads_back_what_it_renders(
    thought: str, name: str, arguments: dict[str, Any]
) -> None:
    action = Action(text=thought, tool_calls=(ToolCall(name=name, arguments=arguments),))
    assert read(render_action(action)) == action


@given(WORDS)
def test_react_reads_back_the_words_it_renders(words: str) -> None:
    assert read(render_action(Action(text=words))) == Action(text=words)


# --- both -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
async def test_a_conversation_through_a_server(name: str) -> None:
    action_format = get_format(name)
    script = {
        "native": [Reply("t", calls=[("query", SELECT)]), Reply("One.")],
        "hermes": [
            Reply(
                't\n<tool_call>\n{"name": "query", "arguments": {"sql": "select 1"}}\n</tool_call>'
            ),
            Reply("One."),
        ],
        "react": [
            Reply('Thought: t\nAction: query\nAction Input: {"sql": "select 1"}'),
            Reply("Answer: One."),
        ],
        "brackets": [Reply("Thought: t\nquery[select 1]"), Reply("One.")],
    }[name]
    conversation: list[Said] = [RULES, QUESTION]
    async with FakeOpenAI(script) as server, LeanClient(server.base_url) as client:
        for reply in (answer("1"), answer("unused")):
            messages, tools = action_format.request_parts(conversation, TOOLS)
            completion = await client.complete(
                ChatRequest(model="m", messages=messages, tools=tools, stop=action_format.stop)
            )
            action = action_format.parse(completion, TOOLS)
            conversation += [action, *(m for m in [reply] if action.tool_calls)]
    first = conversation[2]
    assert isinstance(first, Action)
    assert (first.text, first.tool_calls[0].arguments) == ("t", SELECT)
    assert conversation[-1] == Action(text="One.")


def test_an_unknown_format_is_named_with_its_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'react'"):
        get_format("reakt")
