"""Imitation: TRL's `SFTTrainer` on rows of tokens, with a loss on the agent's own ones alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgym.errors import UsageError
from agentgym.training.config import SftConfig, TrainConfig
from agentgym.training.offline.export import to_dataset
from agentgym.training.offline.imitation import Imitator
from agentgym.training.pipeline.metrics import MetricsLog
from agentgym.training.pipeline.plans import Scene
from agentgym.training.pipeline.progress import Progress
from agentgym.training.pipeline.trl import measure, refusals, settings_for
from agentgym.trajectories.record import Trajectory
from agentgym.types import Json

STAGE = "sft"


def imitate(
    model: Any,
    tokenizer: Any,
    episodes: Sequence[Trajectory],
    scene: Scene,
    config: TrainConfig,
    sft: SftConfig,
    folder: Path,
    log: MetricsLog,
    progress: Progress,
    *,
    seed: int,
) -> dict[str, Json]:
    """Train a model, in place, to do what was done in some episodes.

    Returns:
        `rows`, `tokens` (those that a loss is on) and `steps`.

    Raises:
        UsageError: There is nothing to imitate, or a setting cannot be.
    """
    import trl

    hub: Any = trl  # exports by name only what is asked for

    if not episodes:
        raise UsageError(
            "There is no episode to imitate.",
            remedy="Let demonstrations.keep pass more, or collect more demonstrations.",
        )
    rows = list(Imitator(tokenizer, config.policy.tokens()).rows(episodes, scene.limits))
    log.forget(STAGE, after=-1)
    with refusals("sft.trl", "sft.batch_size"):
        trainer = hub.SFTTrainer(
            model=model,
            args=sft_settings(config, sft, folder, seed=seed),
            train_dataset=to_dataset(rows),
            processing_class=tokenizer,
        )
        measure(trainer, log, STAGE, progress)
        done = trainer.train()
    tokens = sum(label >= 0 for row in rows for label in row["labels"])
    return {"rows": len(rows), "tokens": tokens, "steps": done.global_step}


def sft_settings(config: TrainConfig, sft: SftConfig, folder: Path, *, seed: int) -> Any:
    """Return TRL's settings of imitation.

    Raises:
        UsageError: One cannot be.
    """
    import trl

    hub: Any = trl  # exports by name only what is asked for
    chosen = {
        "output_dir": str(folder / STAGE),
        "num_train_epochs": sft.epochs,
        "per_device_train_batch_size": sft.batch_size,
        "learning_rate": sft.learning_rate,
        "max_length": None,
        "save_strategy": "no",
        "seed": seed,
    }
    return settings_for(hub.SFTConfig, chosen, sft.trl, config, "sft.trl")
