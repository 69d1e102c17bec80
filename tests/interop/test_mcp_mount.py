"""MCP servers mounted as environments: real servers in processes, sound and unsound ones."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgym.agents.baselines import OracleAgent
from agentgym.errors import (
    EnvironmentLostError,
    EnvironmentMalformedError,
    EnvironmentTimeoutError,
    EpisodeError,
    UsageError,
)
from agentgym.interop.mcp import SPEC
from agentgym.interop.mcp.mounted import McpEnvironment
from agentgym.registry import make, oracle_of, spec
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.tasks import TaskSet, TaskSetInfo, load_tasks
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Action, ImagePart, Observation, Task, call
from tests.interop.mcp_rig import AGENTGYM, SMALL_SERVER, environ
from tests.rollout.playing import ActingAgent
from tests.servers import free_port

NOTE = {"name": "write", "arguments": {"name": "todo"}}
BOTH = {"calls": [NOTE], "grade": {"name": "check", "answer": "answer"}}


def mounted(kind: str = "notes", **options: Any) -> McpEnvironment:
    return McpEnvironment(command=[sys.executable, SMALL_SERVER, kind], **options)


def a_task(**private: Any) -> Task[Any, Any]:
    given = private or {"answers": ["done"]}
    fields = {"id": "note", "public": {"instruction": "Note milk."}, "private": given}
    return McpEnvironment.task_type.model_validate(fields)


def names(observation: Observation) -> list[str]:
    return [tool.name for tool in observation.tools]


@contextmanager
def by_http() -> Iterator[str]:
    """The notes at a URL."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, SMALL_SERVER, "http", str(port)], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "running on" in line:
                    break
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


async def test_a_server_is_played_and_graded_by_its_hidden_tool() -> None:
    environment = mounted()
    first = await environment.reset(a_task(**BOTH), seed=3)
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "Notes are kept by name." in first.text
    assert "Note milk." in first.text
    assert "check" not in names(first)
    assert names(first)[-1] == "submit"

    async def answer(action: Action) -> tuple[Any, tuple[str, ...]]:
        step = await environment.step(action)
        return step.observation.messages[0].content, step.observation.faults

    assert await answer(call("write", name="todo", text="milk")) == ("Wrote todo.", ())
    assert await answer(call("read", name="todo")) == ("milk", ())
    assert (await answer(call("read", name="x")))[1] == ("failed",)
    assert (await answer(call("read")))[1] == ("failed",)
    assert (await answer(call("check")))[1] == ("unknown_tool",)
    assert await answer(call("about")) == ("note 3", ())
    (picture,), faults = await answer(call("picture"))
    assert isinstance(picture, ImagePart)
    assert picture.url.startswith("data:image/png;base64,")
    assert not faults
    last = await environment.step(call("submit", answer="done"))
    assert last.terminated
    assert last.reward.value == 1.0
    assert last.reward.components == {"calls": 1.0, "grade": 1.0}
    await environment.close()


async def test_every_condition_has_to_hold() -> None:
    environment = mounted()
    await environment.reset(a_task(**BOTH, answers=["done"]), seed=0)
    await environment.step(call("write", name="todo", text="milk"))
    reward = (await environment.step(call("submit", answer="perhaps"))).reward
    assert reward.value == 0.0
    assert reward.components == {"calls": 1.0, "answer": 0.0, "grade": 0.5}
    await environment.close()


@pytest.mark.parametrize(("tool", "why"), [("about", "no number"), ("process", "range 0 to 1")])
async def test_a_grade_that_is_none_is_the_servers_fault(tool: str, why: str) -> None:
    environment = mounted()
    await environment.reset(a_task(grade={"name": tool}), seed=0)
    with pytest.raises(EnvironmentMalformedError, match=why):
        await environment.grade()
    await environment.close()


async def test_a_call_that_failed_does_not_count() -> None:
    environment = mounted()
    await environment.reset(a_task(calls=[{"name": "read"}]), seed=0)
    await environment.step(call("read", name="nothing"))
    assert (await environment.step(call("submit"))).reward.value == 0.0
    await environment.close()


async def test_every_episode_has_a_fresh_process() -> None:
    environment = mounted()
    pids = []
    for _ in range(2):
        await environment.reset(a_task(), seed=0)
        pids.append(int((await environment.step(call("process"))).observation.text))
        assert (await environment.step(call("read", name="todo"))).observation.faults
        await environment.step(call("write", name="todo", text="milk"))
    await environment.close()
    assert len(set(pids)) == 2
    assert not any(map(lives, pids))


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_only_named_variables_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_KEY", "letmein")
    said = []
    for named in ((), ("NOTES_KEY",)):
        environment = mounted(pass_env=named)
        await environment.reset(a_task(), seed=0)
        said.append((await environment.step(call("secret"))).observation.text)
        await environment.close()
    assert said == ["none", "letmein"]


