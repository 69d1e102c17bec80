"""Both of TRL's hooks, with the real trainer and a micro model: the reward rises."""

import os
from pathlib import Path
from typing import Any

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import pytest

pytest.importorskip("trl")

from transformers import set_seed
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentgym.training.spec import TrlSpec
from tests.training.buttons import (
    BUTTONS,
    CALLS,
    button_model,
    button_tasks,
    button_tokenizer,
)


def config(folder: Path, **changes: Any) -> GRPOConfig:
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 24,
        "num_generations": 8,
        "max_completion_length": 32,
        "learning_rate": 3e-3,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "report_to": [],
        "use_cpu": True,
        "save_strategy": "no",
        "disable_tqdm": True,
        "seed": 0,
        **changes,
    }
    return GRPOConfig(**settings)


def rewards(trainer: GRPOTrainer) -> list[float]:
    return [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_reward_rises_through_rollout_func(tmp_path: Path) -> None:
    set_seed(0)
    tokenizer = button_tokenizer()
    spec = TrlSpec(
        BUTTONS,
        button_tasks(),
        format="brackets",
        told=False,
        max_tokens=2,
        components=("grade", "pressed"),
    )
    trainer = GRPOTrainer(
        model=button_model(tokenizer),
        args=config(tmp_path, max_steps=50, reward_weights=spec.reward_weights),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        rollout_func=spec.rollout_func,
        reward_funcs=spec.reward_funcs,
    )
    trainer.train()
    spec.close()
    found = rewards(trainer)
    assert mean(found[:5]) < 0.3
    assert mean(found[-5:]) > 0.6
    for entry in trainer.state.log_history[:-1]:
        assert entry["rewards/grade/mean"] == pytest.approx(entry["reward"])
        assert 0 <= entry["rewards/pressed/mean"] <= 2


def test_the_reward_rises_through_environment_factory(tmp_path: Path) -> None:
    set_seed(0)
    tokenizer = button_tokenizer(CALLS)
    spec = TrlSpec(BUTTONS, button_tasks(presses=1), told=False)
    trainer = GRPOTrainer(
        model=button_model(tokenizer),
        args=config(tmp_path, max_steps=40, max_completion_length=10),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
    )
    trainer.train()
    spec.close()
    found = rewards(trainer)
    assert mean(found[:5]) < 0.4
    assert mean(found[-5:]) > 0.7
    assert "rewards/Buttons/mean" in trainer.state.log_history[0]
