"""Every other provider, through litellm."""

import json
import os
import re
from collections.abc import Iterator
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar

from agentgym.clients.base import ChatClient, ChatRequest, Completion, Prices
from agentgym.clients.endpoint import Endpoint
from agentgym.clients.parsing import parse_completion
from agentgym.errors import MissingExtraError, ModelError, UsageError
from agentgym.types import Json

try:
    import httpx
    import openai
except ImportError:
    raise MissingExtraError("The litellm client", "llm") from None

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_ENV_SECRET = 8
# What litellm's reading of an answer raises where the answer is not what it expects.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


class LiteLLMClient(ChatClient):
    """Calls `litellm.acompletion`, whose own retries are off; costs come from its price list.

    Keys are read by litellm from each provider's environment variable unless given.

    Args:
        base_url: Overrides the provider's endpoint.
        api_key: Overrides the provider's environment variable.
        timeout: Seconds for one call.
        prices: For models that are not in litellm's price list.
        name: What errors call the model.

    Raises:
        MissingExtraError: litellm is not installed.
    """

    _open: ClassVar[int] = 0
    _counting: ClassVar[Lock] = Lock()  # environments make theirs in threads

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        prices: Prices | None = None,
        name: str = "litellm",
    ) -> None:
        self._litellm: Any = _import_litellm()
        self._endpoint = Endpoint(name, _secrets(api_key))
        self._timeout = timeout
        self._prices = prices
        self._options: dict[str, Json] = {
            "timeout": timeout,
            "max_retries": 0,
            "num_retries": 0,
            # Tools otherwise pass through litellm's MCP gateway, which needs packages of its own.
            "_skip_mcp_handler": True,
        }
        if base_url is not None:
            self._options["api_base"] = base_url
        if api_key is not None:
            self._options["api_key"] = api_key
        self._closed = False
        with LiteLLMClient._counting:
            LiteLLMClient._open += 1

    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model once; see `ChatClient.complete`."""
        try:
            response = await self._litellm.acompletion(**request.body(), **self._options)
        except openai.OpenAIError as error:
            raise self._translate(error) from None
        body = response.model_dump()
        _restore_extensions(body)
        usage = body.get("usage") or {}
        # Where litellm documents its cost; absent from its price list, it is None or 0.
        cost = usage.get("cost") or response._hidden_params.get("response_cost")
        body["usage"] = {**usage, "cost": cost or None}
        return parse_completion(
            body, endpoint=self._endpoint, model=request.model, prices=self._prices
        )

    async def check(self, model: str) -> None:
        """Find out whether litellm knows the provider and has its key; see `ChatClient.check`."""
        if "api_base" in self._options:
            return
        try:
            self._litellm.get_llm_provider(model)
        except openai.OpenAIError:
            raise UsageError(
                f"litellm knows no provider for the model {model!r}.",
                remedy="Write PROVIDER/MODEL, or name an endpoint with --base-url.",
            ) from None
        found = self._litellm.validate_environment(model)
        missing = [name for name in found["missing_keys"] if name.endswith("_KEY")]
        if missing and not found["keys_in_environment"]:
            raise UsageError(f"{' or '.join(missing)} is not set.", remedy="Set it.")

    async def close(self) -> None:
        """Close litellm's connections, which all its clients share, once the last has closed."""
        if self._closed:
            return
        self._closed = True
        with LiteLLMClient._counting:
            LiteLLMClient._open -= 1
            last = LiteLLMClient._open == 0
        if last:
            await self._litellm.close_litellm_async_clients()
            # litellm would hand the closed connections out again.
            self._litellm.in_memory_llm_clients_cache.flush_cache()

    def _translate(self, error: openai.OpenAIError) -> ModelError:
        # litellm turns lost connections and broken JSON into statuses of its own; what truly
        # happened stands further down the chain.
        chain = list(_chain(error))
        if any(isinstance(link, openai.APITimeoutError | httpx.TimeoutException) for link in chain):
            return self._endpoint.timeout_error(self._timeout)
        if any(isinstance(link, httpx.TransportError | OSError) for link in chain):
            return self._endpoint.connection_error(chain[-1])
        # The bare base class is the openai package's own refusal: a key or setting is missing.
        unsent = type(chain[-1]) is openai.OpenAIError
        status = 401 if unsent else getattr(error, "status_code", 500)
        if status >= 500 and isinstance(
            chain[-1], (openai.APIConnectionError, openai.APIResponseValidationError, *_UNREADABLE)
        ):
            return self._endpoint.malformed_error(f"{type(chain[-1]).__name__}: {error}")
        headers = getattr(error, "litellm_response_headers", None)
        return self._endpoint.status_error(status, _body(error, chain), headers)


def _import_litellm() -> ModuleType:
    # Left alone, the import fetches a price list over the network and reads a .env file.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    try:
        import litellm
    except ImportError:
        raise MissingExtraError("The litellm client", "llm") from None
    litellm.telemetry = False
    litellm.suppress_debug_info = True  # else every error is also printed
    return litellm


def _secrets(api_key: str | None) -> list[str]:
    """Return what litellm may have sent as a key: the one given and those in the environment."""
    found = [
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_ENV_SECRET
    ]
    return [*found, api_key] if api_key else found


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _body(error: openai.OpenAIError, chain: list[BaseException]) -> str:
    """Return an error body in OpenAI's form, with the code that litellm's own error hides."""
    codes = [link.code for link in chain if isinstance(link, openai.APIError) and link.code]
    context = type(error).__name__ == "ContextWindowExceededError"
    code = "context_length_exceeded" if context else codes[-1] if codes else ""
    return json.dumps({"error": {"message": str(error), "code": code}})


def _restore_extensions(body: dict[str, Json]) -> None:
    """Put a choice's vLLM fields back where the wire form has them."""
    for choice in body.get("choices") or ():
        for name, value in (choice.get("provider_specific_fields") or {}).items():
            choice.setdefault(name, value)
