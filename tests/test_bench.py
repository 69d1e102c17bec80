"""The bench runs and says what it measured; what the figures are is not a test's business."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    topics = ("engine", "store", "sql", "start")
    only = [word for topic in topics for word in ("--only", topic)]
    done = bench("--quick", "--json", str(path), *only)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(path.read_text())


def test_the_json_says_what_was_measured_and_on_what(
    measured: tuple[str, dict[str, Any]],
) -> None:
    _, found = measured
    assert found["quick"] is True
    assert found["skipped"] == []
    assert {"cores", "load", "platform", "architecture", "python"} == set(found["machine"])
    assert {figure["topic"] for figure in found["figures"]} == {"engine", "store", "sql", "start"}


def test_every_figure_has_a_spread_over_repetitions(
    measured: tuple[str, dict[str, Any]],
) -> None:
    for figure in measured[1]["figures"]:
        assert figure["repetitions"] >= 2
        assert 0 < figure["min"] <= figure["median"] <= figure["max"]
        assert figure["unit"] in {"ms", "us", "s", "1/s", "bytes"}
        assert figure["kind"] in {"figure", "floor"}


def test_topics_with_a_floor_measure_it_in_the_same_run(
    measured: tuple[str, dict[str, Any]],
) -> None:
    floors = {f["topic"] for f in measured[1]["figures"] if f["kind"] == "floor"}
    assert floors == {"engine", "sql", "start"}


def test_the_aims_are_the_documented_ones(measured: tuple[str, dict[str, Any]]) -> None:
    aims = {f["name"]: f["aim"] for f in measured[1]["figures"] if f["aim"] is not None}
    documented = (ROOT / "docs" / "benchmarks.md").read_text()
    assert aims
    for name in aims:
        assert name in documented


def test_the_table_shows_every_figure(measured: tuple[str, dict[str, Any]]) -> None:
    table, found = measured
    for figure in found["figures"]:
        assert figure["name"] in table


def test_an_unknown_topic_is_refused() -> None:
    done = bench("--only", "nothing")
    assert done.returncode == 2
    assert "invalid choice" in done.stderr
