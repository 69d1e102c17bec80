"""Ctrl-C: the first lets episodes in flight finish, the second stops at once."""

import json
import os
import signal
import subprocess

from tests.cli.conftest import Command
from tests.cli.serving import oracle_answers, serving, sql_tasks
from tests.fake_openai import FakeOpenAI, Fault

HINT = "Ctrl-C again stops at once. Go on later with --run-id x --resume"


def plan(server: FakeOpenAI, *arguments: str) -> tuple[str, ...]:
    return ("eval", "sql", "--model", "fake", "--base-url", server.base_url, "--limit", "6",
            "--concurrency", "2", "--model-timeout", "600", "--run-id", "x", *arguments,
            "--json")  # fmt: skip


def interrupt(process: "subprocess.Popen[str]") -> None:
    """Press Ctrl-C: a terminal sends it to every process of the group."""
    os.killpg(process.pid, signal.SIGINT)


def test_the_first_one_drains(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(6)), latency=1.0) as server:
        process = agentgym.start(*plan(server))
        agentgym.wait_until(lambda: len(server.requests) == 2, process)
        interrupt(process)
        done = agentgym.finish(process)
        assert done.code == 130
        assert HINT in done.err
        # What was in flight is finished and kept, and nothing else was begun.
        finished = done.json["scored"]
        assert finished == len(server.requests) < 6
        assert (done.json["errored"], done.json["mean_reward"]) == (0, 1.0)
        resumed = agentgym(*plan(server, "--resume")).json
        assert (resumed["scored"], resumed["mean_reward"]) == (6, 1.0)
        assert len(server.requests) == 6


def test_the_second_one_stops_at_once(agentgym: Command) -> None:
    hanging = [Fault.SLOW] * 2
    with serving(oracle_answers(sql_tasks(6)), first=hanging) as server:
        process = agentgym.start(*plan(server))
        agentgym.wait_until(lambda: len(server.requests) == 2, process)
        interrupt(process)
        assert process.stderr is not None
        while HINT not in process.stderr.readline():
            assert process.poll() is None
        interrupt(process)
        done = agentgym.finish(process)
        assert (done.code, done.out, done.err) == (130, "", "")
        assert agentgym.trajectories("x") == []
        resumed = agentgym(*plan(server, "--resume")).json
    assert (resumed["scored"], resumed["mean_reward"]) == (6, 1.0)


def test_no_further_agent_is_begun(agentgym: Command) -> None:
    script = agentgym.folder / "idle.jsonl"
    script.write_text(json.dumps({"actions": []}))
    with serving(oracle_answers(sql_tasks(6)), latency=0.5) as server:
        arguments = plan(server, "--agent", "null", "--max-turns", "1")
        process = agentgym.start(*arguments)
        agentgym.wait_until(lambda: len(server.requests) > 0, process)
        interrupt(process)
        done = agentgym.finish(process)
        assert done.code == 130
        assert HINT in done.err  # the id that the command as a whole goes on with
        null, model = done.json["runs"]
        assert (null["scored"], model["scored"] < 6) == (6, True)
        runs = agentgym(*arguments, "--resume").json["runs"]
    assert [(run["run_id"], run["scored"]) for run in runs] == [("x-null", 6), ("x-fake", 6)]
