"""Every recorded call of the benchmark's train splits, and the gold calls of all tasks."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym_tools.base import canonical_text
from agentgym_tools.domain import Call, Desk, Domain
from agentgym_tools.replay import answer, replay
from agentgym_tools.tau2.loading import load_domain

NAMES = ["retail", "airline"]
CALLS = {"retail": 1053, "airline": 236}
TASKS = {"retail": 114, "airline": 50}

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module", params=NAMES)
def domain(request: pytest.FixtureRequest, real_tau2: Path) -> Domain:
    return load_domain(real_tau2, request.param)


def _rows(folder: Path, domain: Domain) -> Iterator[Mapping[str, Any]]:
    with (folder / domain.name / "vectors_train.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _difference(desk: Desk, recorded: Mapping[str, Any]) -> str | None:
    """Make a recorded call; return where its end differs from the record, for a person."""
    got = answer(desk, Call(name=recorded["name"], arguments=recorded["arguments"]))
    text = f"Error: {got.text}" if got.error else got.text
    call = f"{recorded['name']}({json.dumps(recorded['arguments'])})"
    if got.error != recorded["error"] or text != recorded["result"]:
        at = next(
            (i for i, (a, b) in enumerate(zip(text, recorded["result"], strict=False)) if a != b),
            min(len(text), len(recorded["result"])),
        )
        window = slice(max(0, at - 60), at + 60)
        return (
            f"{call}: the answers part at character {at}:\n"
            f"  ours:     ...{text[window]}...\n"
            f"  recorded: ...{recorded['result'][window]}..."
        )
    if desk.state.canonical_sha256() != recorded["db_sha256"]:
        changes = canonical_text(desk.state.changes())
        return (
            f"{call}: the answer is right, the state is not; it differs from db.json by {changes}"
        )
    return None


def test_every_recorded_call_is_reproduced(domain: Domain, real_tau2: Path) -> None:
    made = 0
    for row in _rows(real_tau2, domain):
        desk = domain.open()
        assert desk.state.canonical_sha256() == row["db_sha256_initial"]
        for number, gold in enumerate(row["calls"]):
            for probe in gold["probes"]:
                difference = _difference(domain.open(desk.state.fork()), probe)
                assert difference is None, f"task {row['task_id']}, probe {number}: {difference}"
            difference = _difference(desk, gold)
            assert difference is None, f"task {row['task_id']}, call {number}: {difference}"
            made += 1 + len(gold["probes"])
    assert made == CALLS[domain.name]


def test_the_gold_calls_of_every_task_are_replayed(domain: Domain, real_tau2: Path) -> None:
    assert len(domain.tasks) == TASKS[domain.name]
    pristine = domain.open().state.fingerprint()
    ends = {}
    for task in domain.tasks.values():
        first, second = replay(domain, task.gold), replay(domain, task.gold)
        assert first.answers == second.answers
        ends[task.id] = first.desk.state.fingerprint()
        assert ends[task.id] == second.desk.state.fingerprint()
        assert (ends[task.id] == pristine) == (not first.desk.state.changes())
    writing = sum(end != pristine for end in ends.values())
    assert writing > len(ends) / 3
    assert domain.open().state.fingerprint() == pristine
    for row in _rows(real_tau2, domain):
        if row["calls"]:
            end = replay(domain, domain.tasks[row["task_id"]].gold).desk.state
            assert end.canonical_sha256() == row["calls"][-1]["db_sha256"]


def test_the_content_is_the_files_own(domain: Domain, real_tau2: Path) -> None:
    text = (real_tau2 / domain.name / "db.json").read_text(encoding="utf-8")
    # Field by field in the same order, as it shows in the answers.
    assert json.dumps(domain.base.collections) == json.dumps(json.loads(text))


def test_tools_have_the_arguments_and_effects_of_the_benchmarks(
    domain: Domain, real_tau2: Path
) -> None:
    schemas = json.loads((real_tau2 / domain.name / "tool_schemas.json").read_text("utf-8"))
    ours = domain.toolkit.declared()
    assert {name: tool.effect.value for name, tool in ours.items()} == schemas["kinds"]
    for entry in schemas["tools"]:
        theirs = entry["function"]
        shape = _shape(ours[theirs["name"]].spec.parameters)
        assert shape.pop("additionalProperties") is False
        assert shape == {"properties": {}, **_shape(theirs["parameters"])}


def _shape(node: Any) -> Any:
    """Drop what says nothing about which arguments fit: words."""
    if isinstance(node, dict):
        words = {key for key in ("title", "description") if isinstance(node.get(key), str)}
        return {key: _shape(value) for key, value in node.items() if key not in words}
    return [_shape(part) for part in node] if isinstance(node, list) else node


def test_splits_are_the_files(domain: Domain) -> None:
    splits = [task.model_dump()["split"] for task in domain.tasks.values()]
    assert set(splits) == {"train", "test"}
