"""Where the words of a played person come from: a model, or the record of an episode."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from agentgym.errors import ModelMalformedError, UsageError
from agentgym.types import Json, Observation, Reward, ToolCall, ToolSpec, Usage
from agentgym_tools.models import ChatModel
from agentgym_tools.users.base import End
from agentgym_tools.users.prompt import cut_marks

Talk = Sequence[Mapping[str, Json]]
"""A conversation in OpenAI's wire form, the agent's words in the role `user`."""

EMPTY_ANSWERS = 3
"""Answers without words after which a model is given up."""

ACTS, TOKENS = "user_acts", "user_tokens"
"""Labels of the grade that keep what the agent was not shown of a person."""


class Said(NamedTuple):
    """What a person does next: calls of their own tools, or words.

    Attributes:
        text: The words, without any mark.
        end: How they end the conversation with them.
        calls: Calls of their own tools; there are no words then.
    """

    text: str = ""
    end: End = ""
    calls: tuple[ToolCall, ...] = ()


class Act(NamedTuple):
    """Something a person did beside their words.

    Attributes:
        answer: In which of their answers, counted from 0 for their first words.
        end: How they ended the conversation; empty for a call.
        name: The tool called; empty for an end.
        arguments: What it was called with.
    """

    answer: int
    end: End = ""
    name: str = ""
    arguments: dict[str, Json] | str = ""


class Voice(ABC):
    """Says what a person does next.

    Attributes:
        usage: What the model calls behind it have consumed.
    """

    usage: Usage = Usage()

    @abstractmethod
    async def say(self, talk: Talk, *, may_call: bool) -> Said:
        """Return what comes next in a conversation.

        Args:
            talk: What was said and done so far.
            may_call: Whether tools may be called.

        Raises:
            EpisodeError: There is no telling.
        """


class ModelVoice(Voice):
    """Asks a model.

    Args:
        model: Whom to ask.
        standing: Its system prompt.
        tools: The person's own tools.
        seed: For servers that sample reproducibly.
    """

    def __init__(
        self, model: ChatModel, standing: str, tools: Sequence[ToolSpec], seed: int
    ) -> None:
        self._model = model
        self._standing = {"role": "system", "content": standing}
        self._tools = [tool.to_wire() for tool in tools]
        self._seed = seed

    async def say(self, talk: Talk, *, may_call: bool) -> Said:
        """Ask until there are words, or calls where they are allowed; see `Voice.say`."""
        for number in range(EMPTY_ANSWERS):
            answer = await self._model.ask(
                [self._standing, *talk], self._tools, seed=self._seed + number, may_call=may_call
            )
            self.usage += answer.usage
            if answer.calls and self._tools and may_call:
                return Said(calls=answer.calls)
            text, end = cut_marks(answer.text)
            if text or end:
                return Said(text, end)
        raise ModelMalformedError(
            f"The user model {self._model.settings.model!r} gave no words, {EMPTY_ANSWERS} times."
        )


class RecordedVoice(Voice):
    """Repeats what a recorded person said and did.

    Args:
        observations: What the agent was shown, the first observation included.
        grade: The episode's final grade, which keeps the acts that the agent was not shown.

    Raises:
        UsageError: The record is not one of such a person.
    """

    def __init__(self, observations: Sequence[Observation], grade: Reward) -> None:
        self._words = [
            message.text
            for observation in observations
            for message in observation.messages
            if message.role == "user" and message.fault is None
        ]
        try:
            acts = _ACTS.validate_json(grade.labels.get(ACTS, "[]"))
            tokens = [int(part) for part in grade.labels[TOKENS].split("+")]
            self.usage = Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1])
        except (ValidationError, ValueError, LookupError) as error:
            raise UsageError(
                "The record does not say what the user did in this episode.",
                remedy="Only an episode that was played with user=llm can be replayed so.",
            ) from error
        self._ends = {act.answer: act.end for act in acts if act.end}
        self._calls = [act for act in acts if act.name]

    async def say(self, talk: Talk, *, may_call: bool) -> Said:
        """Return what the record has at this place; see `Voice.say`."""
        heard = [place for place, message in enumerate(talk) if message["role"] == "user"]
        answer = len(heard) - 1
        done = sum(message["role"] == "tool" for message in talk[heard[-1] :])
        calls = [act for act in self._calls if act.answer == answer]
        if done < len(calls):
            name, arguments = calls[done].name, calls[done].arguments
            return Said(calls=(ToolCall(name=name, arguments=arguments),))
        text = self._words[answer] if answer < len(self._words) else "(nothing is recorded)"
        return Said(text, self._ends.get(answer, ""))


def acts_text(acts: Sequence[Act]) -> str:
    """Return acts as the label keeps them."""
    return json.dumps([list(act) for act in acts], ensure_ascii=False)


_ACTS = TypeAdapter(list[Act])
