"""Chat models that an environment calls itself: for a person it plays, or a judge it asks.

Calls go through litellm, an optional package that is imported at the first call. Keys come from
the providers' own environment variables and are never kept.
"""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from agentgym.clients import ChatClient, ChatRequest
from agentgym.errors import UsageError
from agentgym.types import Frozen, Json, ToolCall, Usage

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
    """

    model: str = Field(min_length=1)
    base_url: str | None = None
    temperature: float | None = None
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=6, ge=1)


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
        self._opening = asyncio.Lock()
        self._client: ChatClient | None = None

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
        client = await self._opened()
        extra: dict[str, Json] = {"drop_params": True}
        if tools:
            extra["tool_choice"] = "auto" if may_call else "none"
        request = ChatRequest(
            model=self._model,
            messages=[dict(message) for message in messages],
            tools=[dict(tool) for tool in tools],
            temperature=self.settings.temperature,
            seed=seed,
            extra=extra,
        )
        found = await client.complete(request)
        calls = [ToolCall(name=call.name, arguments=call.arguments) for call in found.tool_calls]
        return Answer(without_thoughts(found.text), tuple(calls), found.usage)

    async def close(self) -> None:
        """Let the connections go; the next call opens others."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @property
    def _model(self) -> str:
        """The name as litellm takes it: of the protocol in front it tells no server."""
        name = self.settings.model
        return name if self.settings.base_url is None else f"openai/{name}"

    async def _opened(self) -> ChatClient:
        async with self._opening:
            if self._client is None:
                client = await asyncio.to_thread(self._open)  # the import takes seconds
                try:
                    await client.check(self._model)
                except UsageError:
                    await client.close()
                    raise
                self._client = client
            return self._client

    def _open(self) -> ChatClient:
        from agentgym.clients.litellm import LiteLLMClient
        from agentgym.clients.retry import RetryingClient

        key = None
        if self.settings.base_url is not None:
            key = os.environ.get(_KEY, "").strip() or "none"  # servers of one's own want no key
        client = LiteLLMClient(
            base_url=self.settings.base_url,
            api_key=key,
            timeout=self.settings.timeout,
            name=self._who,
        )
        return RetryingClient(client, self.settings.attempts, LONGEST_WAIT)


def without_thoughts(text: str) -> str:
    """Return a model's words without what stands in `<think>` tags, closed or not."""
    for pattern in _THOUGHTS:
        text = pattern.sub("", text)
    return text.strip()


def _check_url(base_url: str | None, role: str) -> None:
    if base_url is None:
        return
    remedy = "Give it up to and including /v1, such as http://localhost:8000/v1."
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"The {role} model's base URL is not an HTTP URL.", remedy=remedy)
    if parts.username or parts.password:
        raise UsageError(f"The {role} model's base URL holds a user or password.", remedy=remedy)
