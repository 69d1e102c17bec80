"""`agentgym mcp serve` as a process: SDK clients over stdio and HTTP, and what is kept of them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError

from agentgym.cli.main import main
from agentgym.registry import spec
from agentgym.tasks import load_tasks
from agentgym.types import Task
from tests.interop.mcp_rig import (
    AGENTGYM,
    environ,
    play_oracle,
    served_stdio,
    serving_http,
    stored,
    text_of,
)
from tests.interop.patient import install

ROOT = Path(__file__).parents[2]
RUN = ("--run-id", "served")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def task() -> "Task[object, object]":  # type: ignore[type-var]
    return next(iter(load_tasks(spec("sql"))))


def agentgym(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [AGENTGYM, *words], env=environ(folder), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout or done.stderr


async def test_a_client_solves_a_task_over_stdio(tmp_path: Path, task: Task) -> None:
    async with served_stdio(tmp_path, "sql", "--task", task.id, *RUN) as (client, said):
        assert task.public.question in (client.instructions or "")
        answers = await play_oracle(client, "sql", task)
        assert not any(answer.is_error for answer in answers)
        assert all("1.0" not in text_of(answer) for answer in answers)
    (kept,) = stored(tmp_path, "served")
    assert (kept.outcome.status, kept.success) == ("completed", True)
    line = f"reward 1.000, completed, {len(answers)} turns. Look closer: agentgym show served"
    assert line in said.read_text()
    assert "grade: 1.000" in agentgym(tmp_path, "show", "served", task.id)
    assert "all equal" in agentgym(tmp_path, "replay", "served")


async def test_a_client_of_stdio_that_leaves_early_is_kept(tmp_path: Path, task: Task) -> None:
    async with served_stdio(tmp_path, "sql", "--task", task.id, *RUN) as (client, said):
        await client.call_tool("list_tables", {})
    (kept,) = stored(tmp_path, "served")
    assert (kept.outcome.status, kept.outcome.detail) == ("limit", "left")
    assert "reward 0.000, limit left, 1 turns" in said.read_text()
    assert "all equal" in agentgym(tmp_path, "replay", "served")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_stdio_once_the_episode_is_kept(
    tmp_path: Path, task: Task, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [AGENTGYM, "mcp", "serve", "sql", "--task", task.id, *RUN],
        env=environ(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert "serverInfo" in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == -number
        assert process.stderr is not None
        assert "reward 0.000, limit left, 0 turns" in process.stderr.read()
    assert len(stored(tmp_path, "served")) == 1


def test_a_signal_after_the_client_has_left_does_not_cut_the_grading_short(
    tmp_path: Path,
) -> None:
    tasks = install(tmp_path)
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    words = ["patient", "--tasks", str(tasks), "--task", "count-1", "-E", f"folder={tmp_path}"]
    with subprocess.Popen(
        [AGENTGYM, "mcp", "serve", *words, *RUN],
        env={**environ(tmp_path), "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, said = process.stdout, process.stderr
        assert process.stdin is not None
        assert out is not None
        assert said is not None
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.close()
        while not (tmp_path / "grading").exists():
            assert process.poll() is None, said.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        (tmp_path / "go").touch()
        assert process.wait(60) == -signal.SIGTERM
        assert "reward 0.000, limit left, 0 turns" in said.read()


async def test_clients_of_http_are_isolated_and_the_server_ends_with_the_last(
    tmp_path: Path, task: Task
) -> None:
    words = ("sql", "--task", task.id, "--epochs", "3", *RUN)
    with serving_http(tmp_path, *words) as (url, process):

        async def play(solve: bool) -> None:
            async with Client(url) as client:
                if solve:
                    await play_oracle(client, "sql", task)
                    return
                await client.call_tool("execute", {"sql": "SELECT 1"})
                assert (await client.call_tool("execute", {"sql": "SELEKT"})).is_error

        await asyncio.gather(play(True), play(False), play(True))
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert err.count("reward 1.000, completed") == 2
        assert err.count("reward 0.000, limit left") == 1
    assert sorted(episode.seed for episode in stored(tmp_path, "served")) == [0, 1, 2]
    summary = json.loads(agentgym(tmp_path, "show", "served", "--json"))
    assert summary["success_rate"] == pytest.approx(2 / 3)
    assert "3 episodes" in agentgym(tmp_path, "replay", "served")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, task: Task) -> Iterator[str]:
    """A server for three clients at once."""
    folder = tmp_path_factory.mktemp("served")
    words = ("sql", "--task", task.id, "--epochs", "99", "--max-sessions", "3")
    with serving_http(folder, *words) as (found, _):
        yield found


async def test_more_clients_than_allowed_are_refused(url: str) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(Client(url, mode="legacy"))
        with pytest.RaisesGroup(MCPError, flatten_subgroups=True):
            for _ in range(3):
                await stack.enter_async_context(Client(url, mode="legacy"))
        assert not (await first.call_tool("list_tables", {})).is_error


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "http://localhost.evil.example", 403),
        ("Origin", "http://localhost:3000", 200),
    ],
)
async def test_a_web_page_cannot_play(url: str, header: str, value: str, status: int) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=accept) as web:
        answer = await web.post(url, json=HELLO, headers={header: value})
        assert answer.status_code == status
        if status == 200:
            session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
            assert (await web.delete(url, headers=session)).status_code == 200


async def test_a_request_without_a_session_is_refused(url: str) -> None:
    refusal = pytest.RaisesExc(MCPError, match="needs a session")
    with pytest.RaisesGroup(refusal, flatten_subgroups=True):
        async with Client(url, mode="2026-07-28") as client:
            await client.list_tools()
    async with Client(url) as client:  # which falls back to the handshake
        assert client.protocol_version == "2025-11-25"


async def test_a_signal_ends_http_once_the_episodes_are_kept(tmp_path: Path, task: Task) -> None:
    words = ("sql", "--task", task.id, "--epochs", "9", *RUN)
    with serving_http(tmp_path, *words) as (url, process):
        async with httpx2.AsyncClient() as web:
            accept = {"Accept": "application/json, text/event-stream"}
            assert (await web.post(url, json=HELLO, headers=accept)).status_code == 200
            process.send_signal(signal.SIGTERM)
            _, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == 0, err
    assert "reward 0.000, limit left, 0 turns" in err
    assert len(stored(tmp_path, "served")) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("sql --task shop-*", "one client at standard input"),
        ("sql --task no-such", "Unknown task 'no-such'"),
        ("nothing --task a", "Unknown environment 'nothing'"),
        ("sql --task shop-001 --transport sse", "Unknown transport 'sse'"),
        ("sql --task shop-001 --idle-timeout 0", "--idle-timeout is 0"),
        ("sql --task shop-001 -E comparator=fair", "Unknown comparator 'fair'"),
        ("sql --task shop-001 --transport http --host 192.0.2.1", "cannot be listened on"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    problem: str,
) -> None:
    monkeypatch.setenv("AGENTGYM_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setattr(sys, "argv", ["agentgym", "mcp", "serve", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1
