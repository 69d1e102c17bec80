"""Whether an OpenAI-compatible endpoint is there at all, asked once before a run."""

import aiohttp
from yarl import URL

from agentgym.errors import UsageError

_LONGEST_SECONDS = 30.0
_REFUSED = (401, 403)


async def probe(base_url: str, *, api_key: str | None, timeout_s: float) -> None:
    """Ask for the endpoint's list of models; any answer but a refused key will do.

    Args:
        base_url: The endpoint up to and including `/v1`.
        api_key: Sent as a bearer token; None sends none.
        timeout_s: Seconds to wait, 30 at most.

    Raises:
        UsageError: It cannot be reached, or refuses the key.
    """
    limit = aiohttp.ClientTimeout(total=min(_LONGEST_SECONDS, timeout_s))
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with aiohttp.ClientSession(timeout=limit, headers=headers, trust_env=True) as session:
            base = URL(base_url)
            url = base.joinpath("models").with_query(base.query)
            async with session.get(url, allow_redirects=False) as response:
                status = response.status
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
