"""One episode's conversation as the tokens a model reads, each prompt going on from the last."""

import json
from collections.abc import Sequence

from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.formats import ActionFormat, Said, get_format
from agentgym.agents.memory import FullHistory, make_memory
from agentgym.agents.settings import TokenSettings, standing_words
from agentgym.clients.base import Completion
from agentgym.errors import UsageError
from agentgym.types import Action, ImagePart, Limits, Message, Observation, ToolSpec, call


def format_of(settings: TokenSettings) -> ActionFormat:
    """Return the action format of a model whose own text is all there is."""
    return get_format("hermes" if settings.format == "native" else settings.format)


class TokenConversation:
    """Turns observations and sampled tokens into prompts.

    With the full history a prompt is the last one, the tokens sampled for it, and those of what
    the environment answered; with less of it, a prompt is rendered anew each turn.

    Args:
        chat: The model's chat template.
        settings: How it plays.
        limits: What it may spend, which it is told.
    """

    def __init__(self, chat: ChatTokens, settings: TokenSettings, limits: Limits) -> None:
        self._chat = chat
        self._format = format_of(settings)
        self._told, self._native = settings.told, settings.format == "native"
        self._memory = make_memory(settings.history)
        words = standing_words(settings.system, limits if settings.told else Limits())
        self._standing = [Message(role="system", content=words)] if words else []
        self._read: tuple[int, ...] = ()
        self._last: Action | None = None
        self._tools: tuple[ToolSpec, ...] = ()

    def prompt(self, observation: Observation) -> tuple[int, ...]:
        """Return what the model reads now.

        Raises:
            UsageError: The observation holds an image, or the chat template will not do.
        """
        _check_text(observation)
        self._memory.observed(observation)
        if self._last is None or not isinstance(self._memory, FullHistory):
            conversation = [*self._standing, *self._memory.conversation()]
            self._read = self._opening(conversation, observation.tools)
        else:
            self._read += self._following(self._last, observation)
        self._tools = observation.tools
        return self._read

    def said(self, action: Action, ids: Sequence[int]) -> None:
        """Take in what the model sampled for the last prompt, and what was read in it."""
        self._memory.acted(action)
        self._last = action
        self._read += tuple(ids)

    def _opening(self, conversation: Sequence[Said], tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        told = tools if self._told else ()
        if told and self._native:
            _check_native(self._chat, self._format, told[0])
        return self._chat.opening(*self._format.request_parts(conversation, told))

    def _following(self, last: Action, observation: Observation) -> tuple[int, ...]:
        new = list(observation.messages)
        if self._told and observation.tools != self._tools:
            new.append(_announce(observation.tools))
        (said, *answers), _ = self._format.request_parts([last, *new], ())
        return self._chat.following(said, answers, self._read[-1])


def _check_native(chat: ChatTokens, form: ActionFormat, tool: ToolSpec) -> None:
    """Refuse a chat template whose calls the format does not read."""
    action = call(tool.name, words="x")
    read = form.parse(Completion(text=chat.shown(action.to_wire()), model=form.name), [tool])
    if read.tool_calls != action.tool_calls:
        raise UsageError(
            "The chat template writes tool calls in a form of its own, which is not read here.",
            remedy="Use the format react or brackets, or hermes for a model that learns it.",
        )


def _announce(tools: Sequence[ToolSpec]) -> Message:
    """Tell of tools that are others than in the prompt before."""
    lines = [json.dumps(tool.model_dump(), ensure_ascii=False) for tool in tools]
    return Message(role="user", content="\n".join(["The tools on offer are now:", *lines]))


def _check_text(observation: Observation) -> None:
    for message in observation.messages:
        if not isinstance(message.content, str) and any(
            isinstance(part, ImagePart) for part in message.content
        ):
            raise UsageError(
                "The environment shows an image, and this model reads text only.",
                remedy="Choose the environment's text form where it has one.",
            )
