"""Turn-level credit and recipes on a real environment, through `TrlSpec`."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from trl.trainer.grpo_config import GRPOConfig

from agentgym.env import Environment
from agentgym.errors import CapabilityError
from agentgym.training.credit.critic import TurnCritic
from agentgym.training.recipes.curriculum import Horizon
from agentgym.training.recipes.detours import kept_turns
from agentgym.training.recipes.distill import SelfDistillation
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
from tests.training.ladder import LADDER, ladder_tokenizer, ladders


def trainer_of(
    folder: Path, wrap: Any, recipes: Any, steps: int = 1, ladder: bool = False, **options: Any
) -> TurnLevelGRPOTrainer:
    tokenizer = ladder_tokenizer() if ladder else button_tokenizer()
    env, tasks = (LADDER, ladders(3)) if ladder else (BUTTONS, button_tasks())
    spec = TrlSpec(
        env, tasks, format="brackets", told=False, max_tokens=2, wrap=wrap, backoff=0.0, split=None
    )
    return TurnLevelGRPOTrainer(
        model=button_model(tokenizer),
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=24,
            num_generations=8,
            max_completion_length=96,
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


def test_episodes_are_set_back_and_trained_on(tmp_path: Path) -> None:
    spy = Spy()
    trainer_of(tmp_path, Retrying, [Reflect(), Replay(), spy], steps=4, ladder=True).train()
    undone = 0
    for batch in spy.batches:
        for row, turns, advantages in zip(
            batch.inputs, batch.turns, batch.tensors["advantages"], strict=True
        ):
            kept = kept_turns(row)
            if kept is not None:
                gone = [turn not in (-1, *kept) for turn in turns.tolist()]
                assert (advantages[torch.tensor(gone)] <= 0).all()
                undone += any(gone)
    assert undone > 10


def test_all_recipes_go_together(tmp_path: Path) -> None:
    horizon = Horizon(first=1, last=3, every=1)
    guidance = Guidance(lambda task: str(task.private.colours[0]))
    turns: list[int] = []

    def wrap(environment: Environment) -> Environment:
        return horizon.wrap(guidance.wrap(environment))

    spy = Spy()
    recipes = [horizon, guidance, Selection(), Replay(), DropEqualGroups(), SelfDistillation(), spy]
    trainer_of(tmp_path, wrap, recipes, steps=4, estimator=TurnCritic(width=8)).train()
    for batch in spy.batches:
        turns.append(max(len(row["episode"].steps) for row in batch.inputs))
        assert len(batch.inputs) == 24
        assert batch.tensors["advantages"].isfinite().all()
    assert turns == [1, 2, 3, 3]
    prompts = [batch.tensors["prompt_mask"].sum(dim=1).max() for batch in spy.batches]
    assert prompts[1] > prompts[0]  # nobody solves a task in one turn, so that all are guided


def test_what_infrastructure_broke_is_left_out(tmp_path: Path) -> None:
    spy = Spy()
    broken = {"button-0": 10**6}
    trainer = trainer_of(tmp_path, lambda inner: Failing(inner, broken), [spy], estimator="turn")
    trainer.train()
    (batch,) = spy.batches
    lost = [number for number, one in enumerate(batch.results) if one.reward is None]
    assert [batch.results[number].task_id for number in lost] == ["button-0"] * 8
    assert not batch.tensors["advantages"][lost].any()
    assert not any(batch.results[number].success for number in lost)


def test_an_environment_that_cannot_go_back_says_so(tmp_path: Path) -> None:
    def wrap(inner: Environment) -> Environment:
        return Retrying(inner, success=2.0)

    with pytest.raises(CapabilityError, match="ButtonEnvironment has no snapshot"):
        trainer_of(tmp_path, wrap, [Reflect()], steps=3).train()
