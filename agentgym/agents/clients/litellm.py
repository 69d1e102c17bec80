"""Every other provider, through litellm."""

import os
import re
from collections.abc import Iterator
from json import JSONDecodeError
from types import ModuleType
from typing import Any, ClassVar

from agentgym.agents.clients.base import ChatClient, ChatRequest, Completion
from agentgym.agents.clients.endpoint import Endpoint
from agentgym.agents.clients.parsing import parse_completion
from agentgym.errors import MissingExtraError, ModelError
from agentgym.types import Json

try:
    import httpx
    import openai
except ImportError:
    raise MissingExtraError("The litellm client", "llm") from None

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_ENV_SECRET = 8
_SHORTEST_KEPT_CHAIN = 12


class LiteLLMClient(ChatClient):
    """Calls `litellm.acompletion`, whose own retries are off; costs come from its price list.

    Keys are read by litellm from each provider's environment variable unless given.

    Args:
        base_url: Overrides the provider's endpoint.
        api_key: Overrides the provider's environment variable.
        timeout: Seconds for one call.

    Raises:
        MissingExtraError: litellm is not installed.
    """

    _open: ClassVar[int] = 0

    def __init__(
        self, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 120.0
    ) -> None:
        self._litellm: Any = _import_litellm()
        self._endpoint = Endpoint("litellm", _secrets(api_key))
        self._timeout = timeout
        self._options: dict[str, Json] = {"timeout": timeout, "max_retries": 0, "num_retries": 0}
        if base_url is not None:
            self._options["api_base"] = base_url
        if api_key is not None:
            self._options["api_key"] = api_key
        self._closed = False
        LiteLLMClient._open += 1

    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model once; see `ChatClient.complete`."""
        try:
            response = await self._litellm.acompletion(**request.body(), **self._options)
        except openai.OpenAIError as error:
            raise self._translate(error) from None
        body = response.model_dump()
        body.setdefault("usage", {})["cost"] = response._hidden_params.get("response_cost")
        _restore_extensions(body)
        return parse_completion(body, endpoint=self._endpoint, model=request.model)

    async def close(self) -> None:
        """Close litellm's connections, which all its clients share, once the last has closed."""
        if self._closed:
            return
        self._closed = True
        LiteLLMClient._open -= 1
        if LiteLLMClient._open == 0:
            await self._litellm.close_litellm_async_clients()

    def _translate(self, error: openai.OpenAIError) -> ModelError:
        # litellm turns lost connections and broken JSON into statuses of its own; what truly
        # happened stands further down the chain.
        chain = list(_chain(error))
        if any(isinstance(link, openai.APITimeoutError | httpx.TimeoutException) for link in chain):
            return self._endpoint.timeout_error(self._timeout)
        if any(isinstance(link, JSONDecodeError) for link in chain):
            return self._endpoint.malformed_error(str(error))
        status = getattr(error, "status_code", None)
        lost = any(isinstance(link, openai.APIConnectionError | httpx.TransportError) for link in chain)
        if lost or not isinstance(status, int):
            return self._endpoint.connection_error(chain[-1])
        headers = getattr(error, "litellm_response_headers", None)
        return self._endpoint.status_error(status, _body(error, chain), headers)
