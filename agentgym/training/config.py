"""What `agentgym train` is told: a TOML file, checked before anything is opened or played."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator

from agentgym.agents.settings import LlmSettings, TokenSettings
from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.offline.filters import Filter
from agentgym.types import Frozen, Json, Limits

Logger = Literal["tensorboard", "wandb"]

WORDS = r" ?\w+| ?[^\w\s]|\s+"
"""What one token of a micro model is, unless it is told otherwise: a word or a sign, with the
space before it."""


class EnvironmentConfig(Frozen):
    """What is trained on.

    Attributes:
        name: The environment, such as "maze".
        options: The arguments of its class.
        tasks: A task set's name, a `tasks.jsonl` or a folder; None takes the default set.
        train: The split that is learned from.
        train_limit: At most so many of its tasks.
        test: The split that is held out.
        test_limit: At most so many of its tasks.
        limits: What an episode may spend; turns as the task says where none are given.
    """

    name: str
    options: dict[str, Json] = Field(default_factory=dict)
    tasks: str | None = None
    train: str = "train"
    train_limit: int | None = Field(default=None, ge=1)
    test: str = "test"
    test_limit: int | None = Field(default=None, ge=1)
    limits: Limits = Limits()


class ModelConfig(Frozen):
    """What is trained: a model from a folder, or a micro model made here.

    A micro model is a Qwen3 with random weights whose tokens are the words that oracle and random
    agents meet and write on the training tasks.

    Attributes:
        path: A folder in the Hugging Face layout; None makes a micro model.
        hidden_size: Width of a micro model.
        layers: Layers of a micro model.
        heads: Attention heads of a micro model; they divide its width.
        pattern: Regular expression of one token of a micro model.
        context: Tokens that a micro model can read.
    """

    path: Path | None = None
    hidden_size: int = Field(default=64, ge=8)
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    pattern: str = WORDS
    context: int = Field(default=2048, ge=16)

    @model_validator(mode="after")
    def _can_be(self) -> "ModelConfig":
        if self.hidden_size % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.hidden_size}")
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(f"pattern is no regular expression: {error}") from error
        if groups:
            raise ValueError("pattern has groups; write (?:...) for (...)")
        return self


class PolicyConfig(TokenSettings):
    """How the model plays, in training and in evaluation; the settings of `TokenSettings` too.

    Attributes:
        temperature: Of sampling.
    """

    format: str = "brackets"
    max_tokens: int = Field(default=64, ge=1)
    temperature: float = Field(default=1.0, gt=0)

    def tokens(self) -> TokenSettings:
        """Return the part of them that decides what the model reads."""
        return TokenSettings.model_validate(self.model_dump(exclude={"temperature"}))


class DemonstrationsConfig(Frozen):
    """What is imitated first.

    Attributes:
        agent: `oracle`, or another agent of the environment that needs no model.
        model: An LLM that plays in its place.
        runs: Runs of the store that are taken in its place.
        tasks: At most so many training tasks, drawn by the seed.
        epochs: Episodes a task.
        noise: Share of the episodes that the random agent plays.
        keep: Which episodes are imitated.
    """

    agent: str = "oracle"
    model: LlmSettings | None = None
    runs: tuple[str, ...] = ()
    tasks: int | None = Field(default=None, ge=1)
    epochs: int = Field(default=1, ge=1)
    noise: float = Field(default=0.0, ge=0, le=1)
    keep: Filter = Filter()

    @model_validator(mode="after")
    def _from_one_source(self) -> "DemonstrationsConfig":
        played = self.model_fields_set & {"agent", "model", "tasks", "epochs", "noise"}
        if self.runs and played:
            raise ValueError(f"runs are taken as they are; leave {', '.join(sorted(played))} out")
        return self


class SftConfig(Frozen):
    """Imitation.

    Attributes:
        epochs: How often each row is learned from.
        batch_size: Rows a step.
        learning_rate: Highest learning rate.
        trl: Further settings of TRL's `SFTConfig`.
    """

    epochs: float = Field(default=3.0, gt=0)
    batch_size: int = Field(default=16, ge=1)
    learning_rate: float = Field(default=3e-3, gt=0)
    trl: dict[str, Json] = Field(default_factory=dict)


class RecipeConfig(Frozen):
    """Something that acts on reinforcement learning beside the estimator.

    Attributes:
        name: Such as "replay"; see `recipes.named.RECIPES`.
        options: The arguments of its class.
    """

    name: str
    options: dict[str, Json] = Field(default_factory=dict)


class GrpoConfig(Frozen):
    """Reinforcement learning over whole episodes.

    Attributes:
        steps: Optimiser steps.
        tasks: Tasks a step.
        group: Episodes of each task.
        learning_rate: Highest learning rate.
        warmup: Steps in which the rate rises to it.
        estimator: How credit is assigned: `grpo`, `gigpo`, `turn`, `component_progress`,
            `seen_progress`, `learned_progress` or `turn_critic`.
        options: The estimator's options.
        recipes: What else acts on training, in this order.
        clip_higher: Upper bound of the clipped ratio, less 1; None is TRL's.
        entropy_floor: Nats a token at or below which an entropy bonus grows; None has no bonus.
        save_every: Steps between two checkpoints.
        checkpoints: How many of the last ones are kept.
        trl: Further settings of TRL's `GRPOConfig`.
    """

    steps: int = Field(default=100, ge=1)
    tasks: int = Field(default=8, ge=1)
    group: int = Field(default=8, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    warmup: int = Field(default=10, ge=0)
    estimator: str = "grpo"
    options: dict[str, Json] = Field(default_factory=dict)
    recipes: tuple[RecipeConfig, ...] = ()
    clip_higher: float | None = Field(default=None, gt=0)
    entropy_floor: float | None = Field(default=None, gt=0)
    save_every: int = Field(default=50, ge=1)
    checkpoints: int = Field(default=2, ge=1)
    trl: dict[str, Json] = Field(default_factory=dict)


class EvaluationConfig(Frozen):
    """Playing held-out tasks, before, after and during reinforcement learning.

    Attributes:
        every: Evaluate at checkpoints that are so many steps apart; None only before and after.
            A multiple of `grpo.save_every`.
        epochs: Episodes a task.
        concurrency: Episodes at once.
    """

    every: int | None = Field(default=None, ge=1)
    epochs: int = Field(default=1, ge=1)
    concurrency: int = Field(default=32, ge=1)


class TrainConfig(Frozen):
    """A whole training.

    Attributes:
        name: What its runs in the store are called by.
        output: The folder of its checkpoints and figures; each seed has one of its own in it.
        seeds: Each is a training of its own.
        store: Where episodes go; None takes `AGENTGYM_STORE`, else the user's own store.
        threads: Threads of torch's operations; None leaves torch its choice.
        report_to: Loggers besides `metrics.jsonl`.
        sft: None goes without imitation.
        grpo: None ends after imitation.
    """

    name: str = Field(pattern=r"^[\w.-]+$")
    output: Path
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(0,), min_length=1)
    store: str | None = None
    threads: int | None = Field(default=None, ge=1)
    report_to: tuple[Logger, ...] = ()
    environment: EnvironmentConfig
    model: ModelConfig = ModelConfig()
    policy: PolicyConfig = PolicyConfig()
    demonstrations: DemonstrationsConfig = DemonstrationsConfig()
    sft: SftConfig | None = None
    grpo: GrpoConfig | None = None
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _goes_together(self) -> "TrainConfig":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is there twice")
        every = self.evaluation.every
        if self.grpo is not None and every is not None and every % self.grpo.save_every:
            raise ValueError("evaluation.every is no multiple of grpo.save_every")
        if self.grpo is not None and self.policy.history != "full":
            raise ValueError("grpo needs policy.history to be full")
        return self


def read_config(path: Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """Read a training from a TOML file.

    Args:
        path: The file.
        overrides: Settings that replace the file's, such as "grpo.steps=10"; the value is TOML,
            or else text.

    Raises:
        UsageError: It cannot be read, or a setting cannot be; the message names it.
        UnknownNameError: There is no such setting, with the nearest ones.
    """
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}.", remedy="Check the path.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}.", remedy="Check the file.") from error
    for override in overrides:
        _override(settings, override)
    return make_config(settings, where=str(path))


def make_config(settings: Mapping[str, Any], *, where: str = "the settings") -> TrainConfig:
    """Check a training's settings.

    Args:
        settings: As the TOML file has them.
        where: What an error calls them.

    Raises:
        UsageError: A setting cannot be; the message names it.
        UnknownNameError: There is no such setting, with the nearest ones.
    """
    try:
        return TrainConfig.model_validate(settings)
    except ValidationError as error:
        raise _explained(error, where) from error


def _override(settings: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    *tables, last = name.strip().split(".")
    if not (equals and last):
        raise UsageError(f"{override!r} is no setting.", remedy="Write NAME=VALUE.")
    for table in tables:
        settings = settings.setdefault(table, {})
        if not isinstance(settings, dict):
            raise UsageError(f"{override!r} is no setting.", remedy=f"{table} is no table.")
    try:
        settings[last] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        settings[last] = text


def _explained(error: ValidationError, where: str) -> UsageError:
    problem = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for part in problem["loc"]]
    if problem["type"] == "extra_forbidden":
        section = ".".join(place[:-1])
        what = f"setting of [{section}]" if section else "setting"
        return UnknownNameError(f"{what} in {where}:", place[-1], _settings_at(place[:-1]))
    name = ".".join(place)
    said = problem["msg"].removeprefix("Value error, ")
    return UsageError(f"{where}: {f'{name}: ' if name else ''}{said}.", remedy="Mend the setting.")


def _settings_at(place: Sequence[str]) -> list[str]:
    """Return the names of the settings in a table of `TrainConfig`."""
    model: type[BaseModel] = TrainConfig
    for part in place:
        annotation = model.model_fields[part].annotation
        kinds = [annotation, *get_args(annotation)]
        model = next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
    return list(model.model_fields)
