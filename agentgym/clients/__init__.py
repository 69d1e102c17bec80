"""Chat clients: ways to call a model, alike in what they take, give and raise."""

from agentgym.clients.base import ChatClient, ChatRequest, Completion, Prices
from agentgym.errors import UnknownNameError, UsageError

__all__ = ["CLIENTS", "ChatClient", "ChatRequest", "Completion", "Prices", "open_client"]

CLIENTS = ("lean", "openai", "litellm")
"""Names that `open_client` knows."""


def open_client(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 120.0,
    prices: Prices | None = None,
) -> ChatClient:
    """Make a client, importing only what it needs.

    Args:
        name: One of `CLIENTS`.
        base_url: An OpenAI-compatible endpoint up to and including `/v1`; optional for litellm,
            which knows each provider's.
        api_key: The endpoint's key; litellm finds each provider's in the environment.
        timeout: Seconds for one call.
        prices: What tokens cost, where the server does not say; litellm has its own list.

    Raises:
        UsageError: The name is unknown, the URL missing or wrong, or an extra not installed.
    """
    if name == "litellm":
        from agentgym.clients.litellm import LiteLLMClient

        return LiteLLMClient(base_url=base_url, api_key=api_key, timeout=timeout, prices=prices)
    if name not in CLIENTS:
        raise UnknownNameError("client", name, CLIENTS)
    if base_url is None:
        raise UsageError(f"The {name} client needs an endpoint.", remedy="Give --base-url.")
    if name == "openai":
        from agentgym.clients.openai_sdk import OpenAIClient

        return OpenAIClient(base_url, api_key=api_key, timeout=timeout, prices=prices)
    from agentgym.clients.lean import LeanClient

    return LeanClient(base_url, api_key=api_key, timeout=timeout, prices=prices)
