"""Refuses before anything is played what a later stage would refuse after hours."""

from importlib.util import find_spec

from agentgym.agents.conversation import format_of
from agentgym.agents.factory import make_agent
from agentgym.errors import UsageError
from agentgym.training.config import GrpoConfig, ModelConfig, TrainConfig
from agentgym.training.pipeline.credit import make_estimator
from agentgym.training.pipeline.plans import Scene
from agentgym.training.pipeline.reinforcement import grpo_settings, recipes_of
from agentgym.training.pipeline.supervised import sft_settings

_LOGGERS = {"tensorboard": ("tensorboard", "tensorboardX"), "wandb": ("wandb",)}


def check(config: TrainConfig, scene: Scene) -> None:
    """Go through all settings of a training.

    Raises:
        UnknownNameError: There is no such agent, estimator, recipe or setting.
        UsageError: A setting cannot be, or a logger is not installed.
    """
    for logger in config.report_to:
        _check_logger(logger)
    format_of(config.policy.tokens())
    _check_model(config.model)
    if config.sft is not None:
        sft_settings(config, config.sft, config.output, seed=0)
        if not config.demonstrations.runs and config.demonstrations.model is None:
            make_agent(config.demonstrations.agent, scene.env_spec)
    if config.grpo is not None:
        grpo_settings(config, config.grpo, config.output, context=None, seed=0)
        _check_grpo(config.grpo, scene)


def _check_logger(logger: str) -> None:
    packages = _LOGGERS[logger]
    if not any(find_spec(package) for package in packages):
        raise UsageError(
            f"report_to names {logger}, which is not installed.",
            remedy=f"pip install {packages[0]}, or leave it out: metrics.jsonl is always written.",
        )


def _check_model(model: ModelConfig) -> None:
    if model.path is not None and not (model.path / "config.json").is_file():
        raise UsageError(
            f"The folder {str(model.path)!r} holds no model.",
            remedy="Set model.path to one that `save_pretrained` wrote.",
        )


def _check_grpo(grpo: GrpoConfig, scene: Scene) -> None:
    make_estimator(grpo.estimator, grpo.options)
    recipes_of(scene, grpo)
    if grpo.tasks > len(scene.train):
        raise UsageError(
            f"A step plays {grpo.tasks} tasks, and there are {len(scene.train)} to learn from.",
            remedy="Lower grpo.tasks, or raise environment.train_limit.",
        )