async def test_long_answers_are_cut() -> None:
    environment = mounted(max_output=10)
    await environment.reset(a_task(), seed=0)
    await environment.step(call("write", name="todo", text="m" * 25))
    text = (await environment.step(call("read", name="todo"))).observation.text
    assert text == f"{'m' * 10}\n(15 characters more)"
    await environment.close()


async def test_tools_on_many_pages_are_all_offered() -> None:
    environment = mounted("pages")
    first = await environment.reset(a_task(), seed=0)
    assert names(first) == ["first", "second", "third", "last", "submit"]
    assert (await environment.step(call("last"))).observation.text == "called last"
    await environment.close()


async def test_tools_that_change_are_offered_after_the_call() -> None:
    environment = mounted("growing")
    assert names(await environment.reset(a_task(), seed=0)) == ["grow", "submit"]
    grown = (await environment.step(call("grow"))).observation
    assert names(grown) == ["grow", "grown_1", "submit"]
    assert not (await environment.step(call("grown_1"))).observation.faults
    await environment.close()


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("twice", EnvironmentMalformedError, "two tools named 'same'"),
        ("nameless", EnvironmentMalformedError, "a tool without a name"),
        ("schema", EnvironmentMalformedError, "'odd' with no valid schema"),
        ("endless", EnvironmentMalformedError, "does not come to the end"),
        ("dead", EnvironmentLostError, "at the handshake.*no ink at all"),
        ("silent", EnvironmentTimeoutError, "did not answer the handshake"),
        ("rubbish", EnvironmentMalformedError, "not the protocol.*What a nice day"),
    ],
)
async def test_a_server_that_cannot_be_used_is_infrastructure(
    kind: str, error: type[EpisodeError], words: str
) -> None:
    waits = {"silent": 1.0, "rubbish": 6.0}  # rubbish needs a process that has started
    environment = mounted(kind, timeout=waits.get(kind, 60.0))
    with pytest.raises(error, match=words) as raised:
        await environment.reset(a_task(), seed=0)
    assert raised.value.retryable
    await environment.close()


async def test_a_server_that_dies_in_a_call_says_its_last_words() -> None:
    environment = mounted()
    await environment.reset(a_task(), seed=0)
    with pytest.raises(EnvironmentLostError, match=r"at tool die.*out of ink"):
        await environment.step(call("die"))
    with pytest.raises(EnvironmentLostError):
        await environment.step(call("about"))
    await environment.reset(a_task(), seed=0)
    assert not (await environment.step(call("about"))).observation.faults
    await environment.close()


async def test_a_server_that_was_killed_between_calls_is_lost() -> None:
    environment = mounted()
    await environment.reset(a_task(), seed=0)
    pid = int((await environment.step(call("process"))).observation.text)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(EnvironmentLostError):
        await environment.step(call("about"))
    await environment.close()


async def test_a_hanging_server_is_given_up_and_ended() -> None:
    environment = mounted(timeout=10.0)  # which is that of the start as well
    await environment.reset(a_task(), seed=0)
    pid = int((await environment.step(call("process"))).observation.text)
    with pytest.raises(EnvironmentTimeoutError, match="did not answer tool hang within 10 s"):
        await environment.step(call("hang"))
    await environment.close()
    assert not lives(pid)


async def test_a_step_broken_off_from_outside_leaves_no_process() -> None:
    environment = mounted()
    await environment.reset(a_task(), seed=0)
    pid = int((await environment.step(call("process"))).observation.text)
    step = asyncio.create_task(environment.step(call("hang")))
    await asyncio.sleep(0)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    await environment.close()
    assert not lives(pid)


async def test_a_lost_server_is_replaced_and_the_episode_played_again(
    store: TrajectoryStore, tmp_path: Path
) -> None:
    marker = tmp_path / "died"

    def act(brief: Any, observation: Observation, turn: int) -> Action:
        if not marker.exists():
            marker.touch()
            return call("die")
        return call("submit", answer="done")

    command = [sys.executable, SMALL_SERVER, "notes"]
    plan = _plan(ActingAgent(act), a_task(), {"command": command})
    engine = Engine(plan, store)
    engine.open()
    await engine.run()
    (kept,) = store.trajectories(plan.run_id)
    assert (kept.success, kept.attempts) == (True, 2)
    assert [fault.kind for fault in kept.faults] == ["environment_lost"]
    assert "out of ink" in kept.faults[0].message


