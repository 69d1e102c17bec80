"""A run that is killed at any moment goes on where it was, and comes to the same."""

import random
import subprocess
from typing import Any

import pytest

from agentgym.trajectories.record import EpisodeKey
from agentgym.trajectories.store import TrajectoryStore
from tests.cli.conftest import Command, played
from tests.cli.serving import oracle_answers, serving, sql_tasks

RANDOM = ("--agent", "random", "--json")


def episodes_done(agentgym: Command, run_id: str) -> set[EpisodeKey]:
    if not (agentgym.folder / "runs.db").exists():
        return set()
    with TrajectoryStore.open(agentgym.folder / "runs.db") as store:
        return store.finished(run_id) if store.has_run(run_id) else set()


def results(agentgym: Command, run_id: str) -> list[dict[str, Any]]:
    return [played(episode) for episode in agentgym.trajectories(run_id)]


def starts(agentgym: Command, run_id: str) -> dict[EpisodeKey, Any]:
    """When each episode was begun: another time is another playing."""
    return {episode.key: episode.started_at for episode in agentgym.trajectories(run_id)}


def timeless(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("wall_s", "cpu_s")}


def kill_after(enough: int, agentgym: Command, *arguments: str) -> None:
    """Kill a run once so many of its episodes are in the store."""
    run_id = arguments[arguments.index("--run-id") + 1]
    process = agentgym.start(*arguments)
    agentgym.wait_until(lambda: len(episodes_done(agentgym, run_id)) >= enough, process)
    process.kill()
    process.wait()


def kill_within(seconds: float, agentgym: Command, *arguments: str) -> None:
    """Kill a run after some time, wherever it is then."""
    process = agentgym.start(*arguments)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_kill_9_again_and_again(agentgym: Command) -> None:
    plan = ("eval", "sql", *RANDOM, "--limit", "40", "--epochs", "4", "--concurrency", "2")
    agentgym(*plan, "--run-id", "whole")
    kept: dict[EpisodeKey, Any] = {}
    moments = random.Random(11)
    for enough in (moments.randint(1, 30), moments.randint(31, 60)):
        kill_after(enough, agentgym, *plan, "--run-id", "killed", "--resume")
        now = starts(agentgym, "killed")
        assert enough <= len(now) < 160
        assert now.items() >= kept.items()  # nothing done was lost or done again
        kept = now
    agentgym(*plan, "--run-id", "killed", "--resume")
    assert starts(agentgym, "killed").items() >= kept.items()
    assert len(results(agentgym, "killed")) == 160
    assert results(agentgym, "killed") == results(agentgym, "whole")


@pytest.mark.slow
def test_kill_9_at_twenty_random_moments(agentgym: Command) -> None:
    plan = ("eval", "sql", *RANDOM, "--limit", "60", "--epochs", "5", "--concurrency", "4")
    agentgym(*plan, "--run-id", "whole")
    moments = random.Random(20)
    left_over = []
    for number in range(20):
        named = (*plan, "--run-id", f"killed-{number}", "--resume")
        if number < 4:  # before, or while, the run is begun
            kill_within(moments.uniform(0.05, 1.0), agentgym, *named)
        else:
            kill_after(moments.randint(1, 270), agentgym, *named)
        done = episodes_done(agentgym, named[-2])
        kept = starts(agentgym, named[-2]) if done else {}
        left_over.append(len(done))
        result = agentgym(*named).json
        assert (result["episodes"], result["scored"]) == (300, 300)
        assert starts(agentgym, named[-2]).items() >= kept.items()
        assert results(agentgym, named[-2]) == results(agentgym, "whole")
    assert sum(0 < count < 300 for count in left_over) >= 10, left_over


def test_resume_starts_a_new_run_and_leaves_a_finished_one(agentgym: Command) -> None:
    arguments = ("--agent", "random", "--limit", "5", "--run-id", "x", "--resume")
    first = agentgym.eval(*arguments)
    begun = starts(agentgym, "x")
    assert (first["episodes"], first["scored"]) == (5, 5)
    assert timeless(agentgym.eval(*arguments)) == timeless(first)
    assert starts(agentgym, "x") == begun


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        (("--agent", "null"), "agent"),
        (("--seed", "1"), "seed"),
        (("--limit", "3"), "tasks_hash, task_ids"),
        (("--max-turns", "3"), "limits.turns"),
        (("-E", "timeout=3"), "env_options.timeout"),
        (("--epochs", "1"), "epochs"),
        (("--epochs", "3"), "epochs"),
    ],
)
def test_resume_refuses_other_settings(
    agentgym: Command, other: tuple[str, ...], differing: str
) -> None:
    started = ("--agent", "random", "--limit", "2", "--epochs", "2", "--run-id", "x", "--resume")
    agentgym.eval(*started)
    done = agentgym("eval", "sql", *started, *other, code=2)
    assert f"Run 'x' was started with other settings: {differing}. Use the same" in done.err
    assert len(agentgym.trajectories("x")) == 4


def test_resume_refuses_another_model(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(1))) as server:
        started = ("--model", "fake", "--base-url", server.base_url, "--limit", "1", "--run-id",
                   "x", "--resume")  # fmt: skip
        agentgym.eval(*started)
        done = agentgym("eval", "sql", *started, "--temperature", "1", code=2)
        assert "other settings: agent_config" in done.err
        agentgym.eval(*started, "--concurrency", "3")  # how hard to push is no setting of results
        assert len(server.requests) == 1


def test_several_agents_resume_together(agentgym: Command) -> None:
    arguments = ("--agent", "oracle,null", "--limit", "3", "--run-id", "x", "--resume")
    first = agentgym.eval(*arguments)["runs"]
    again = agentgym.eval(*arguments)["runs"]
    assert list(map(timeless, again)) == list(map(timeless, first))
