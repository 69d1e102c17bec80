"""The leanest way to an OpenAI-compatible endpoint: aiohttp and nothing between.

An SDK spends 2 to 3 ms of CPU on a call, which at a thousand calls a second is all of two
cores; this client spends little more than aiohttp itself.
"""

import json
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from agentgym.clients.base import ChatClient, ChatRequest, Completion, Prices
from agentgym.clients.endpoint import Endpoint
from agentgym.clients.parsing import parse_completion
from agentgym.clients.probe import probe
from agentgym.errors import UsageError
from agentgym.types import Json

_CONNECT_SECONDS = 30.0


class LeanClient(ChatClient):
    """Posts to `{base_url}/chat/completions`.

    Args:
        base_url: The endpoint up to and including `/v1`.
        api_key: Sent as a bearer token; None sends none.
        timeout: Seconds for one call, from the first byte sent to the last received.
        connections: Most connections at once; further calls wait for one, within their time.
        max_bytes: The longest answer that is read.
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
        connections: int = 512,
        max_bytes: int = 64 << 20,
        prices: Prices | None = None,
    ) -> None:
        base = parse_base_url(base_url)
        self._url = base.joinpath("chat/completions").with_query(base.query)
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._endpoint = Endpoint(base.authority, [api_key] if api_key else [])
        self._timeout = timeout
        self._base_url = base_url
        self._api_key = api_key
        self._connections = connections
        self._max_bytes = max_bytes
        self._prices = prices
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model once; see `ChatClient.complete`."""
        payload = json.dumps(request.body(), separators=(",", ":")).encode()
        try:
            # A redirect would carry the conversation, and maybe the key, to another place.
            async with self._open_session().post(
                self._url, data=payload, allow_redirects=False
            ) as response:
                content = await self._read(response)
        except TimeoutError:
            raise self._endpoint.timeout_error(self._timeout) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._endpoint.connection_error(error) from None
        if not 200 <= response.status < 300:
            text = content.decode("utf-8", "replace")
            raise self._endpoint.status_error(response.status, text, response.headers)
        return parse_completion(
            self._load(content), endpoint=self._endpoint, model=request.model, prices=self._prices
        )

    async def check(self, model: str) -> None:
        """Find out whether the endpoint can be reached; see `ChatClient.check`."""
        await probe(self._base_url, api_key=self._api_key, timeout_s=self._timeout)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        # Made at the first call, since a session belongs to the loop that is then running.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(limit=self._connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=_CONNECT_SECONDS),
                proxy=_proxy(self._url),
            )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > self._max_bytes:
                raise self._endpoint.malformed_error(f"longer than {self._max_bytes} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def _load(self, content: bytes) -> Json:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._endpoint.malformed_error(f"{error} in {content[:200]!r}") from None


def parse_base_url(base_url: str) -> URL:
    """Return a checked base URL.

    Raises:
        UsageError: It is not an HTTP URL, or carries a user's name or password.
    """
    remedy = "Give it up to and including /v1, such as http://localhost:8000/v1."
    try:
        url = URL(base_url)
    except ValueError:
        raise UsageError("The base URL cannot be read.", remedy=remedy) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"The base URL {base_url!r} is not an HTTP URL.", remedy=remedy)
    if url.user or url.password:
        raise UsageError("The base URL holds a user or password.", remedy="Use the API key.")
    return url


def _proxy(url: URL) -> str | None:
    """Return the proxy that the environment names, looked up once and not at every call."""
    if url.host is None or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)