def _plan(agent: Any, task: Task[Any, Any], options: dict[str, Any]) -> Plan:
    info = TaskSetInfo(name="notes", environment="mcp", licence="MIT")
    tasks = TaskSet(info, [task], "notes")
    return Plan(env_spec=SPEC, tasks=tasks, agent=agent, env_options=options, backoff=0.01)


async def test_a_server_at_a_url_is_played(store: TrajectoryStore) -> None:
    task = a_task(
        **BOTH,
        oracle=[{"name": "write", "arguments": {"name": "todo", "text": "milk"}}],
        answers=["done"],
    )
    with by_http() as url:
        plan = _plan(OracleAgent(SPEC), task, {"url": url})
        engine = Engine(plan, store)
        engine.open()
        await engine.run()
    (kept,) = store.trajectories(plan.run_id)
    assert kept.success, kept.faults


async def test_a_server_at_a_url_that_goes_away_is_lost() -> None:
    with by_http() as url:
        environment = McpEnvironment(url=url, timeout=10.0)
        await environment.reset(a_task(), seed=0)
    with pytest.raises((EnvironmentLostError, EnvironmentMalformedError)):
        await environment.step(call("about"))
    with pytest.raises(EnvironmentLostError, match="at the handshake"):
        await environment.reset(a_task(), seed=0)
    await environment.close()


async def test_an_environment_of_ours_is_the_same_served_and_mounted(tmp_path: Path) -> None:
    task = next(iter(load_tasks(spec("sql"))))
    direct = make("sql")
    through = McpEnvironment(
        command=[
            AGENTGYM,
            "mcp",
            "serve",
            "sql",
            "--task",
            task.id,
            "--store",
            str(tmp_path / "a.db"),
        ]
    )
    played = McpEnvironment.task_type.model_validate(
        {
            "id": task.id,
            "public": {"instruction": "Go."},
            "private": {"calls": [{"name": "submit"}]},
        }
    )
    seen = await direct.reset(task, seed=0)
    mirrored = await through.reset(played, seed=0)
    assert mirrored.messages[0].text == seen.text
    assert names(mirrored) == [*names(seen), "submit_"]
    mistakes = [call("describe", table="x"), call("describe"), call("execute", sql="SELEKT")]
    moves = [call("list_tables"), *mistakes, *oracle_of(spec("sql"))(task, seen)]
    for move in moves:
        one, other = await direct.step(move), await through.step(move)
        assert one.observation.text == other.observation.text
        assert bool(one.observation.faults) == bool(other.observation.faults)
        assert one.observation.tools == other.observation.tools[:-1]
    assert (await through.step(call("submit_"))).reward.value == 1.0
    await direct.close()
    await through.close()


def test_the_command_plays_a_task_file(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    lines = [
        {
            "id": f"note-{number}",
            "public": {"instruction": f"Note {number}."},
            "private": {
                "calls": [{"name": "write", "arguments": {"name": "n", "text": str(number)}}],
                "answers": [str(number)],
            },
        }
        for number in range(3)
    ]
    tasks.write_text("\n".join(map(json.dumps, lines)))
    done = subprocess.run(
        [AGENTGYM, "eval", "mcp", "--agent", "oracle,null", "--tasks", str(tasks), "--json",
         "-E", f"command={json.dumps([sys.executable, SMALL_SERVER])}"],
        env=environ(tmp_path), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    oracle, null = json.loads(done.stdout)["runs"]
    assert (oracle["mean_reward"], null["mean_reward"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "named by its command or its url"),
        ({"command": ["a"], "url": "http://a"}, "named by its command or its url"),
        ({"command": "python server.py"}, "is no command"),
        ({"command": []}, "is no command"),
        ({"command": ["no-such-program"]}, "no program 'no-such-program'"),
        ({"url": "ftp://a"}, "is no URL"),
        ({"command": ["sh"], "timeout": 0}, "timeout is 0"),
        ({"command": ["sh"], "max_output": 1.5}, "max_output is 1.5"),
        ({"command": ["sh"], "pass_env": ["NO_SUCH_VARIABLE"]}, "NO_SUCH_VARIABLE"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        McpEnvironment(**options)


async def test_a_task_that_names_an_unknown_grader_is_refused() -> None:
    environment = mounted()
    with pytest.raises(UsageError, match="graded by the tool 'judge'"):
        await environment.reset(a_task(grade={"name": "judge"}), seed=0)
    await environment.close()


def test_a_task_without_any_grading_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is graded"):
        McpEnvironment.task_type.model_validate(
            {"id": "a", "public": {"instruction": "Do."}, "private": {}}
        )
