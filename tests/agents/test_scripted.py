"""The scripted agent: actions from a file, and files that are not scripts."""

import json
from pathlib import Path

import pytest

from agentgym import Action, Limits, Observation, ToolCall, call
from agentgym.agents.base import Brief
from agentgym.agents.scripted import ScriptedAgent
from agentgym.errors import UsageError
from agentgym.types import Json


def write(folder: Path, *lines: Json) -> Path:
    path = folder / "script.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts))
    return path


async def played(agent: ScriptedAgent, task_id: str, turns: int = 3) -> list[Action]:
    brief = Brief(env="e-v1", task_id=task_id, seed=0, limits=Limits())
    player = await agent.begin(brief)
    return [(await player.act(Observation(messages=()))).action for _ in range(turns)]


ADD = {"tool_calls": [{"name": "add", "arguments": {"amount": 1}}]}


async def test_actions_are_played_and_then_nothing(tmp_path: Path) -> None:
    agent = ScriptedAgent(write(tmp_path, {"task_id": "a", "actions": [ADD, {"text": "hi"}]}))
    assert await played(agent, "a") == [call("add", amount=1), Action(text="hi"), Action()]
    assert await played(agent, "a", 1) == [call("add", amount=1)]
    assert await played(agent, "b", 1) == [Action()]
    assert agent.name == "scripted:script.jsonl"


async def test_a_line_without_a_task_is_for_all_others(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"actions": [{"text": "any"}]}, "", {"task_id": "a", "actions": [{"text": "a"}]}
    )
    agent = ScriptedAgent(path)
    assert await played(agent, "a", 1) == [Action(text="a")]
    assert await played(agent, "b", 1) == [Action(text="any")]


async def test_malformed_calls_can_be_scripted(tmp_path: Path) -> None:
    broken = {"tool_calls": [{"name": "add", "arguments": '{"amount"'}]}
    agent = ScriptedAgent(write(tmp_path, {"actions": [broken]}))
    (action,) = await played(agent, "a", 1)
    assert action.tool_calls == (ToolCall(name="add", arguments='{"amount"', id="call_0"),)


async def test_a_line_may_hold_any_character(tmp_path: Path) -> None:
    line = json.dumps({"actions": [{"text": "a\u2028b\x85c"}]}, ensure_ascii=False)
    assert await played(ScriptedAgent(write(tmp_path, line)), "a", 1) == [
        Action(text="a\u2028b\x85c")
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", ":2: not JSON: Expecting property name enclosed in double quotes at column 2."),
        ("[]", ":2: task: Input should be a valid dictionary"),
        ({"task_id": "a"}, ":2: actions: Field required."),
        ({"actions": [{"words": "x"}]}, ":2: actions.0.words: Extra inputs are not permitted."),
        ({"actions": [{"tool_calls": 5}]}, ":2: actions.0.tool_calls: Input should be a valid tu"),
        (
            {"actions": [{"tool_calls": [{"arguments": {}}]}]},
            ":2: actions.0.tool_calls.0.name: Field required.",
        ),
    ],
)
def test_a_malformed_line_names_file_line_and_field(
    tmp_path: Path, line: Json, problem: str
) -> None:
    path = write(tmp_path, {"actions": []}, line)
    with pytest.raises(UsageError) as caught:
        ScriptedAgent(path)
    assert str(caught.value).startswith(f"{path}{problem}")
    assert "A line is" in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent.jsonl cannot be read"):
        ScriptedAgent(tmp_path / "absent.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="binary cannot be read"):
        ScriptedAgent(tmp_path / "binary")


def test_the_settings_tell_scripts_apart(tmp_path: Path) -> None:
    one = ScriptedAgent(write(tmp_path, {"actions": [ADD]})).config()
    same = ScriptedAgent(write(tmp_path, "", {"actions": [ADD]}, "")).config()
    other = ScriptedAgent(write(tmp_path, {"actions": [ADD, ADD]})).config()
    assert one == same
    assert one != other
    assert one["script"] == other["script"] == "script.jsonl"
