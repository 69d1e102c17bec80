"""The LLM agent: a chat model behind any client, with native tool calls or as text."""

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.agents.formats import ActionFormat, get_format
from agentgym.agents.memory import Memory, make_memory
from agentgym.agents.settings import LlmSettings, standing_words
from agentgym.clients.base import ChatClient, ChatRequest
from agentgym.clients.retry import RetryingClient
from agentgym.types import Json, Message, Observation

_TOKEN_IDS: dict[str, Json] = {"return_token_ids": True, "logprobs": True}
"""What vLLM is asked for its token ids by."""

_REACHED_BY = {"base_url", "client", "attempts", "timeout", "token_ids"}


class LlmAgent(Agent):
    """Plays by a chat model.

    Args:
        settings: What is asked of the model, and how.
        client: How it is called; retries are added here.
        client_name: What the client is chosen by, for the record.
        model: The model's name at the endpoint.

    Raises:
        UnknownNameError: There is no such action format.
        UsageError: There is no such history.
    """

    def __init__(
        self,
        settings: LlmSettings,
        client: ChatClient,
        *,
        client_name: str,
        model: str,
    ) -> None:
        self.name = settings.model
        self._settings = settings
        self._client = RetryingClient(client, settings.attempts)
        self._client_name = client_name
        self._model = model
        self._format = get_format(settings.format)
        make_memory(settings.history)  # a wrong one is refused now, not at the first episode

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode with an empty memory."""
        memory = make_memory(self._settings.history)
        return _LlmPlayer(self._settings, self._client, self._format, memory, self._model, brief)

    def config(self) -> dict[str, Json]:
        """Return the settings that decide what the model is asked."""
        return self._settings.model_dump(exclude_none=True, exclude=_REACHED_BY)

    def provenance(self) -> dict[str, Json]:
        """Return how the model is called; the key is not told."""
        reached = self._settings.model_dump(exclude_none=True, include=_REACHED_BY)
        return {**reached, "client": self._client_name}

    async def check(self) -> None:
        """Find out before a run whether the model can be called."""
        await self._client.check(self._model)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()


class _LlmPlayer(Player):
    def __init__(
        self,
        settings: LlmSettings,
        client: ChatClient,
        action_format: ActionFormat,
        memory: Memory,
        model: str,
        brief: Brief,
    ) -> None:
        self._settings = settings
        self._client = client
        self._format = action_format
        self._memory = memory
        self._model = model
        words = standing_words(settings.system, brief.limits)
        self._standing = [Message(role="system", content=words)] if words else []

    async def act(self, observation: Observation) -> Decision:
        self._memory.observed(observation)
        conversation = [*self._standing, *self._memory.conversation()]
        messages, tools = self._format.request_parts(conversation, observation.tools)
        completion = await self._client.complete(
            ChatRequest(
                model=self._model,
                messages=messages,
                tools=tools,
                temperature=self._settings.temperature,
                max_tokens=self._settings.max_tokens,
                stop=self._format.stop,
                extra=_TOKEN_IDS if self._settings.token_ids else {},
            )
        )
        action = self._format.parse(completion, observation.tools)
        self._memory.acted(action)
        return Decision(
            action=action,
            usage=completion.usage,
            reasoning=completion.reasoning,
            tokens=completion.tokens,
            faults=completion.faults,
        )
