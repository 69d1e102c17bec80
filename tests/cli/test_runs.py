"""`agentgym runs`, `show`, `replay` and `export` on what `eval` stored."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from agentgym.trajectories import codec
from agentgym.trajectories.export import read_jsonl
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json
from tests.cli.conftest import COMMAND, Command

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2028\r--- turn 9"
LOOK = "SELECT name,\n       price_cents\nFROM products"


@pytest.fixture
def monday(agentgym: Command) -> Command:
    """A run of the oracle and one of the random agent, twice each task."""
    arguments = ("--agent", "oracle,random", "--limit", "4", "--epochs", "2")
    agentgym.eval(*arguments, "--run-id", "monday")
    return agentgym


def tamper(agentgym: Command, run_id: str, changed: Trajectory) -> None:
    """Put a record in place of the stored one, behind the store's back."""
    with closing(sqlite3.connect(agentgym.folder / "runs.db")) as database, database:
        count = database.execute(
            "UPDATE agentgym_episodes SET blob = ? WHERE task_id = ? AND epoch = ? AND run ="
            " (SELECT id FROM agentgym_runs WHERE run_id = ?)",
            (codec.encode(changed), changed.key.task_id, changed.key.epoch, run_id),
        ).rowcount
    assert count == 1


def test_runs_are_listed(monday: Command) -> None:
    oracle, random = monday("runs", "--json").json["runs"]
    assert (oracle["run_id"], oracle["planned"], oracle["graded"]) == ("monday-oracle", 8, 8)
    assert (oracle["mean_score"], random["agent"]) == (1.0, "random")
    head, first, _ = monday("runs").out.splitlines()
    assert head.split()[:4] == ["run", "env", "agent", "tasks"]
    assert first.split()[:5] == ["monday-oracle", "sql-v1", "oracle", "core", "8/8"]


def test_a_run_is_shown_with_every_episode(monday: Command) -> None:
    shown = monday("show", "monday-oracle").out
    assert shown.count("completed") == 8
    assert "8/8" in shown
    shown = monday("show", "monday-oracle", "--json").json
    assert shown["record"]["agent"] == "oracle"
    assert len(shown["episode_list"]) == 8
    assert (shown["mean_reward"], shown["wall_s"]) == (1.0, None)


def test_an_episode_is_shown_turn_by_turn(agentgym: Command) -> None:
    actions = [
        {"text": "Let me see.", "tool_calls": [{"name": "execute", "arguments": {"sql": LOOK}}]},
        {"tool_calls": [{"name": "nothing_of_the_kind"}]},
        {},
        {"tool_calls": [{"name": "submit", "arguments": {"query": "SELECT 1"}}]},
    ]
    (agentgym.folder / "script.jsonl").write_text(json.dumps({"actions": actions}))
    agentgym.eval("--agent", "scripted:script.jsonl", "--task", "shop-001", "--run-id", "x")
    shown = agentgym("show", "x", "shop-001").out
    assert "--- turn 4" in shown
    assert "> Let me see.\n> execute\n  sql =\n    SELECT name,\n           price_cents\n" in shown
    assert "[tool, the agent's fault: unknown_tool]" in shown
    assert "> (nothing)" in shown
    assert '> submit({"query": "SELECT 1"})' in shown
    assert "ended: completed\ngrade: 0.000 (" in shown
    assert max(map(len, shown.splitlines())) > 80  # a log is not folded to a terminal's width
    whole = agentgym("show", "x", "shop-001", "--json").json
    assert Trajectory.model_validate(whole) == agentgym.trajectories("x")[0]


def test_nothing_an_agent_says_or_sees_steers_the_terminal(agentgym: Command) -> None:
    query = "SELECT " + " || ".join(f"char({ord(c)})" for c in NASTY)
    actions = [
        {"text": NASTY, "tool_calls": [{"name": NASTY, "arguments": {NASTY: NASTY}}]},
        {"tool_calls": [{"name": "execute", "arguments": {"sql": query}}]},
        {"text": "first\n--- turn 9\n> submit()"},
        {"tool_calls": [{"name": "execute", "arguments": NASTY}]},
    ]
    (agentgym.folder / "script.jsonl").write_text(json.dumps({"actions": actions}))
    agentgym.eval("--agent", "scripted:script.jsonl", "--task", "shop-001", "--run-id", "x",
                  "--max-turns", "4")  # fmt: skip
    for arguments in (("show", "x", "shop-001"), ("show", "x"), ("runs",)):
        lines = agentgym(*arguments).out.split("\n")
        assert [line for line in lines if not line.isprintable()] == []
    shown = agentgym("show", "x", "shop-001").out
    assert r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2028\r--- turn 9" in shown
    assert shown.count("\n--- turn 9") == 0  # and no words pass for the transcript's own
    said = agentgym("show", "x", "shop-001", "--json").json["turns"][1]["observation"]
    assert NASTY in said["messages"][0]["content"]


