"""`agentgym eval` with agents that need no model."""

import hashlib
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.registry import spec
from agentgym.tasks import load_tasks
from agentgym.types import Json
from tests.cli.conftest import Command, played
from tests.servers import require

CORE = spec("sql").task_set_paths()["core"]
SPIDER = Path(__file__).parents[3] / "shared" / "data" / "intercode-spider"


def task_ids(agentgym: Command, run_id: str) -> list[str]:
    ids: list[str] = agentgym("show", run_id, "--json").json["record"]["task_ids"]
    return ids


def script(path: Path, *lines: Json) -> str:
    path.write_text("\n".join(map(json.dumps, lines)))
    return f"scripted:{path}"


def submit(**arguments: Json) -> Json:
    return [{"tool_calls": [{"name": "submit", "arguments": arguments}]}]


def test_one_agent_is_one_json_object(agentgym: Command) -> None:
    done = agentgym("eval", "sql", "--agent", "oracle", "--limit", "50", "--json")
    result = done.json
    assert done.err == ""
    assert (result["tasks"], result["episodes"], result["scored"]) == (50, 50, 50)
    assert (result["mean_reward"], result["success_rate"], result["stderr"]) == (1.0, 1.0, 0.0)
    assert (result["errors"], result["errored"]) == ({}, 0)
    assert result["wall_s"] > 0
    assert result["cpu_s"] > 0
    assert agentgym("runs", "--json").json["runs"][0]["run_id"] == result["run_id"]


def test_several_agents_are_runs_of_their_own(agentgym: Command) -> None:
    arguments = ("--agent", "oracle,null,random", "--limit", "6", "--run-id", "x")
    results = agentgym.eval(*arguments)["runs"]
    assert [(r["run_id"], r["agent"]) for r in results] == [
        ("x-oracle", "oracle"),
        ("x-null", "null"),
        ("x-random", "random"),
    ]
    assert [r["mean_reward"] for r in results] == [1.0, 0.0, 0.0]
    assert results[1]["limits"] == {"turns": 6}


def test_without_json_there_is_a_table_and_the_way_on(agentgym: Command) -> None:
    done = agentgym("eval", "sql", "--agent", "oracle,null", "--limit", "2", "--run-id", "x y")
    head, oracle, null, *further = done.out.splitlines()
    assert head.split()[:3] == ["agent", "tasks", "scored"]
    assert oracle.split()[:4] == ["oracle", "2", "2/2", "1.000"]
    assert null.split()[:4] == ["null", "2", "2/2", "0.000"]
    assert further == [
        "Look closer: agentgym show 'x y-oracle'",
        "Look closer: agentgym show 'x y-null'",
    ]
    assert done.err == ""


def test_tables_print_where_the_terminal_knows_only_ascii(agentgym: Command) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = agentgym("eval", "sql", "--agent", "oracle", "--limit", "2", env=ascii_only)
    assert r"1.000 \xb1 0.000" in done.out


def test_filters_select_tasks(agentgym: Command) -> None:
    core = load_tasks(spec("sql"))
    agentgym.eval("--agent", "null", "--run-id", "a", "--split", "train", "--limit", "4",
                  "--max-turns", "1")  # fmt: skip
    train = [task.id for task in core if task.split == "train"]
    assert task_ids(agentgym, "a") == train[:4]
    agentgym.eval("--agent", "null", "--run-id", "b", "--task", "*-00[12]", "--task", "shop-007",
                  "--max-turns", "1")  # fmt: skip
    matching = [t.id for t in core if re.search(r"-00[12]$", t.id) or t.id == "shop-007"]
    assert len(matching) == 9
    assert task_ids(agentgym, "b") == matching


def test_a_shuffle_seed_draws_the_same_tasks_again(agentgym: Command) -> None:
    drawn = []
    for run_id, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        agentgym.eval("--agent", "null", "--run-id", run_id, "--shuffle-seed", seed,
                      "--limit", "8", "--max-turns", "1")  # fmt: skip
        drawn.append(task_ids(agentgym, run_id))
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) != set(drawn[2])
    expected = load_tasks(spec("sql")).select(shuffle_seed=3, limit=8)
    assert drawn[0] == [task.id for task in expected]


def test_epochs_and_turn_limits(agentgym: Command) -> None:
    arguments = ("--agent", "random", "--limit", "3", "--epochs", "2", "--max-turns", "3",
                 "--seed", "5", "--run-id", "x")  # fmt: skip
    result = agentgym.eval(*arguments)
    assert (result["tasks"], result["planned"], result["episodes"]) == (3, 6, 6)
    episodes = agentgym.trajectories("x")
    assert {(e.key.epoch, e.seed) for e in episodes} == {(0, 5), (1, 6)}
    assert max(len(e.turns) for e in episodes) == 3
    assert result["limits"] == {"turns": sum(e.outcome.detail == "turns" for e in episodes)}
    assert played(episodes[0])["turns"] != played(episodes[1])["turns"]


def test_concurrency_changes_no_result(agentgym: Command) -> None:
    for count in ("1", "16"):
        agentgym.eval("--agent", "random", "--limit", "40", "--run-id", count,
                      "--concurrency", count)  # fmt: skip
    one, many = (list(map(played, agentgym.trajectories(count))) for count in ("1", "16"))
    assert len(one) == 40
    assert one == many


