"""An episode played by an SDK client in memory: turns, words, pictures, ends and what is kept."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import (
    BlobResourceContents,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)

from agentgym.registry import EnvSpec
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Task
from tests.environments import COUNTER, Breakage, BreakingEnvironment, counter_task
from tests.interop.mcp_rig import hosting, images_of, text_of

ROOM = EnvSpec(
    name="test-room",
    entry_point="tests.environments:RoomEnvironment",
    description="A room behind a door.",
)
ROOM_TASK = Task.model_validate({"id": "room", "public": {}, "private": {}})
BREAKING = EnvSpec(
    name="test-breaking",
    entry_point="tests.environments:BreakingEnvironment",
    description="A counter that breaks.",
)


async def test_the_tools_of_the_environment_are_offered_and_nothing_else(
    store: TrajectoryStore,
) -> None:
    task = counter_task(3, max_turns=20)
    async with hosting(COUNTER, task, store) as table, table.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"add", "roll", "submit"}
        assert tools["add"].description == "Add to the counter."
        assert tools["add"].input_schema["properties"]["amount"]["type"] == "integer"
        for name in ("reset", "grade", "snapshot", "restore", "close", "step", "fingerprint"):
            refused = await client.call_tool(name, {})
            assert refused.is_error
            assert f"No tool '{name}'" in text_of(refused)


async def test_no_method_of_the_protocol_does_more(store: TrajectoryStore) -> None:
    task = counter_task(3)
    async with hosting(COUNTER, task, store) as table, table.client() as client:
        capabilities = client.server_capabilities.model_dump(exclude_none=True)
        assert set(capabilities) == {"tools", "prompts", "resources"}
        assert [p.name for p in (await client.list_prompts()).prompts] == ["task"]
        assert [r.uri for r in (await client.list_resources()).resources] == ["agentgym://task"]
        with pytest.raises(MCPError):
            await client.get_prompt("grade")
        for uri in ("agentgym://grade", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_resource_templates()
        said = f"{client.instructions}{await client.get_prompt('task')}"
        said += f"{await client.list_tools()}{await client.call_tool('submit', {})}"
        assert "private-3" in repr(task)
        assert "private-3" not in said


async def test_a_task_is_played_to_its_end_and_kept(store: TrajectoryStore) -> None:
    async with hosting(COUNTER, counter_task(3), store) as table, table.client() as client:
        assert client.instructions == "Count to 3."
        assert text_of(await client.call_tool("add", {"amount": 3})) == "The counter shows 3."
        last = await client.call_tool("submit", {})
        assert (text_of(last), last.is_error) == ("Submitted.", False)
        assert store.finished("served")  # kept before the client was told
        over = await client.call_tool("add", {"amount": 1})
        assert over.is_error
        assert "over" in text_of(over)
    (kept,) = store.trajectories("served")
    assert (kept.outcome.status, kept.success, len(kept.turns)) == ("completed", True, 2)
    assert kept.agent == "mcp"
    assert all(turn.fingerprint for turn in kept.turns)
    assert "reward" not in text_of(last)


async def test_mistakes_are_answered_as_errors(store: TrajectoryStore) -> None:
    async with hosting(COUNTER, counter_task(3), store) as table, table.client() as client:
        for arguments, words in (
            ({"amount": -1}, "only goes up"),
            ({"amount": "many"}, "Bad arguments for add"),
            ({}, "amount is required"),
        ):
            answer = await client.call_tool("add", arguments)
            assert answer.is_error
            assert words in text_of(answer)
    (kept,) = store.trajectories("served")
    assert [fault for turn in kept.turns for fault in turn.observation.faults] == [
        "failed",
        "bad_arguments",
        "bad_arguments",
    ]


async def test_a_client_that_leaves_is_graded_as_it_stands(store: TrajectoryStore) -> None:
    async with hosting(COUNTER, counter_task(2), store) as table, table.client() as client:
        await client.call_tool("add", {"amount": 2})
    (kept,) = store.trajectories("served")
    assert (kept.outcome.status, kept.outcome.detail) == ("limit", "left")
    assert kept.grade is not None
    assert kept.grade.value == 1.0


async def test_a_client_without_a_call_for_long_is_gone(store: TrajectoryStore) -> None:
    task = counter_task(2)
    async with hosting(COUNTER, task, store, idle_s=0.01) as table, table.client() as client:
        await table.host.all_played.wait()
        assert "over" in text_of(await client.call_tool("add", {"amount": 2}))
    assert table.ended[0].outcome.detail == "left"


async def test_a_turn_limit_still_answers_the_last_call(store: TrajectoryStore) -> None:
    task = counter_task(9, max_turns=2)
    async with hosting(COUNTER, task, store) as table, table.client() as client:
        await client.call_tool("add", {"amount": 1})
        assert text_of(await client.call_tool("add", {"amount": 1})) == "The counter shows 2."
        assert (await client.call_tool("add", {"amount": 7})).is_error
    (kept,) = store.trajectories("served")
    assert (kept.outcome.status, kept.outcome.detail) == ("limit", "turns")
    assert len(kept.turns) == 2


async def test_calls_made_at_once_are_turns_in_their_order(store: TrajectoryStore) -> None:
    async with hosting(COUNTER, counter_task(6), store) as table, table.client() as client:
        answers = await asyncio.gather(
            *(client.call_tool("add", {"amount": amount}) for amount in (1, 2, 3))
        )
    assert [text_of(answer) for answer in answers] == [
        f"The counter shows {count}." for count in (1, 3, 6)
    ]


async def test_words_are_said_by_a_tool_where_somebody_answers(store: TrajectoryStore) -> None:
    async with hosting(ROOM, ROOM_TASK, store) as table, table.client() as client:
        assert "say" in {tool.name for tool in (await client.list_tools()).tools}
        assert text_of(await client.call_tool("say", {"text": "Hello"})) == "An echo: Hello"
        for arguments in ({}, {"text": " "}, {"text": 3}, {"text": "a", "to": "b"}):
            assert (await client.call_tool("say", arguments)).is_error
    (kept,) = store.trajectories("served")
    assert [turn.action.text for turn in kept.turns] == ["Hello"]


async def test_tools_that_change_are_announced_before_the_answer(store: TrajectoryStore) -> None:
    async with hosting(ROOM, ROOM_TASK, store) as table, table.client() as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await client.call_tool("say", {"text": "Hello"})
        assert not table.heard
        await client.call_tool("enter", {})
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["look", "leave", "say"]
    assert [type(message) for message in table.heard] == [ToolListChangedNotification]


async def test_pictures_come_as_pictures(store: TrajectoryStore) -> None:
    async with hosting(ROOM, ROOM_TASK, store) as table, table.client() as client:
        assert client.instructions == "Doors can be opened.\n\nYou stand before a door."
        prompt = (await client.get_prompt("task")).messages
        assert [type(m.content) for m in prompt] == [TextContent, TextContent, ImageContent]
        resource = (await client.read_resource("agentgym://task")).contents
        kinds = [TextResourceContents, TextResourceContents, BlobResourceContents]
        assert [type(part) for part in resource] == kinds
        await client.call_tool("enter", {})
        look = await client.call_tool("look", {})
        assert text_of(look) == "A picture:"
        assert [image.mime_type for image in images_of(look)] == ["image/png"]


async def test_each_client_has_an_episode_of_its_own(store: TrajectoryStore) -> None:
    async with hosting(COUNTER, counter_task(5), store, epochs=2) as table:
        async with table.client() as one, table.client() as other:
            await one.call_tool("add", {"amount": 5})
            assert text_of(await other.call_tool("add", {"amount": 1})) == "The counter shows 1."
            await one.call_tool("submit", {})
            refusal = pytest.RaisesExc(MCPError, match="No episode is left")
            with pytest.RaisesGroup(refusal, flatten_subgroups=True):
                await table.client().__aenter__()
        await table.host.all_played.wait()
    one_kept, other_kept = store.trajectories("served")
    assert (one_kept.success, other_kept.success) == (True, False)
    assert (one_kept.seed, other_kept.seed) == (0, 1)


@pytest.mark.parametrize("place", ["setup", "tool", "grade"])
async def test_what_infrastructure_breaks_is_void_and_dealt_again(
    store: TrajectoryStore, place: str
) -> None:
    breakage = Breakage(Counter({place: 1}), lambda: OSError("the private disk is full"))
    async with hosting(
        BREAKING, counter_task(1), store, factory=lambda: BreakingEnvironment(breakage)
    ) as table:
        said = await _play_to_the_end(table.client())
        assert "private disk" not in said
        assert [t.outcome.status for t in table.ended] == ["error"]
        assert "Submitted." in await _play_to_the_end(table.client())
    (kept,) = store.trajectories("served")
    assert (kept.outcome.status, kept.success) == ("completed", True)
    assert breakage.made == breakage.closed == 2


async def _play_to_the_end(connecting: Any) -> str:
    said: list[str] = []
    try:
        async with connecting as client:
            for name, arguments in (("add", {"amount": 1}), ("breaking", {}), ("submit", {})):
                answer = await client.call_tool(name, arguments)
                said.append(text_of(answer))
    except* MCPError as group:
        said.append(repr(group))
    return " ".join(said)


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'mcp' else find(name, *rest)\n"
        "sys.argv = ['agentgym', *sys.argv[1:]]\n"
        "from agentgym.cli.main import main; main()\n"
    )
    for words in (
        ["mcp", "serve", "sql", "--task", "shop-001"],
        ["eval", "mcp", "--agent", "null", "--tasks", str(_a_task(tmp_path))],
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1
        assert "pip install -e '.[mcp]'" in done.stderr


def _a_task(folder: Path) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text('{"id": "a", "public": {"instruction": "Do."}, "private": {"answers": ["x"]}}')
    return path
