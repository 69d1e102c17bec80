"""The canary: whatever of TRL's own parts has moved is named here, and not by a training."""

import os
from pathlib import Path

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import pytest

pytest.importorskip("trl")

from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentgym.training.spec import TrlSpec
from agentgym.training.trl_private import moved
from tests.training.buttons import BUTTONS, button_model, button_tasks, button_tokenizer


@pytest.fixture
def trainer(tmp_path: Path) -> GRPOTrainer:
    tokenizer = button_tokenizer()
    spec = TrlSpec(BUTTONS, button_tasks(), format="brackets", told=False)
    return GRPOTrainer(
        model=button_model(tokenizer),
        args=GRPOConfig(output_dir=str(tmp_path), use_cpu=True, report_to=[]),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        rollout_func=spec.rollout_func,
        reward_funcs=spec.reward_funcs,
    )


def test_nothing_of_trl_has_moved(trainer: GRPOTrainer) -> None:
    assert moved(GRPOTrainer, trainer) == []
    assert trainer.generation_config.max_new_tokens == trainer.max_completion_length


def test_the_canary_names_what_has_moved(
    trainer: GRPOTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(GRPOTrainer):
        def _generate_single_turn(self, tokens: object) -> None:  # type: ignore[override]
            return

    Other._calculate_rewards = None  # type: ignore[assignment]
    monkeypatch.delattr(trainer, "eos_token_ids")
    found = moved(Other, trainer)
    assert "GRPOTrainer._generate_single_turn takes no prompt_ids" in found
    assert "GRPOTrainer._calculate_rewards is gone" in found
    assert "GRPOTrainer().eos_token_ids is gone" in found