def test_a_reader_that_goes_away_is_no_error(monday: Command) -> None:
    monday.eval("--agent", "oracle", "--run-id", "long", "--max-turns", "1")
    for arguments in (("show", "long"), ("export", "long", "-o", "-"), ("show", "long", "--json")):
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=monday.folder,
            env=monday.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(60)
        process.stderr.close()


def test_replay_finds_the_same(monday: Command) -> None:
    for run_id in ("monday-oracle", "monday-random"):
        found = monday("replay", run_id, "--json").json
        assert (found["episodes"], found["skipped"]) == (8, 0)
        assert (found["equal"], found["difference"]) == (True, None)
        assert found["turns"] == sum(len(e.turns) for e in monday.trajectories(run_id))
    one = monday("replay", "monday-random", "--task", "shop-002").out
    assert one.startswith("2 episodes, ")
    assert "all equal" in one


@pytest.mark.parametrize(
    ("what", "turn"), [("observation", 0), ("observation", 1), ("reward", 1), ("fingerprint", 1)]
)
def test_replay_shows_the_first_difference(monday: Command, what: str, turn: int) -> None:
    stored = monday.trajectories("monday-oracle")[5]
    tamper(monday, "monday-oracle", altered(stored, what, turn))
    done = monday("replay", "monday-oracle", code=1)
    name = f"{stored.key.task_id} epoch {stored.key.epoch}"
    place = {"observation": " at messages.0.content", "reward": " at value"}.get(what, "")
    heading, *values = done.out.splitlines()
    assert heading == f"{name}, turn {turn}: the {what} differs{place}."
    assert [value.split()[0] for value in values] == ["stored:", "replayed:"]
    found = monday("replay", "monday-oracle", "--json", code=1).json
    assert found["equal"] is False
    difference = found["difference"]["difference"]
    assert (difference["turn"], difference["what"]) == (turn, what)
    assert difference["stored"] != difference["replayed"]


def altered(stored: Trajectory, what: str, turn: int) -> Trajectory:
    """Return a record with one thing in it changed."""
    fields = stored.model_dump()
    place = fields["turns"][turn - 1] if turn else fields
    if what == "observation":
        seen = place["observation" if turn else "first"]
        seen["messages"][0]["content"] += "?"
    elif what == "reward":
        place["reward"]["value"] = 0.25
    else:
        place["fingerprint"] = "another"
    return Trajectory.model_validate(fields)


def test_replay_notices_tasks_that_have_changed(agentgym: Command) -> None:
    task = {"id": "a", "public": {"db": "shop", "question": "q"}}
    file = agentgym.folder / "mine.jsonl"
    file.write_text(json.dumps({**task, "private": {"gold": "SELECT 1"}}))
    agentgym.eval("--agent", "oracle", "--tasks", "mine.jsonl", "--run-id", "x")
    file.write_text(json.dumps({**task, "private": {"gold": "SELECT 2"}}))
    done = agentgym("replay", "x", code=2)
    assert "its content has changed" in done.err
    file.write_text(json.dumps({**task, "id": "b", "private": {"gold": "SELECT 1"}}))
    assert "Name the task set" in agentgym("replay", "x", code=2).err


def test_export_as_json_lines(monday: Command) -> None:
    done = monday("export", "monday-random", "-o", "x.jsonl")
    assert done.out == "wrote 8 episodes to x.jsonl\n"
    stored = monday.trajectories("monday-random")
    assert list(read_jsonl(monday.folder / "x.jsonl")) == stored
    to_stdout = monday("export", "monday-random", "-o", "-").out
    assert to_stdout == (monday.folder / "x.jsonl").read_text("utf-8")
    row = json.loads(to_stdout.splitlines()[0])
    assert (row["task_id"], row["turns"]) == (stored[0].key.task_id, len(stored[0].turns))
    default = monday("export", "monday-random", "--json").json
    assert default == {"run_id": "monday-random", "episodes": 8, "file": "monday-random.jsonl"}


def test_export_as_parquet(monday: Command) -> None:
    monday("export", "monday-oracle", "--format", "parquet", "-o", "x.parquet")
    rows: list[dict[str, Json]] = pq.read_table(monday.folder / "x.parquet").to_pylist()
    stored = monday.trajectories("monday-oracle")
    assert [(r["task_id"], r["epoch"]) for r in rows] == [
        (e.key.task_id, e.key.epoch) for e in stored
    ]
    assert {row["score"] for row in rows} == {1.0}
    assert json.loads(rows[0]["messages"])[1]["role"] == "assistant"


def test_runs_are_read_from_any_store(monday: Command) -> None:
    elsewhere = monday.folder / "other.db"
    monday.eval("--agent", "null", "--limit", "1", "--run-id", "there", "--store", str(elsewhere))
    listed = monday("runs", "--store", str(elsewhere), "--json").json["runs"]
    assert [run["run_id"] for run in listed] == ["there"]
    monday("replay", "there", "--store", f"sqlite:///{elsewhere}")
    assert Path(elsewhere).exists()
    with TrajectoryStore.open(elsewhere, create=False) as store:
        assert store.has_run("there")
