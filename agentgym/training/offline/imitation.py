"""Turns that somebody else took as tokens: what a model would have read and sampled there.

The prompts are those that the model is given when it plays by itself, token by token, so that
imitation trains on nothing that play does not show.
"""

from collections.abc import Callable, Iterable, Iterator

from agentgym.agents.chat_tokens import ChatTokenizer, ChatTokens
from agentgym.agents.conversation import TokenConversation, format_of
from agentgym.agents.formats import ActionFormat
from agentgym.agents.formats.words import WordsFormat
from agentgym.agents.settings import TokenSettings
from agentgym.training.offline.filters import distinct
from agentgym.training.offline.sft import labelled
from agentgym.training.offline.turns import Place, check_readable, places
from agentgym.training.tokens import rows
from agentgym.trajectories.record import Trajectory
from agentgym.types import Json, Limits, Observation, TokenTrace


class Imitator:
    """Writes turns in a model's tokens.

    Args:
        tokenizer: The model's.
        settings: How the model plays.

    Raises:
        UsageError: The chat template will not do.
    """

    def __init__(self, tokenizer: ChatTokenizer, settings: TokenSettings) -> None:
        self._tokenizer = tokenizer
        self._settings = settings
        self._format = format_of(settings)
        self._chat = ChatTokens(tokenizer, settings.chat_template, settings.template_options)

    def traces(self, episode: Trajectory, limits: Limits) -> list[TokenTrace]:
        """Return every turn's tokens, without log-probabilities.

        Args:
            episode: What was played.
            limits: What the model is told that it may spend.

        Raises:
            UsageError: The action format cannot say what a turn did, or an observation holds an
                image.
        """
        conversation = TokenConversation(self._chat, self._settings, limits)
        found: list[TokenTrace] = []
        for place, seen in zip(places(episode), _seen(episode), strict=True):
            prompt = conversation.prompt(seen)
            ids = self._write(place)
            conversation.said(place.action, ids)
            found.append(TokenTrace(prompt_ids=prompt, output_ids=ids))
        return found

    def rows(
        self, episodes: Iterable[Trajectory], limits: Callable[[Trajectory], Limits]
    ) -> Iterator[dict[str, Json]]:
        """Yield distinct rows of `input_ids` and `labels`; see `sft.token_rows`.

        Args:
            episodes: What is to be imitated.
            limits: What the model is told that it may spend on an episode.
        """
        return distinct(
            labelled(row)
            for episode in episodes
            for row in rows(self.traces(episode, limits(episode)))
        )

    def _write(self, place: Place) -> tuple[int, ...]:
        check_readable(place, self._format)
        text = write_turn(place, self._format)
        ids = tuple(self._tokenizer.encode(text, add_special_tokens=False))
        return ids if self._chat.eos_id is None else (*ids, self._chat.eos_id)


def write_turn(place: Place, action_format: ActionFormat) -> str:
    """Return the text of a turn as a model of this format writes it.

    Calls that a server would read are written in the form that Qwen's and Hermes' chat templates
    give them.
    """
    if isinstance(action_format, WordsFormat):
        return action_format.write(place.action, place.tools)
    calls = [
        f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments_text}}}\n</tool_call>'
        for call in place.action.tool_calls
    ]
    return "\n".join([place.action.text, *calls] if place.action.text else calls)


def _seen(episode: Trajectory) -> Iterator[Observation]:
    """Yield the observation that each turn answered."""
    if episode.first is not None:
        yield episode.first
        yield from (turn.observation for turn in episode.turns[:-1])
