"""What `eval` was asked for, checked before anything is opened or played."""

import math
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agentgym.agents.settings import LlmSettings
from agentgym.errors import UsageError
from agentgym.types import Json, Limits

ModelT = TypeVar("ModelT", bound=BaseModel)

_LIMIT_OPTIONS = {
    "turns": "--max-turns",
    "tokens": "--token-limit",
    "cost": "--cost-limit",
    "time": "--time-limit",
}
_LLM_OPTIONS = {
    "base_url": "--base-url",
    "client": "--client",
    "format": "--format",
    "temperature": "--temperature",
    "max_tokens": "--max-tokens",
    "attempts": "--model-attempts",
    "timeout": "--model-timeout",
    "history": "--history",
    "system": "--system",
    "token_ids": "--token-ids",
    "price": "--price",
}


def checked_limits(
    turns: int | None, tokens: int | None, cost: float | None, time_s: float | None
) -> Limits:
    """Return the limits of an episode.

    Raises:
        UsageError: One is zero or less, or not a number.
    """
    given = {"turns": turns, "tokens": tokens, "cost": cost, "time": time_s}
    return _checked(Limits, given, _LIMIT_OPTIONS)


def checked_llm(
    settings: Mapping[str, Json], price: str | None, limits: Limits
) -> LlmSettings | None:
    """Return the settings of an LLM agent; None where no model is named.

    Args:
        settings: Fields of `LlmSettings` but for the price.
        price: "IN,OUT" US dollars per million tokens.
        limits: What an episode may spend.

    Raises:
        UsageError: A setting cannot be, or is for a model and none is named, or what a cost
            limit is measured by is not known.
    """
    if settings["model"] is None:
        _refuse_llm_options({**settings, "price": price})
        return None
    if not str(settings["model"]).strip():
        raise UsageError("The model has no name.", remedy="Name it with --model.")
    parsed = _parse_price(price)
    checked = _checked(LlmSettings, {**settings, "price": parsed}, _LLM_OPTIONS)
    if limits.cost is not None and parsed is None and checked.base_url is not None:
        raise UsageError(
            "--cost-limit needs to know what the model costs.", remedy="Add --price IN,OUT."
        )
    return checked


def checked_run_id(run_id: str | None, *, resume: bool) -> str | None:
    """Return the run's id, None where it is to be made up.

    Raises:
        UsageError: It cannot be one, or a run to go on with is not named.
    """
    if run_id is None and resume:
        raise UsageError("--resume needs to know which run.", remedy="Add --run-id.")
    if run_id is not None and not (run_id.strip() and run_id.isprintable()):
        raise UsageError(
            f"{run_id!r} cannot name a run.", remedy="Give --run-id letters, digits and dashes."
        )
    return run_id


def checked_seconds(option: str, seconds: float) -> float:
    """Return a number of seconds.

    Raises:
        UsageError: It is not one above 0.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"{option} is {seconds:g}.", remedy="Give seconds, more than 0.")
    return seconds


def _refuse_llm_options(settings: Mapping[str, Json]) -> None:
    for name, option in _LLM_OPTIONS.items():
        if settings[name] != LlmSettings.model_fields[name].default:
            raise UsageError(f"{option} is for an LLM.", remedy="Name it with --model.")


def _checked(model: type[ModelT], fields: Mapping[str, Json], options: Mapping[str, str]) -> ModelT:
    for name, value in fields.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{options[name]} is {value:g}.", remedy="Give a finite number.")
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise UsageError(
            f"{options.get(name, name)} is {fields[name]}.", remedy="Give more than 0."
        ) from error


def _parse_price(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = math.nan
    if not all(math.isfinite(part) and part >= 0 for part in (prompt, completion)):
        raise UsageError(f"{text!r} is not a price.", remedy="Write IN,OUT, as in 2.5,10.")
    return prompt, completion
