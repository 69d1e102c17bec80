"""The token-exact agent: plays by a sampler and keeps every token it read and sampled."""

from bisect import bisect_left
from collections.abc import Sequence

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.conversation import TokenConversation, format_of
from agentgym.agents.sampling import Sampled, Sampler, SampleRequest
from agentgym.agents.settings import TokenSettings
from agentgym.clients.base import Completion
from agentgym.env import digest
from agentgym.errors import ModelContextError, ModelMalformedError
from agentgym.types import Json, Observation, TokenTrace, Usage


class TokenAgent(Agent):
    """Plays by sampled tokens; each decision carries its `TokenTrace`.

    Args:
        name: What results are listed under.
        sampler: Gives the tokens.
        chat: Turns the conversation into tokens and back.
        settings: How it plays.

    Raises:
        UnknownNameError: There is no such action format.
        UsageError: There is no such history.
    """

    def __init__(
        self, name: str, sampler: Sampler, chat: ChatTokens, settings: TokenSettings
    ) -> None:
        self.name = name
        self._sampler = sampler
        self._chat = chat
        self._settings = settings
        self._format = format_of(settings)

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode with nothing read."""
        return TokenPlayer(self._sampler, self._chat, self._settings, brief)

    def config(self) -> dict[str, Json]:
        """Return the settings that decide what the model reads."""
        return self._settings.model_dump(exclude_none=True)


class TokenPlayer(Player):
    """One episode of a `TokenAgent`."""

    def __init__(
        self, sampler: Sampler, chat: ChatTokens, settings: TokenSettings, brief: Brief
    ) -> None:
        self._sampler = sampler
        self._chat = chat
        self._settings = settings
        self._format = format_of(settings)
        self._conversation = TokenConversation(chat, settings, brief.limits)
        self._brief = brief
        self._turn = 0
        self._opening: int | None = None

    async def act(self, observation: Observation) -> Decision:
        """Sample a turn.

        Raises:
            ModelContextError: There is no room for another token.
            ModelMalformedError: The sampler gave nothing.
        """
        prompt = self._conversation.prompt(observation)
        sampled = await self._sampler(self._request(prompt))
        if not sampled.ids:
            raise ModelMalformedError("The model sampled no token.")
        sampled, text = self._until_stop(sampled)
        reasoning, thought, words = text.rpartition("</think>")
        completion = Completion(text=words, model=self._settings.format)
        action = self._format.parse(completion, observation.tools)
        self._conversation.said(action, sampled.ids)
        self._turn += 1
        return Decision(
            action=action,
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(sampled.ids)),
            reasoning=reasoning.replace("<think>", "").strip() if thought else None,
            tokens=TokenTrace(prompt_ids=prompt, output_ids=sampled.ids, logprobs=sampled.logprobs),
        )

    def _request(self, prompt: tuple[int, ...]) -> SampleRequest:
        if self._opening is None:
            self._opening = len(prompt)
        room = self._settings.max_tokens
        for bound in (
            self._settings.context,
            self._settings.budget and self._settings.budget + self._opening,
        ):
            if bound is not None:
                room = min(room, bound - len(prompt))
        if room < 1:
            raise ModelContextError(f"The conversation of {len(prompt)} tokens is full.")
        turn = digest([self._brief.task_id, self._brief.seed, self._turn])
        return SampleRequest(prompt, room, seed=int(turn[:15], 16))

    def _until_stop(self, sampled: Sampled) -> tuple[Sampled, str]:
        """Return the tokens up to a text at which the format stops, and the text before it."""
        text = self._chat.text(sampled.ids)
        found = [text.find(stop) for stop in self._format.stop if stop in text]
        if not found:
            return sampled, text
        counts = range(1, len(sampled.ids) + 1)
        kept = counts[bisect_left(counts, True, key=lambda count: self._stops(sampled.ids[:count]))]
        logprobs = sampled.logprobs and sampled.logprobs[:kept]
        return Sampled(sampled.ids[:kept], logprobs), text[: min(found)]

    def _stops(self, ids: Sequence[int]) -> bool:
        text = self._chat.text(ids)
        return any(stop in text for stop in self._format.stop)
