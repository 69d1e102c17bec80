"""`agentgym train` as a person runs it: end to end, killed and gone on with, refused."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json
from tests.cli.conftest import Command

CONFIG = """
name = "tiny"
output = "out"
threads = 1

[environment]
name = "maze"
tasks = "tiny"
train_limit = 4
test_limit = 4
options = { instructions = false }

[model]
hidden_size = 16
heads = 2

[policy]
told = false
max_tokens = 6
budget = 200

[demonstrations]
tasks = 4
noise = 0.25

[sft]
epochs = 60
batch_size = 4
learning_rate = 0.01

[grpo]
steps = 6
tasks = 2
group = 4
save_every = 2
checkpoints = 9
estimator = "gigpo"
recipes = [{ name = "replay", options = { capacity = 2 } }, { name = "selection" }]

[evaluation]
every = 2
"""


@pytest.fixture
def trainer(agentgym: Command) -> Command:
    (agentgym.folder / "train.toml").write_text(CONFIG)
    return agentgym


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def state(folder: Path) -> dict[str, Json]:
    found: dict[str, Json] = json.loads((folder / "state.json").read_text())["done"]
    return found


def learned(folder: Path) -> list[tuple[Json, ...]]:
    """Each step of reinforcement learning, without what the clock has to do with."""
    return [
        (line["step"], line["reward"], line["loss"], line["entropy"], line["grad_norm"])
        for line in lines(folder)
        if line["stage"] == "grpo" and "reward" in line
    ]


def training_of(folder: Path) -> str:
    """Return what the store calls a training by."""
    return str(state(folder)["evaluation-0"]["run_id"]).removesuffix("-evaluation-0")


@pytest.mark.slow
def test_a_training_is_killed_and_goes_on_as_if_it_had_not_been(trainer: Command) -> None:
    whole = trainer("train", "train.toml", "-o", "whole")
    assert "seed 0, step 6: success" in whole.out
    reference = trainer.folder / "whole/seed-0"
    assert [step for step, *_ in learned(reference)] == [1, 2, 3, 4, 5, 6]
    assert any(reward for _, reward, *_ in learned(reference))  # else there is little to compare
    assert whole.err == ""

    folder = trainer.folder / "out/seed-0"
    third = folder / "checkpoints/checkpoint-4/trainer_state.json"
    process = trainer.start("train", "train.toml")
    trainer.wait_until(third.exists, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = state(folder)
    assert {"demonstrations", "start", "sft", "evaluation-0", "evaluation-2"} <= set(before)
    assert "grpo" not in before
    # What a kill in the middle of writing leaves behind.
    half = folder / "checkpoints/checkpoint-5"
    half.mkdir()
    (half / "trainer_state.json").write_text("{")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"stage": "grpo", "st')

    done = trainer("train", "train.toml", "--json").json
    (result,) = done["seeds"]
    assert [one["step"] for one in result["evaluations"]] == [0, 2, 4, 6]
    after = state(folder)
    assert {name: after[name] for name in before} == before
    assert not half.exists()
    # No step is missing, none is there twice, and each came to what it comes to without a kill.
    assert learned(folder) == learned(reference)
    assert after["grpo"] == state(reference)["grpo"]
    with TrajectoryStore.open(trainer.folder / "runs.db", create=False) as store:
        runs = {run.run_id: run for run in store.list_runs()}
        stored = [x.step for x in store.metrics.read(training_of(folder)) if "reward" in x.values]
        assert stored == [1, 2, 3, 4, 5, 6]
        for name in ("evaluation-0", "evaluation-6"):
            assert runs[after[name]["run_id"]].graded == 4
            own = [row.score for row in store.summaries(after[name]["run_id"])]
            other = state(reference)[name]["run_id"]
            assert own == [row.score for row in store.summaries(other)]

    # A training that is done is only told of again.
    again = trainer("train", "train.toml", "--json").json
    assert again == done
    assert state(folder) == after

    plotted = trainer("plot", "whole", "-o", "whole.svg")
    assert plotted.out == "wrote whole.svg and whole.json\n"
    figures = json.loads((trainer.folder / "whole.json").read_text())
    assert figures["tiny"][0]["rewards"] == [reward for _, reward, *_ in learned(reference)]
    assert "reward in training" in (trainer.folder / "whole.svg").read_text()

    # What was trained plays like any other model.
    played = trainer(
        "eval", "maze", "--model", "local:out/seed-0/grpo", "--tasks", "tiny", "--limit", "2",
        "-E", "instructions=false", "--json",
    ).json  # fmt: skip
    assert played["scored"] == 2


def test_variants_of_a_training_are_plotted_by_their_folders(agentgym: Command) -> None:
    report = {"name": "maze", "seeds": [{"seed": 0, "evaluations": [], "rewards": [0.5, 1.0]}]}
    for folder in ("grpo", "gigpo", "other/gigpo"):
        (agentgym.folder / folder).mkdir(parents=True)
        (agentgym.folder / folder / "report.json").write_text(json.dumps(report))
    agentgym("plot", "grpo", "gigpo", "-o", "both.svg")
    assert set(json.loads((agentgym.folder / "both.json").read_text())) == {"grpo", "gigpo"}
    refused = agentgym("plot", "gigpo", "other/gigpo", code=2)
    assert "so have their folders. Rename a folder." in refused.err


def test_a_plot_of_nothing_is_refused(trainer: Command) -> None:
    assert "report.json is no report of a training" in trainer("plot", "gone", code=2).err


@pytest.mark.parametrize(
    ("picture", "words"), [("gone/x.svg", "cannot be written"), ("x.foo", "Name it x.svg")]
)
def test_a_picture_that_cannot_be_is_refused(trainer: Command, picture: str, words: str) -> None:
    seed = {"seed": 0, "evaluations": [], "rewards": [0.1, 0.2]}
    (trainer.folder / "out").mkdir()
    report = {"name": "tiny", "seeds": [seed]}
    (trainer.folder / "out/report.json").write_text(json.dumps(report))
    done = trainer("plot", "out", "-o", picture, code=2)
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_mistakes_are_one_line_each(trainer: Command) -> None:
    for arguments, words in (
        (("gone.toml",), "gone.toml: No such file or directory. Check the path."),
        (("train.toml", "--set", "grpo.stesp=3"), "Did you mean 'steps'"),
        (("train.toml", "--seed", "1"), "Unknown seed '1'"),
        (("train.toml", "--set", "environment.name=mase"), "Did you mean 'maze'"),
        (("train.toml", "--set", "environment.test=train"), "are among those that are learned"),
        (("train.toml", "--set", "report_to=['wandb']"), "wandb, which is not installed"),
        (("train.toml", "-o", "/proc/here"), "/proc/here"),
    ):
        done = trainer("train", *arguments, code=2)
        assert len(done.err.splitlines()) == 1, done.err
        assert words in done.err
        assert done.out == ""


def test_without_the_packages_that_train_there_is_a_remedy(trainer: Command) -> None:
    stub = trainer.folder / "hidden/trl"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("raise ImportError('not here')")
    done = trainer("train", "train.toml", code=2, env={"PYTHONPATH": str(stub.parent)})
    assert done.err.splitlines() == [
        "agentgym: Training needs the extra 'train', which is not installed. From the checkout: "
        "pip install -e '.[train]'"
    ]
