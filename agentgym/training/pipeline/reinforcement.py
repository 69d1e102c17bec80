"""Reinforcement: TRL's GRPO over whole episodes, with turn-level credit and checkpoints."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from agentgym.training.config import GrpoConfig, TrainConfig
from agentgym.training.pipeline.folder import TrainingFolder
from agentgym.training.pipeline.models import open_model
from agentgym.training.pipeline.plans import Scene
from agentgym.training.pipeline.trl import quiet, settings_for
from agentgym.training.spec import TrlSpec
from agentgym.training.trainer import TurnLevelGRPOTrainer
from agentgym.types import Json

STAGE = "grpo"

Evaluate = Callable[[Any, Any, int], None]
"""Plays the held-out tasks: called with model, tokenizer and step."""


def reinforce(
    start: Path,
    scene: Scene,
    config: TrainConfig,
    grpo: GrpoConfig,
    folder: TrainingFolder,
    *,
    evaluate: Evaluate,
    seed: int,
) -> tuple[Any, Any, dict[str, Json]]:
    """Train a model on the training tasks, from its last whole checkpoint on.

    Returns:
        The model, its tokenizer, and `steps` and `reward`, the mean reward of the last tenth of
        the steps.

    Raises:
        UsageError: The environment, the model or a setting will not do.
    """
    model, tokenizer = open_model(start)
    checkpoints = folder.path / "checkpoints"
    last = last_whole_checkpoint(checkpoints)
    step = 0 if last is None else int(last.name.rpartition("-")[2])
    folder.forget(STAGE, after=step)
    spec = TrlSpec(
        scene.env_spec,
        scene.train,
        env_options=scene.config.options,
        seed=seed,
        limits=scene.config.limits,
        **config.policy.tokens().model_dump(),
    )
    trainer = TurnLevelGRPOTrainer(
        model=model,
        args=_settings(config, grpo, checkpoints, model, seed),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        rollout_func=spec.rollout_func,
        reward_funcs=spec.reward_funcs,
        estimator=grpo.estimator,
        estimator_options=grpo.options,
    )
    quiet(trainer, folder, STAGE)
    every = config.evaluation.every
    watch = _Evaluations(evaluate, tokenizer, every, grpo.steps)
    if last is not None:
        saved, _ = open_model(last)
        watch.look(saved, step)  # the process may have died between checkpoint and evaluation
    trainer.add_callback(watch)
    try:
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
    finally:
        spec.close()
    rewards = [line["reward"] for line in folder.measurements(STAGE) if "reward" in line]
    tail = rewards[-max(1, len(rewards) // 10) :]
    facts = {"steps": grpo.steps, "reward": sum(tail) / len(tail)}
    return trainer.model, tokenizer, facts


def last_whole_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint that was written to its end, and remove any later one.

    A trainer writes `trainer_state.json` last.
    """
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for path in reversed(found):
        if _is_whole(path):
            return path
        shutil.rmtree(path)
    return None


def _is_whole(path: Path) -> bool:
    try:
        json.loads((path / "trainer_state.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _settings(
    config: TrainConfig, grpo: GrpoConfig, checkpoints: Path, model: Any, seed: int
) -> Any:
    from accelerate import PartialState
    from trl.trainer.grpo_config import GRPOConfig as TrlGrpoConfig

    accumulated = int(grpo.trl.get("gradient_accumulation_steps", 1))
    rows = grpo.tasks * grpo.group // (accumulated * PartialState().num_processes)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return settings_for(
        TrlGrpoConfig,
        {
            "output_dir": str(checkpoints),
            "max_steps": grpo.steps,
            "per_device_train_batch_size": max(1, rows),
            "num_generations": grpo.group,
            "learning_rate": grpo.learning_rate,
            "temperature": config.policy.temperature,
            "max_completion_length": config.policy.budget or context or 4096,
            "save_steps": grpo.save_every,
            "save_total_limit": grpo.checkpoints,
            "seed": seed,
        },
        grpo.trl,
        config,
        "grpo.trl",
    )


class _Evaluations(TrainerCallback):
    """Evaluates at checkpoints; the last step is evaluated by whoever trains."""

    def __init__(self, evaluate: Evaluate, tokenizer: Any, every: int | None, steps: int) -> None:
        self._evaluate = evaluate
        self._tokenizer = tokenizer
        self._every = every
        self._steps = steps

    def look(self, model: Any, step: int) -> None:
        """Evaluate a model if it is time to."""
        if self._every is not None and step % self._every == 0 and step < self._steps:
            self._evaluate(model, self._tokenizer, step)

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        """Evaluate the model that was just saved, if it is time to."""
        self.look(model, state.global_step)
