"""`agentgym export --format sft|dpo|kto`: rows to train on, from runs of the store."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.types import Json
from tests.cli.conftest import Command


@pytest.fixture
def played(agentgym: Command) -> Command:
    """Six games of a maze each by the oracle and, ten times, by the random agent."""
    common = ("--tasks", "tiny", "--limit", "6", "-E", "instructions=false")
    agentgym("eval", "maze", *common, "--agent", "oracle", "--run-id", "good")
    agentgym("eval", "maze", *common, "--agent", "random", "--epochs", "10", "--run-id", "any")
    return agentgym


def rows(path: Path) -> list[dict[str, Json]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_rows_for_each_trainer_of_chosen_episodes(played: Command) -> None:
    done = played("export", "good", "--format", "sft", "--action-format", "brackets")
    assert done.out == "wrote 6 rows to good.sft.jsonl\n"
    for row in rows(played.folder / "good.sft.jsonl"):
        assert row["messages"][-1]["content"].startswith("move[")

    done = played("export", "good", "any", "--format", "dpo", "-o", "pairs.jsonl", "--json")
    found = rows(played.folder / "pairs.jsonl")
    assert done.json == {"run_ids": ["good", "any"], "rows": len(found), "file": "pairs.jsonl"}
    assert len(found) > 3
    for row in found:
        assert row["chosen"] != row["rejected"]
        assert json.loads(row["tools"])[0]["function"]["name"] == "move"

    out = played("export", "good", "any", "--format", "kto", "-o", "-").out
    labels = [json.loads(line)["label"] for line in out.splitlines()]
    assert set(labels) == {True, False}

    # Episodes are chosen.
    def count(*options: str) -> int:
        found = played("export", "good", "any", "--format", "sft", *options, "--json").json
        return int(found["rows"])

    everything = count()
    solved = count("--success")
    assert 6 <= solved < everything <= 66
    assert count("--min-reward", "1") == solved
    assert count("--top", "0.01") == solved  # ties with the last one are kept
    assert count("--best-of-task", "1") == 6


def test_parquet_and_mistakes(played: Command) -> None:
    datasets: Any = pytest.importorskip("datasets")
    done = played("export", "good", "--format", "sft", "-o", "good.parquet")
    assert (done.out, done.err) == ("wrote 6 rows to good.parquet\n", "")
    cache = str(played.folder / "cache")
    path = str(played.folder / "good.parquet")
    read = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=cache)
    (call,) = read[0]["messages"][1]["tool_calls"]
    assert set(call["function"]["arguments"]) == {"direction"}

    for arguments, words in (
        (("good", "--success"), "--success is for rows to train on"),
        (("good", "any"), "Name one run."),
        (("good", "--format", "sft", "--top", "3"), "--top is 3.0. Input should be less"),
        (("good", "--format", "dpo"), "Nothing is left to export."),
        (("good", "--format", "dpo", "--same", "place"), "--same is 'place'."),
        (("good", "--format", "sft", "--action-format", "bracket"), "Did you mean 'brackets'"),
        (("good", "--format", "dpo", "--margin", "-1"), "--margin is -1.0."),
        (("good", "--format", "dpo", "--label-by", "turn"), "--label-by says nothing for"),
        (("good", "anny", "--format", "sft"), "Did you mean 'any'"),
    ):
        done = played("export", *arguments, code=2)
        assert len(done.err.splitlines()) == 1, done.err
        assert words in done.err
    assert not list(played.folder.glob("*.jsonl"))
