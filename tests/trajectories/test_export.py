import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.errors import MissingExtraError, UnknownNameError, UsageError
from agentgym.trajectories.export import conversation, export_run, read_jsonl
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Action, Message, Observation, ToolCall
from tests.trajectories import samples, strategies


@pytest.fixture
def full(tmp_path: Path) -> Iterator[TrajectoryStore]:
    with TrajectoryStore.open(tmp_path / "runs.db", redactor=Redactor()) as store:
        store.create_run(samples.run(tasks=3))
        store.save([samples.episode("t1", score=0.5), samples.failed("t2"), samples.episode("t0")])
        yield store


def test_json_lines_read_back_as_the_records(full: TrajectoryStore, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert export_run(full, "r1", "jsonl", path) == 3
    assert list(read_jsonl(path)) == list(full.trajectories("r1"))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(strategies.trajectories, min_size=1, max_size=2))
def test_any_records_read_back(tmp_path: Path, drawn: list[Trajectory]) -> None:
    done = samples.episode().outcome
    with TrajectoryStore.open(tmp_path / "any.db", redactor=Redactor()) as store:
        run_id = f"r{len(store.list_runs())}"
        store.create_run(samples.run(run_id, tasks=len(drawn)))
        saved = [
            t.model_copy(
                update={
                    "run_id": run_id,
                    "key": EpisodeKey(task_id=f"t{number}"),
                    "seed": t.seed % 2**63,
                    "outcome": done,
                }
            )
            for number, t in enumerate(drawn)
        ]
        store.save(saved)
        export_run(store, run_id, "jsonl", tmp_path / "any.jsonl")
        assert list(read_jsonl(tmp_path / "any.jsonl")) == saved
        assert export_run(store, run_id, "parquet", tmp_path / "any.parquet") == len(drawn)


def test_a_line_is_a_chat_that_trainers_read(full: TrajectoryStore, tmp_path: Path) -> None:
    export_run(full, "r1", "jsonl", tmp_path / "run.jsonl")
    first, second, failed = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())
    assert [first["task_id"], second["task_id"], failed["task_id"]] == ["t0", "t1", "t2"]
    assert [m["role"] for m in first["messages"]] == ["user"] + ["assistant", "tool"] * 5
    assert first["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "list_tables", "arguments": '{"schema": "main"}'},
            }
        ],
    }
    assert [tool["function"]["name"] for tool in first["tools"]] == [t.name for t in samples.TOOLS]
    assert second["rewards"] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert (second["score"], second["success"]) == (0.5, False)
    assert second["labels"] == {"comparator": "testsuite"}
    assert (failed["status"], failed["score"], failed["faults"]) == ("error", None, 3)
    assert failed["messages"] == []


def test_arguments_that_are_no_object_stay_as_the_model_wrote_them() -> None:
    broken = Action(text="hm", tool_calls=(ToolCall(name="query", arguments='{"sql": '),))
    turn = samples.episode().turns[0].model_copy(update={"action": broken})
    said = conversation(samples.episode().model_copy(update={"turns": (turn,)}))[1]
    assert said["content"] == "hm"
    assert said["tool_calls"][0]["function"]["arguments"] == '{"sql": '


def test_parquet_has_a_row_for_each_episode(full: TrajectoryStore, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    assert export_run(full, "r1", "parquet", path) == 3
    rows = pq.read_table(path).to_pylist()
    assert [row["task_id"] for row in rows] == ["t0", "t1", "t2"]
    assert [row["score"] for row in rows] == [1.0, 0.5, None]
    assert rows[0]["started_at"] == samples.WHEN
    assert rows[0]["rewards"] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert json.loads(rows[0]["messages"]) == conversation(samples.episode("t0"))


def test_parquet_is_written_in_groups(tmp_path: Path) -> None:
    long = Observation(messages=(Message(role="user", content="x" * (3 << 20)),))
    with TrajectoryStore.open(tmp_path / "runs.db") as store:
        store.create_run(samples.run(tasks=7))
        for number in range(7):
            store.save([samples.episode(f"t{number}").model_copy(update={"first": long})])
        export_run(store, "r1", "parquet", tmp_path / "run.parquet")
    assert pq.ParquetFile(tmp_path / "run.parquet").num_row_groups == 3


def test_an_empty_run_is_an_empty_file(tmp_path: Path) -> None:
    with TrajectoryStore.open(tmp_path / "runs.db") as store:
        store.create_run(samples.run())
        assert export_run(store, "r1", "jsonl", tmp_path / "run.jsonl") == 0
        assert export_run(store, "r1", "parquet", tmp_path / "run.parquet") == 0
    assert (tmp_path / "run.jsonl").read_bytes() == b""
    assert pq.read_table(tmp_path / "run.parquet").num_rows == 0


def test_standard_output_takes_json_lines(
    full: TrajectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    assert export_run(full, "r1", "jsonl", "-") == 3
    assert isinstance(out.buffer, io.BytesIO)
    assert len(out.buffer.getvalue().splitlines()) == 3
    with pytest.raises(UsageError, match="Name a file"):
        export_run(full, "r1", "parquet", "-")


def test_what_cannot_be_exported_leaves_the_file_alone(
    full: TrajectoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("before")
    with pytest.raises(UnknownNameError, match="'r1'"):
        export_run(full, "r2", "jsonl", path)
    with pytest.raises(UnknownNameError, match="'jsonl'"):
        export_run(full, "r1", "json", path)
    with pytest.raises(UsageError, match="Cannot write"):
        export_run(full, "r1", "jsonl", tmp_path / "none" / "run.jsonl")
    with pytest.raises(UsageError, match="Cannot write"):
        export_run(full, "r1", "jsonl", tmp_path)
    assert path.read_text() == "before"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"trajectory": {}}', "null"])
def test_a_line_of_something_else_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UsageError, match=r"run\.jsonl, line 1"):
        list(read_jsonl(path))


def test_parquet_without_its_extra_says_how_to_get_it(
    full: TrajectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "agentgym.trajectories.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"\[parquet\]"):
        export_run(full, "r1", "parquet", tmp_path / "run.parquet")
    assert not list(tmp_path.glob("*run.parquet*"))


def test_a_pipe_is_written_to_and_a_link_is_followed(full: TrajectoryStore, tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert export_run(full, "r1", "jsonl", pipe) == 3
    assert os.read(reader, 1 << 20).count(b"\n") == 3
    os.close(reader)
    assert pipe.is_fifo()
    target.write_text("before")
    link.symlink_to(target)
    export_run(full, "r1", "jsonl", link)
    assert link.is_symlink()
    assert len(list(read_jsonl(target))) == 3
