"""Chat models that an environment calls itself: for a person it plays, or a judge it asks.

Calls go through litellm, an optional package that is imported at the first call. Keys come from
the providers' own environment variables and are never kept.
"""

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from agentgym.errors import MissingExtraError, ModelError, ModelRateLimitedError, UsageError
from agentgym.types import Frozen, Json, ToolCall, Usage
from agentgym_tools.model_errors import UNREADABLE, malformed_error, typed_error

LONGEST_WAIT = 60.0
"""Seconds a server may ask to wait; one that asks for longer ends the attempt at the episode."""

_KEY = "OPENAI_API_KEY"
# Whole thoughts; then, of one that was begun before the answer or not ended in it, the rest.
_THOUGHTS = (
    re.compile(r"<think(ing)?>.*?</think(ing)?>", re.IGNORECASE | re.DOTALL),
    re.compile(r"^.*</think(ing)?>|<think(ing)?>.*$", re.IGNORECASE | re.DOTALL),
)


class ModelSettings(Frozen):
    """Which model is asked, and how.

    Attributes:
        model: Its name, with its provider's prefix; as the server knows it where `base_url` is
            given.
        base_url: An OpenAI-compatible endpoint, up to and including `/v1`.
        temperature: Sampling temperature; None leaves it to the server. A setting that litellm
            knows a provider not to have is left out.
        timeout: Seconds one call may take.
        attempts: Calls at most, the first included.
        first_wait: Seconds before the second attempt at most, doubled for each that follows.
    """

    model: str
    base_url: str | None = None
    temperature: float | None = None
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=6, ge=1)
    first_wait: float = Field(default=0.5, ge=0)


class Answer(NamedTuple):
    """What a model answered.

    Attributes:
        text: Its words, without thoughts.
        calls: The calls it wants made.
        usage: What the call consumed.
    """

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage


class ChatModel:
    """A model behind an endpoint.

    Args:
        settings: Which one.
        role: What it is asked for, such as "user", to name it in errors.

    Raises:
        UsageError: The base URL is none, or holds a password.
    """

    def __init__(self, settings: ModelSettings, role: str) -> None:
        _check_url(settings.base_url, role)
        self.settings = settings
        self._who = f"The {role} model {settings.model!r}"

    async def ask(
        self,
        messages: Sequence[Mapping[str, Json]],
        tools: Sequence[Mapping[str, Json]] = (),
        *,
        seed: int | None = None,
        may_call: bool = True,
    ) -> Answer:
        """Ask until there is an answer, or no retry can bring one.

        Args:
            messages: OpenAI chat messages.
            tools: OpenAI tools on offer.
            seed: For servers that sample reproducibly.
            may_call: Whether it may call a tool now.

        Raises:
            ModelError: There is no usable answer; the subclass says why.
            UsageError: The key, the endpoint or the model's name is wrong.
            MissingExtraError: litellm is not installed.
        """
        body: dict[str, Json] = {"messages": list(messages)}
        if self.settings.temperature is not None:
            body["temperature"] = self.settings.temperature
        if seed is not None:
            body["seed"] = seed
        if tools:
            body |= {"tools": list(tools), "tool_choice": "auto" if may_call else "none"}
        call = partial(self._call, await asyncio.to_thread(_import_litellm), body)
        retrying = AsyncRetrying(
            retry=retry_if_exception(_worth_retrying),
            stop=stop_after_attempt(self.settings.attempts),
            wait=self._wait,
            reraise=True,
        )
        answer: Answer = await retrying(call)
        return answer

    async def _call(self, litellm: Any, body: Mapping[str, Json]) -> Answer:
        import openai  # which litellm brings

        try:
            self._check_provider(litellm)
            response = await litellm.acompletion(**body, **self._reached_by())
            return _read(response)
        except openai.OpenAIError as error:
            raise typed_error(error, self._who, self.settings.timeout) from None
        except UNREADABLE as error:
            raise malformed_error(error, self._who) from None

    def _check_provider(self, litellm: Any) -> None:
        import openai

        if self.settings.base_url is not None:
            return
        try:
            litellm.get_llm_provider(self.settings.model)
        except openai.OpenAIError:
            raise UsageError(
                f"litellm knows no provider for {self._who[0].lower()}{self._who[1:]}.",
                remedy="Write PROVIDER/MODEL, or name an endpoint.",
            ) from None

    def _reached_by(self) -> dict[str, Json]:
        reached: dict[str, Json] = {
            "model": self.settings.model,
            "timeout": self.settings.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            # Tools otherwise pass through litellm's MCP gateway, which needs packages of its own.
            "_skip_mcp_handler": True,
        }
        if self.settings.base_url is not None:
            key = os.environ.get(_KEY, "").strip() or "none"  # servers of one's own want no key
            base_url = self.settings.base_url
            model = f"openai/{self.settings.model}"  # litellm takes the protocol off again
            reached |= {"model": model, "api_base": base_url, "api_key": key}
        return reached

    def _wait(self, state: RetryCallState) -> float:
        first = self.settings.first_wait
        backoff = wait_random_exponential(multiplier=first, max=LONGEST_WAIT)(state)
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after if isinstance(error, ModelRateLimitedError) else None
        return max(backoff, asked or 0.0)


def without_thoughts(text: str) -> str:
    """Return a model's words without what stands in `<think>` tags, closed or not."""
    for pattern in _THOUGHTS:
        text = pattern.sub("", text)
    return text.strip()


def _read(response: Any) -> Answer:
    message = response.choices[0].message
    calls = [
        ToolCall(name=call.function.name or "", arguments=_arguments(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    used = getattr(response, "usage", None)
    usage = Usage(
        prompt_tokens=getattr(used, "prompt_tokens", None) or 0,
        completion_tokens=getattr(used, "completion_tokens", None) or 0,
    )
    return Answer(without_thoughts(message.content or ""), tuple(calls), usage)


def _arguments(text: str | None) -> dict[str, Json] | str:
    """Return a call's arguments; the text itself where it is no JSON object."""
    try:
        value: Json = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text or ""
    return value if isinstance(value, dict) else text or ""


def _worth_retrying(error: BaseException) -> bool:
    if isinstance(error, ModelRateLimitedError) and error.retry_after is not None:
        return error.retry_after <= LONGEST_WAIT
    return isinstance(error, ModelError) and error.retryable


def _check_url(base_url: str | None, role: str) -> None:
    if base_url is None:
        return
    remedy = "Give it up to and including /v1, such as http://localhost:8000/v1."
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"The {role} model's base URL is not an HTTP URL.", remedy=remedy)
    if parts.username or parts.password:
        raise UsageError(f"The {role} model's base URL holds a user or password.", remedy=remedy)


@cache
def _import_litellm() -> Any:
    # Left alone, the import fetches a price list over the network and reads a .env file.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    try:
        import litellm
    except ImportError:
        raise MissingExtraError("An LLM user or judge", "llm") from None
    litellm.telemetry = False
    litellm.suppress_debug_info = True  # else every error is also printed
    return litellm
