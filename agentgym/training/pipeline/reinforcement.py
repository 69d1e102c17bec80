"""Reinforcement: TRL's GRPO over whole episodes, with turn-level credit and checkpoints."""

from collections.abc import Callable
from math import gcd
from pathlib import Path
from statistics import fmean
from typing import Any

from transformers import TrainerCallback

from agentgym.errors import UsageError
from agentgym.training.config import GrpoConfig, TrainConfig
from agentgym.training.credit.estimators import ESTIMATORS
from agentgym.training.pipeline.checkpoints import last_whole_checkpoint
from agentgym.training.pipeline.credit import make_estimator
from agentgym.training.pipeline.metrics import MetricsLog
from agentgym.training.pipeline.models import open_model
from agentgym.training.pipeline.plans import Scene
from agentgym.training.pipeline.progress import Progress
from agentgym.training.pipeline.trl import measure, refusals, settings_for
from agentgym.training.recipes.named import Recipes, make_recipes
from agentgym.training.recipes.shaping import clip_higher, entropy_floor
from agentgym.training.spec import TrlSpec
from agentgym.training.trainer import SCALES, TurnLevelGRPOTrainer
from agentgym.types import Json

STAGE = "grpo"

Evaluate = Callable[[Any, Any, int], None]
"""Plays the held-out tasks: called with model, tokenizer and step."""


def reinforce(
    model: Any,
    tokenizer: Any,
    scene: Scene,
    config: TrainConfig,
    grpo: GrpoConfig,
    folder: Path,
    log: MetricsLog,
    progress: Progress,
    *,
    evaluate: Evaluate,
    seed: int,
) -> tuple[Any, dict[str, Json]]:
    """Train a model on the training tasks, from its last whole checkpoint on.

    Returns:
        The model, and `steps` and `reward`, the mean reward of the last tenth of the steps; None
        where no episode could be scored.

    Raises:
        UsageError: The environment, the model or a setting will not do.
    """
    checkpoints = folder / "checkpoints"
    last = last_whole_checkpoint(checkpoints)
    step = 0 if last is None else int(last.name.rpartition("-")[2])
    if last is not None:
        progress.tell(f"grpo goes on from step {step}")
    log.forget(STAGE, after=step)
    if last is not None and step == grpo.steps:  # a trainer that goes on makes one step at least
        saved, _ = open_model(last)
        return saved, _facts(log, step)
    recipes = recipes_of(scene, grpo)
    estimator, options = make_estimator(grpo.estimator, grpo.options)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    spec = TrlSpec(
        scene.env_spec,
        scene.train,
        env_options=scene.config.options,
        seed=seed,
        limits=scene.config.limits,
        wrap=recipes.wrap if recipes.wraps else None,
        **config.policy.tokens().model_dump(),
    )
    try:
        with refusals("grpo.trl", "grpo.tasks"):
            trainer = TurnLevelGRPOTrainer(
                model=model,
                args=grpo_settings(config, grpo, folder, context=context, seed=seed),
                processing_class=tokenizer,
                train_dataset=spec.train_dataset,
                rollout_func=spec.rollout_func,
                reward_funcs=spec.reward_funcs,
                estimator=estimator,
                estimator_options=options,
                recipes=recipes.recipes,
            )
            measure(trainer, log, STAGE, progress)
            watch = _Evaluations(evaluate, tokenizer, config.evaluation.every, grpo.steps)
            if last is not None:
                saved, _ = open_model(last)
                watch.look(saved, step)  # a kill may have come between checkpoint and evaluation
            trainer.add_callback(watch)
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
    finally:
        spec.close()
    return trainer.model, _facts(log, grpo.steps)


def _facts(log: MetricsLog, steps: int) -> dict[str, Json]:
    rewards = [one.values["reward"] for one in log.read(STAGE) if "reward" in one.values]
    tail = rewards[-max(1, len(rewards) // 10) :]
    return {"steps": steps, "reward": fmean(tail) if tail else None}


def recipes_of(scene: Scene, grpo: GrpoConfig) -> Recipes:
    """Make the recipes that are asked for.

    Raises:
        UsageError: There is no such recipe or option, or one cannot be.
    """
    asked = [(recipe.name, recipe.options) for recipe in grpo.recipes]
    return make_recipes(asked, scene.env_spec, scene.train)


def grpo_settings(
    config: TrainConfig, grpo: GrpoConfig, folder: Path, *, context: int | None, seed: int
) -> Any:
    """Return TRL's settings of reinforcement.

    Args:
        config: The training.
        grpo: Its reinforcement.
        folder: The seed's folder.
        context: Tokens that the model can read, where that is known.
        seed: Of sampling.

    Raises:
        UsageError: One cannot be.
    """
    from trl.trainer.grpo_config import GRPOConfig as TrlGrpoConfig

    given = grpo.trl.get("gradient_accumulation_steps", 1)
    accumulated = given if isinstance(given, int) and given > 0 else 1  # else TRL refuses it
    rows = grpo.tasks * grpo.group // accumulated
    shaped: dict[str, Any] = {}
    if grpo.clip_higher is not None:
        shaped |= clip_higher(grpo.clip_higher)
    if grpo.entropy_floor is not None:
        shaped |= entropy_floor(grpo.entropy_floor)
    made = settings_for(
        TrlGrpoConfig,
        {
            "output_dir": str(folder / "checkpoints"),
            "max_steps": grpo.steps,
            "per_device_train_batch_size": max(1, rows),
            "num_generations": grpo.group,
            "learning_rate": grpo.learning_rate,
            # Adam's first steps move every weight by the whole rate, whatever the gradient.
            "warmup_steps": grpo.warmup,
            "adam_beta2": 0.99,
            # TRL's default is a mean over all tokens, in which failures, being the longest
            # episodes, outweigh successes.
            "loss_type": "grpo",
            "temperature": config.policy.temperature,
            "max_completion_length": config.policy.budget or context or 4096,
            "save_steps": grpo.save_every,
            "save_total_limit": grpo.checkpoints,
            "seed": seed,
            **shaped,
        },
        grpo.trl,
        config,
        "grpo.trl",
    )
    if made.num_iterations < 1:
        raise UsageError(
            f"grpo.trl.num_iterations is {made.num_iterations}.",
            remedy="A batch of episodes is learned from once at least.",
        )
    named = grpo.estimator in ESTIMATORS and "scale" not in grpo.options
    if named and made.scale_rewards not in SCALES:
        raise UsageError(
            f"grpo.trl.scale_rewards is {made.scale_rewards!r}, which compares groups with one "
            "another.",
            remedy=f"Take {' or '.join(map(repr, SCALES))}.",
        )
    reused = made.steps_per_generation * made.num_iterations
    whole = reused // gcd(reused, made.gradient_accumulation_steps)
    if grpo.save_every % whole:
        raise UsageError(
            f"Batches of episodes end every {whole} steps, and a checkpoint in the midst of one "
            "cannot be gone on from.",
            remedy=f"Make grpo.save_every a multiple of {whole}.",
        )
    return made


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
