"""What the stages that use TRL share: its settings, and what becomes of its measurements."""

import inspect
import os
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from logging import ERROR
from types import MappingProxyType
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from transformers import PrinterCallback, TrainerCallback

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.config import TrainConfig
from agentgym.training.pipeline.metrics import MetricsLog
from agentgym.training.pipeline.progress import Progress, StepLines
from agentgym.types import Json

OWN: Mapping[str, str] = MappingProxyType(
    {
        "eval_strategy": "evaluation.every",
        "max_completion_length": "policy.budget",
        "max_steps": "grpo.steps or sft.epochs",
        "num_generations": "grpo.group",
        "output_dir": "output",
        "save_steps": "grpo.save_every",
        "save_strategy": "grpo.save_every",
        "save_total_limit": "grpo.checkpoints",
        "seed": "seeds",
        "temperature": "policy.temperature",
    }
)
"""TRL's settings that going on after a kill, or evaluating as was trained, depends on, and what
decides them."""

FIXED = ("ignore_data_skip", "load_best_model_at_end", "save_only_model")
"""TRL's settings without whose defaults a checkpoint cannot be gone on from."""

_TRAINING = ("accelerate", "peft", "torch", "transformers", "trl")


def settings_for(
    kind: type[Any],
    chosen: Mapping[str, Any],
    further: Mapping[str, Json],
    config: TrainConfig,
    section: str,
) -> Any:
    """Return TRL's settings of a stage.

    Args:
        kind: TRL's configuration class.
        chosen: What the stage decides.
        further: What the person sets besides, or in place of it.
        config: The training.
        section: What an error calls the person's settings.

    Raises:
        UnknownNameError: TRL has no such setting.
        UsageError: TRL refuses a setting.
    """
    import torch

    known = inspect.signature(kind).parameters
    for name, value in further.items():
        if name in OWN:
            raise UsageError(
                f"{section}.{name} is not to be set: a training sets it itself.",
                remedy=f"Set {OWN[name]}.",
            )
        if name in FIXED and value:
            raise UsageError(
                f"With {section}.{name}, no checkpoint can be gone on from.", remedy="Leave it out."
            )
        if name not in known:
            raise UnknownNameError(f"setting of [{section}]:", name, known)
        # TRL notices only once it uses it. What may be a string may be more than TRL writes.
        wanted = known[name].annotation
        if str not in (wanted, *get_args(wanted)):
            try:
                TypeAdapter(wanted).validate_python(value, strict=True)
            except ValidationError as error:
                raise UsageError(
                    f"{section}.{name} is {value!r}.", remedy=f"{error.errors()[0]['msg']}."
                ) from error
    cuda = torch.cuda.is_available()
    checkpointing = "activation_checkpointing"  # as transformers calls it from version 5 on
    if checkpointing not in known:
        checkpointing = "gradient_checkpointing"
    common = {
        "use_cpu": not cuda,
        "bf16": cuda and torch.cuda.is_bf16_supported(),
        checkpointing: False,
        "logging_steps": 1,
        "disable_tqdm": True,
        "report_to": list(config.report_to),
        "run_name": config.name,
    }
    try:
        return kind(**{**common, **chosen, **further})
    except (TypeError, ValueError, ArithmeticError, AttributeError, ImportError) as error:
        raise _refusal(section, error) from error


@contextmanager
def refusals(section: str, batch: str) -> Iterator[None]:
    """Say in one line what is refused only while a trainer is made or trains.

    Args:
        section: What the error calls the person's settings.
        batch: The setting that a step's memory depends on most.

    Raises:
        UsageError: The packages that train refused something, or the device has no memory left.
    """
    import torch

    try:
        yield
    except (ArithmeticError, ImportError, NotImplementedError, TypeError, ValueError) as error:
        *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
        package = str(innermost.f_globals.get("__name__")).partition(".")[0]
        if package not in _TRAINING:
            raise
        raise _refusal(section, error) from error
    except torch.OutOfMemoryError as error:
        raise UsageError(
            "The GPU has no memory left for a step.",
            remedy=f"Raise {section}.gradient_accumulation_steps, or lower {batch}.",
        ) from error


def _refusal(section: str, error: Exception) -> UsageError:
    said = " ".join(str(error).split()).rstrip(".")
    return UsageError(f"TRL refuses the settings of {section}: {said}.", remedy="Mend the setting.")


def silence() -> None:
    """Keep the libraries' progress bars and notes of what is to come off standard error."""
    import datasets
    from transformers.utils import logging

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    warnings.filterwarnings("ignore", category=FutureWarning, module="(transformers|trl)")
    # On going on it misses the weights that a model has in common with its first layer.
    logging.get_logger("transformers.trainer").setLevel(ERROR)
    # Of two checkpoints within a second it says that it orders them by their numbers.
    logging.get_logger("transformers.trainer_utils").setLevel(ERROR)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    datasets.disable_progress_bars()


def measure(trainer: Any, log: MetricsLog, stage: str, progress: Progress) -> None:
    """Let a trainer write its measurements down, and tell of its steps."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Metrics(log, stage, StepLines(progress, stage)))


class _Metrics(TrainerCallback):
    def __init__(self, log: MetricsLog, stage: str, lines: StepLines) -> None:
        self._log = log
        self._stage = stage
        self._lines = lines

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
        """Write a measurement down."""
        values = {k: v for k, v in (logs or {}).items() if isinstance(v, int | float)}
        self._log.add(self._stage, state.global_step, values)
        if "loss" in values:
            self._lines.add(state.global_step, state.max_steps, values)
