"""A training's folder: its state outlives a kill, and two trainings are never mixed."""

import json
from pathlib import Path

import pytest

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.config import make_config
from agentgym.training.pipeline.folder import TrainingFolder
from agentgym.training.pipeline.metrics import MetricsLog
from agentgym.trajectories.store import TrajectoryStore

SETTINGS = {"name": "a", "grpo": {"steps": 5, "group": 4}}


def test_what_is_done_is_known_to_the_next_process(tmp_path: Path) -> None:
    first = TrainingFolder(tmp_path / "a", SETTINGS)
    assert first.done == {}
    first.finish("sft", {"rows": 3})
    assert TrainingFolder(tmp_path / "a", SETTINGS).done == {"sft": {"rows": 3}}


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    TrainingFolder(tmp_path, SETTINGS).finish("sft", {})
    other = {"name": "b", "grpo": {"steps": 5, "group": 8}}
    with pytest.raises(UsageError, match=r"of other settings: grpo\.group, name\."):
        TrainingFolder(tmp_path, other)


def test_a_setting_that_was_left_out_is_another_one(tmp_path: Path) -> None:
    TrainingFolder(tmp_path, {"options": {"instructions": False}}).finish("sft", {})
    with pytest.raises(UsageError, match=r"of other settings: options\.instructions\."):
        TrainingFolder(tmp_path, {"options": {}})


def test_a_damaged_state_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(UsageError, match=r"state\.json is damaged"):
        TrainingFolder(tmp_path, SETTINGS)


def test_measurements_after_a_checkpoint_are_taken_again(tmp_path: Path) -> None:
    with TrajectoryStore.open(tmp_path / "runs.db") as store:
        log = MetricsLog(tmp_path, store.metrics, "maze-s0")
        log.add("sft", 9, {"loss": 1.0})
        for step in (1, 2, 3):
            log.add("grpo", step, {"reward": step / 10})
        with (tmp_path / "metrics.jsonl").open("a") as file:
            file.write('{"stage": "grpo", "step": 4, "rew')  # where a kill struck
        log.forget("grpo", after=2)
        log.add("grpo", 3, {"reward": 0.5})
        assert [one.values["reward"] for one in log.read("grpo")] == [0.1, 0.2, 0.5]
        assert len(log.read("sft")) == 1
        for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
            json.loads(line)
        kept = [(one.stage, one.step) for one in store.metrics.read("maze-s0")]
        assert sorted(kept) == [("grpo", 1), ("grpo", 2), ("grpo", 3), ("sft", 9)]


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    one, two = TrainingFolder(tmp_path, SETTINGS), TrainingFolder(tmp_path, SETTINGS)
    with one.owned(), pytest.raises(UsageError, match="Another process trains in"), two.owned():
        pass
    with two.owned():
        pass


def test_settings_of_trl_are_checked_by_name_and_value(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl.trainer.grpo_config")
    from agentgym.training.pipeline.trl import settings_for

    config = make_config({"name": "a", "output": "out", "environment": {"name": "maze"}})
    chosen = {"output_dir": str(tmp_path), "beta": 0.1}
    made = settings_for(trl.GRPOConfig, chosen, {"beta": 0.2}, config, "grpo.trl")
    assert (made.beta, made.use_cpu, made.bf16) == (0.2, True, False)
    with pytest.raises(UnknownNameError, match=r"setting of \[grpo\.trl\]: 'bta'\. .*'beta'"):
        settings_for(trl.GRPOConfig, chosen, {"bta": 0.2}, config, "grpo.trl")
    with pytest.raises(UsageError, match=r"TRL refuses the settings of grpo\.trl: "):
        settings_for(trl.GRPOConfig, chosen, {"generation_batch_size": 3}, config, "grpo.trl")
