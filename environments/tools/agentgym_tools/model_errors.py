"""Whatever went wrong with a model's call, as one of agentgym's errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgym.errors import (
    AgentgymError,
    ModelConnectionError,
    ModelContextError,
    ModelMalformedError,
    ModelRateLimitedError,
    ModelRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UsageError,
)

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What litellm's reading of an answer raises where the answer is not what it expects."""

_MESSAGE_CHARS = 300
_KEY_LIKE = re.compile(r"\bsk-[\w-]{8,}|(?<=\bBearer )\S+", re.IGNORECASE)
_REFUSED = {
    401: "Check the provider's key in the environment.",
    403: "Check the provider's key in the environment and what it may use.",
    404: "Check the base URL and the model's name.",
}


def typed_error(error: BaseException, who: str, timeout: float) -> AgentgymError:
    """Return the error for what litellm raised.

    litellm turns lost connections and broken JSON into statuses of its own; what truly happened
    stands further down the chain of causes.

    Args:
        error: An error of the openai package's, which litellm's extend.
        who: The model as messages call it.
        timeout: Seconds the call was given.
    """
    import httpx  # which litellm brings, as it does openai
    import openai

    chain = list(_chain(error))
    if any(isinstance(link, openai.APITimeoutError | httpx.TimeoutException) for link in chain):
        return ModelTimeoutError(f"{who} did not answer within {timeout:g} s.")
    if any(isinstance(link, httpx.TransportError | OSError) for link in chain):
        words = _short(f"{type(chain[-1]).__name__}: {chain[-1]}")
        return ModelConnectionError(f"{who} gave no whole answer: {words}")
    if any(isinstance(link, UNREADABLE) for link in chain):
        return malformed_error(chain[-1], who)
    return _by_status(error, who, _status(error, chain))


def malformed_error(error: BaseException, who: str) -> ModelMalformedError:
    """Return the error for an answer that cannot be read."""
    words = _short(f"{type(error).__name__}: {error}")
    return ModelMalformedError(f"{who} gave a malformed answer: {words}")


def _status(error: BaseException, chain: Sequence[BaseException]) -> int:
    import openai

    if type(chain[-1]) is openai.OpenAIError:  # its own refusal: a key or setting is missing
        return 401
    if any(getattr(link, "code", None) == "insufficient_quota" for link in chain):
        return 402  # which servers send as 429, though no wait helps
    status: int = getattr(error, "status_code", 500)
    return status


def _by_status(error: BaseException, who: str, status: int) -> AgentgymError:
    message = f"{who} answered {status}: {_short(str(error))}"
    if type(error).__name__ == "ContextWindowExceededError":
        return ModelContextError(message)
    if status in _REFUSED:
        # Without the server's words, which may repeat the key.
        return UsageError(f"{who} is refused (HTTP {status}).", remedy=_REFUSED[status])
    if status == 429:
        return ModelRateLimitedError(message, retry_after=_retry_after(error))
    if status >= 500 or status in (408, 409):
        return ModelServerError(message)
    return ModelRejectedError(message)


def _retry_after(error: Any) -> float | None:
    """Return the seconds a server asks to wait, where it says so in seconds."""
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _short(text: str) -> str:
    text = " ".join(_KEY_LIKE.sub("***", text).split())
    return text if len(text) <= _MESSAGE_CHARS else text[:_MESSAGE_CHARS] + "..."
