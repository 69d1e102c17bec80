"""The model in training: where it comes from, and how it is kept with all that playing needs."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgym.agents.local import write_settings
from agentgym.agents.local_model import load_model
from agentgym.training.config import TrainConfig
from agentgym.training.micro import make_model
from agentgym.training.pipeline.plans import Scene
from agentgym.training.vocabulary import collect_words, make_tokenizer
from agentgym.trajectories.record import Trajectory


def make_micro(
    config: TrainConfig, scene: Scene, episodes: Sequence[Trajectory], *, seed: int
) -> tuple[Any, Any]:
    """Make a micro model, and its tokenizer from the words of some episodes."""
    settings = config.policy.tokens()
    pattern = config.model.pattern
    words = collect_words(episodes, settings, scene.limits, pattern=pattern)
    tokenizer = make_tokenizer(words, pattern=pattern)
    return make_model(config.model, tokenizer, seed=seed), tokenizer


def save_model(model: Any, tokenizer: Any, config: TrainConfig, folder: Path) -> None:
    """Save a model with its tokenizer and settings, whole or not at all.

    The folder is what `agentgym eval --model local:FOLDER` takes.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    write_settings(config.policy.tokens(), temporary)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)


def open_model(folder: Path) -> tuple[Any, Any]:
    """Load a model and its tokenizer.

    Raises:
        UsageError: The folder does not hold them.
    """
    model, tokenizer = load_model(folder)
    if tokenizer.pad_token is None:  # the trainers pad
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer
