"""Turn-level credit and recipes on a real environment, through `TrlSpec`."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from trl.trainer.grpo_config import GRPOConfig

from agentgym.env import Environment
from agentgym.training.recipes.curriculum import Horizon
from agentgym.training.recipes.guidance import Guidance
from agentgym.training.recipes.reflect import Reflect, Retrying
from agentgym.training.recipes.replay import Replay
from agentgym.training.recipes.selection import DropEqualGroups, Selection
from agentgym.training.spec import TrlSpec
from agentgym.training.trainer import TurnLevelGRPOTrainer
from tests.training.buttons import (
    BUTTONS,
    Failing,
    button_model,
    button_tasks,
    button_tokenizer,
)
from tests.training.corridor import Spy


def trainer_of(
    folder: Path, wrap: Any, recipes: Any, steps: int = 1, **options: Any
) -> TurnLevelGRPOTrainer:
    tokenizer = button_tokenizer()
    spec = TrlSpec(
        BUTTONS, button_tasks(), format="brackets", told=False, max_tokens=2, wrap=wrap, backoff=0.0
    )
    return TurnLevelGRPOTrainer(
        model=button_model(tokenizer),
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=24,
            num_generations=8,
            max_completion_length=32,
            max_steps=steps,
            learning_rate=1e-2,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            disable_tqdm=True,
        ),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        rollout_func=spec.rollout_func,
        reward_funcs=spec.reward_funcs,
        recipes=recipes,
        **options,
    )


def test_everything_at_once_learns(tmp_path: Path) -> None:
    horizon = Horizon(first=2, last=3, every=10)
    guidance = Guidance(lambda task: str(task.private.colours[0]), patience=2)

    def wrap(environment: Environment) -> Environment:
        return horizon.wrap(guidance.wrap(environment))

    recipes = [horizon, guidance, Selection(), Replay(), DropEqualGroups()]
    trainer = trainer_of(tmp_path, wrap, recipes, steps=40, estimator="gigpo")
    trainer.train()
    found = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    assert sum(found[:5]) / 5 < 0.4
    assert sum(found[-5:]) / 5 > 0.7


def test_what_infrastructure_broke_is_left_out(tmp_path: Path) -> None:
    spy = Spy()
    broken = {"button-0": 3 * 5}
    trainer = trainer_of(tmp_path, lambda inner: Failing(inner, broken), [spy], estimator="turn")
    trainer.train()
    (batch,) = spy.batches
    lost = [number for number, one in enumerate(batch.results) if one.reward is None]
    assert lost
    assert all(batch.results[number].task_id == "button-0" for number in lost)
    assert not batch.tensors["advantages"][lost].any()
    assert not any(batch.results[number].success for number in lost)


def test_an_environment_without_snapshots_cannot_retry(tmp_path: Path) -> None:
    spy = Spy()
    trainer = trainer_of(tmp_path, Retrying, [Reflect(), spy])
    with pytest.raises(Exception, match="Retrying"):
        trainer.train()