def test_tasks_from_a_file_and_from_a_folder(agentgym: Command) -> None:
    lines = (CORE / "tasks.jsonl").read_text("utf-8").splitlines()[:3]
    lone = agentgym.folder / "mine.jsonl"
    lone.write_text("\n".join(lines), "utf-8")
    copy = agentgym.folder / "copy"
    copy.mkdir()
    shutil.copy(lone, copy / "tasks.jsonl")
    shutil.copy(CORE / "taskset.toml", copy)
    for number, source in enumerate(("mine.jsonl", "copy", str(copy / "tasks.jsonl"), "core")):
        result = agentgym.eval(
            "--agent", "oracle", "--tasks", source, "--limit", "3", "--run-id", str(number)
        )
        assert (result["tasks"], result["mean_reward"]) == (3, 1.0)
        assert [e.key.task_id for e in agentgym.trajectories(str(number))] == [
            json.loads(line)["id"] for line in lines
        ]


def test_an_environment_option_reaches_the_environment(agentgym: Command) -> None:
    agentgym.eval("--agent", "oracle", "--limit", "1", "--run-id", "x", "-E", "comparator=bird_ex")
    (episode,) = agentgym.trajectories("x")
    assert episode.grade is not None
    assert episode.grade.labels["comparator"] == "bird_ex"


def test_a_database_that_is_gone_stops_the_run_with_one_line(agentgym: Command) -> None:
    task = {"id": "a", "public": {"db": "x", "question": "?"}}
    line = {**task, "private": {"gold": "SELECT 1", "file": "gone.sqlite"}}
    (agentgym.folder / "gone.jsonl").write_text(json.dumps(line))
    done = agentgym("eval", "sql", "--agent", "oracle", "--tasks", "gone.jsonl", code=2)
    assert "gone.sqlite" in done.err
    assert done.err.count("\n") == 1


@pytest.fixture
def spider() -> Iterator[Path]:
    """The benchmark's folder, held to being left as it is."""
    require(SPIDER.exists(), f"needs the InterCode data in {SPIDER}")

    def hashes() -> dict[str, str]:
        files = sorted(path for path in SPIDER.rglob("*") if path.is_file())
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before = hashes()
    assert sum(name.endswith(".sqlite") for name in before) == 20
    yield SPIDER
    assert hashes() == before


@pytest.mark.real_data
def test_the_oracle_solves_every_sound_question_of_spider(agentgym: Command, spider: Path) -> None:
    results = agentgym.eval("--agent", "oracle,null", "--tasks", str(spider), "--max-turns", "2")
    oracle, null = results["runs"]
    assert (oracle["tasks"], oracle["scored"], oracle["success_rate"]) == (946, 946, 1.0)
    assert oracle["mean_reward"] == 1.0
    assert (null["scored"], null["mean_reward"]) == (946, 0.0)


@pytest.mark.real_data
def test_an_empty_select_scores_nowhere_in_spider(agentgym: Command, spider: Path) -> None:
    empty = script(agentgym.folder / "empty.jsonl", {"actions": submit(query="SELECT 1 WHERE 0")})
    result = agentgym.eval(
        "--agent", empty, "--tasks", str(spider), "--include-flagged", "--run-id", "x"
    )
    assert (result["tasks"], result["scored"], result["mean_reward"]) == (1034, 1034, 0.0)
    outcomes = [e.grade.labels["outcome"] for e in agentgym.trajectories("x") if e.grade]
    assert outcomes.count("gold_empty") == 88


@pytest.mark.real_data
def test_rows_in_any_order_are_right_where_spider_asks_for_none(
    agentgym: Command, spider: Path
) -> None:
    shuffled: list[Json] = []
    sorted_again: list[Json] = []
    shuffle = random.Random(7)
    for task_id, gold, rows in unordered_golds(spider):
        shuffle.shuffle(rows)
        shuffled.append({"task_id": task_id, "actions": submit(rows=rows)})
        by_columns = ", ".join(f"{n} DESC" for n in range(1, len(rows[0]) + 1))
        query = f"SELECT * FROM ({gold.rstrip('; ')}) ORDER BY {by_columns}"
        sorted_again.append({"task_id": task_id, "actions": submit(query=query)})
    assert len(shuffled) > 600
    asked = [f"--task={line['task_id']}" for line in shuffled]
    agents = [
        script(agentgym.folder / "rows.jsonl", *shuffled),
        script(agentgym.folder / "queries.jsonl", *sorted_again),
    ]
    results = agentgym.eval("--agent", ",".join(agents), "--tasks", str(spider), *asked)["runs"]
    assert [(r["tasks"], r["mean_reward"]) for r in results] == [(len(shuffled), 1.0)] * 2


def unordered_golds(spider: Path) -> Iterator[tuple[str, str, list[tuple[Json, ...]]]]:
    """Yield id, gold and rows of every sound question whose gold says nothing of an order."""
    for task in load_tasks(spec("sql"), str(spider)).select():
        gold = task.private.gold
        if "order by" not in gold.lower():
            with sqlite3.connect(f"file:{task.private.file}?mode=ro&immutable=1", uri=True) as db:
                yield task.id, gold, db.execute(gold).fetchall()
            db.close()
