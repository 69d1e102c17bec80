"""OpenAI-compatible endpoints through the openai package.

Costs ten times the CPU of the lean client; for what only the package does, such as its
tracing hooks or its reading of the environment's OPENAI_* settings.
"""

import asyncio
import json

from agentgym.clients.base import ChatClient, ChatRequest, Completion, Prices
from agentgym.clients.endpoint import Endpoint
from agentgym.clients.lean import parse_base_url
from agentgym.clients.parsing import parse_completion
from agentgym.clients.probe import probe
from agentgym.errors import MissingExtraError

try:
    import httpx
    import openai
except ImportError:
    raise MissingExtraError("The openai client", "llm") from None


class OpenAIClient(ChatClient):
    """Calls `chat/completions` by `openai.AsyncOpenAI`, whose own retries are off.

    Args:
        base_url: The endpoint up to and including `/v1`.
        api_key: Sent as a bearer token; None is for servers that want none.
        timeout: Seconds for one call.
        prices: Fill `Usage.cost` where the server does not.

    Raises:
        UsageError: `base_url` is not an HTTP URL.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 120.0,
        prices: Prices | None = None,
    ) -> None:
        self._endpoint = Endpoint(parse_base_url(base_url).authority, [api_key] if api_key else [])
        # Without a key the package would take one from the environment, perhaps another
        # server's.
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", max_retries=0, timeout=timeout
        )
        self._timeout = timeout
        self._base_url = base_url
        self._api_key = api_key
        self._prices = prices

    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model once; see `ChatClient.complete`."""
        response = await self._post(request)
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError) as error:
            what = f"{error} in {response.content[:200]!r}"
            raise self._endpoint.malformed_error(what) from None
        return parse_completion(
            body, endpoint=self._endpoint, model=request.model, prices=self._prices
        )

    async def check(self, model: str) -> None:
        """Find out whether the endpoint can be reached; see `ChatClient.check`."""
        await probe(self._base_url, api_key=self._api_key, timeout_s=self._timeout)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _post(self, request: ChatRequest) -> httpx.Response:
        # The raw answer, because the package's models accept whatever a server left out.
        try:
            async with asyncio.timeout(self._timeout):
                return await self._client.post(
                    "/chat/completions", cast_to=httpx.Response, body=request.body()
                )
        except (TimeoutError, openai.APITimeoutError):
            raise self._endpoint.timeout_error(self._timeout) from None
        except openai.APIStatusError as error:
            answer = error.response
            raise self._endpoint.status_error(
                answer.status_code, answer.text, answer.headers
            ) from None
        except openai.APIConnectionError as error:
            raise self._endpoint.connection_error(error.__cause__ or error) from None
