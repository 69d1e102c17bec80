"""A model server as errors name it: what it said, which typed error that is, and never its key."""

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime

from agentgym.errors import (
    ModelAccessError,
    ModelConnectionError,
    ModelContextError,
    ModelError,
    ModelMalformedError,
    ModelRateLimitedError,
    ModelRejectedError,
    ModelServerError,
    ModelTimeoutError,
)
from agentgym.types import Json

_MESSAGE_CHARS = 500
_SHORTEST_SECRET = 4
_KEY_LIKE = re.compile(r"\bsk-[\w-]{8,}|(?<=\bBearer )\S+", re.IGNORECASE)
# OpenAI, vLLM, SGLang, llama.cpp, Anthropic and Gemini, in this order.
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|model's context length|context size"
    r"|context window|prompt is too long|input token count|input is too long",
    re.IGNORECASE,
)
_CONTEXT_STATUSES = (400, 413, 422)
_ALIKE_SERVER_ERRORS = (408, 409)
_REMEDIES = {
    401: "Check the API key.",
    403: "Check the API key and what it may use.",
    404: "Check the base URL and the model's name.",
}


class Endpoint:
    """Makes every error of one model server.

    Args:
        name: What messages call it, such as its host.
        secrets: Texts that no message may hold.
    """

    def __init__(self, name: str, secrets: Iterable[str] = ()) -> None:
        self.name = name
        # Longest first: a secret may be the beginning of another.
        self._secrets = sorted(
            {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}, key=len, reverse=True
        )

    def status_error(
        self, status: int, body: str, headers: Mapping[str, str] | None = None
    ) -> ModelError:
        """Return the error for an HTTP status other than success.

        Args:
            status: The HTTP status.
            body: The answer's body, or what is left of it.
            headers: The answer's headers; their names must be matched whatever the case.
        """
        said, code = _error_message(body)
        message = f"{self.name} answered {status}: {self._clean(said)}"
        if status == 429 and code != "insufficient_quota":
            return ModelRateLimitedError(message, retry_after=retry_after(headers or {}))
        if status >= 500 or status in _ALIKE_SERVER_ERRORS:
            return ModelServerError(message)
        if status in _CONTEXT_STATUSES and _CONTEXT.search(f"{code} {said}"):
            return ModelContextError(message)
        if status in _REMEDIES:
            return ModelAccessError(message, remedy=_REMEDIES[status])
        return ModelRejectedError(message)

    def connection_error(self, cause: BaseException) -> ModelConnectionError:
        """Return the error for a connection that was refused, lost or never made."""
        detail = self._clean(f"{type(cause).__name__}: {cause}")
        return ModelConnectionError(f"{self.name} gave no whole answer: {detail}")

    def timeout_error(self, seconds: float) -> ModelTimeoutError:
        """Return the error for a request that took longer than `seconds`."""
        return ModelTimeoutError(f"{self.name} did not answer within {seconds:g} s.")

    def malformed_error(self, what: str) -> ModelMalformedError:
        """Return the error for an answer that is not the protocol's JSON."""
        return ModelMalformedError(f"{self.name} gave a malformed answer: {self._clean(what)}")

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = " ".join(_KEY_LIKE.sub("***", text).split())
        return text if len(text) <= _MESSAGE_CHARS else text[:_MESSAGE_CHARS] + "..."


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds a server asks to wait, never negative, or None where it does not say.

    Reads `Retry-After` as seconds or an HTTP date (RFC 9110, section 10.2.3) and OpenAI's
    finer `retry-after-ms`.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("Retry-After") or headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    if text is None:
        return None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _error_message(body: str) -> tuple[str, str]:
    """Return the message and code of an error body in any of the forms servers use."""
    try:
        error: Json = json.loads(body)
    except (ValueError, RecursionError):
        return body.strip() or "no message", ""
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or body
    return str(message), str(error.get("code") or error.get("type") or "")
