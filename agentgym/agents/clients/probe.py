"""Whether an OpenAI-compatible endpoint is there at all, asked once before a run."""

import aiohttp
from yarl import URL

from agentgym.errors import UsageError

_LONGEST_SECONDS = 30.0
_REFUSED = (401, 403)
_NOT_FOUND = 404


async def probe(base_url: str, *, api_key: str | None, timeout_s: float) -> None:
    """Ask for the endpoint's list of models; any answer but a refused key will do.

    A server without such a list is sent an empty request in its place: it answers with an
    error, but not with "not found".

    Args:
        base_url: The endpoint up to and including `/v1`.
        api_key: Sent as a bearer token; None sends none.
        timeout_s: Seconds to wait, 30 at most.

    Raises:
        UsageError: It cannot be reached, refuses the key, or is no such endpoint.
    """
    limit = aiohttp.ClientTimeout(total=min(_LONGEST_SECONDS, timeout_s))
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with aiohttp.ClientSession(timeout=limit, headers=headers, trust_env=True) as session:
            status = await _status(session, "GET", base_url, "models")
            if status == _NOT_FOUND:
                status = await _status(session, "POST", base_url, "chat/completions")
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise UsageError(
            f"The endpoint {base_url} cannot be reached: {str(error) or type(error).__name__}.",
            remedy="Check --base-url and that the server runs.",
        ) from error
    if status in _REFUSED:
        raise UsageError(
            f"The endpoint {base_url} refuses the key (HTTP {status}).",
            remedy="Check OPENAI_API_KEY.",
        )
    if status == _NOT_FOUND:
        raise UsageError(
            f"There are no chat completions at {base_url} (HTTP {status}).",
            remedy="Give --base-url up to and including /v1.",
        )


async def _status(session: aiohttp.ClientSession, method: str, base_url: str, path: str) -> int:
    base = URL(base_url)
    url = base.joinpath(path).with_query(base.query)
    body: dict[str, str] | None = {} if method == "POST" else None
    async with session.request(method, url, json=body, allow_redirects=False) as response:
        return response.status
