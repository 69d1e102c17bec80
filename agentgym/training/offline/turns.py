"""Turns in their places: what the agent had seen, what it did there, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.agents.chat_tokens import with_object
from agentgym.agents.formats import ActionFormat, Said, Wire
from agentgym.agents.formats.words import WordsFormat
from agentgym.clients.base import Completion
from agentgym.errors import UsageError
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Json, ToolSpec


@dataclass(frozen=True, slots=True)
class Place:
    """One turn of an episode in its place.

    Attributes:
        episode: The episode.
        number: The turn's number, from 0.
        history: What was said before it, in order.
        tools: The tools on offer.
        action: What the agent did.
        state: Fingerprint of the state it was in; None where it is not known.
        value: Sum of the rewards from this turn on.
    """

    episode: Trajectory
    number: int
    history: tuple[Said, ...]
    tools: tuple[ToolSpec, ...]
    action: Action
    state: str | None
    value: float


def places(episode: Trajectory) -> list[Place]:
    """Return every turn of an episode in its place, in order."""
    if episode.first is None:
        return []
    found: list[Place] = []
    history: tuple[Said, ...] = episode.first.messages
    tools, state = episode.first.tools, episode.first_fingerprint
    for number, turn in enumerate(episode.turns):
        value = sum(later.reward.value for later in episode.turns[number:])
        found.append(Place(episode, number, history, tools, turn.action, state, value))
        history = (*history, turn.action, *turn.observation.messages)
        tools, state = turn.observation.tools, turn.fingerprint
    return found


def prompt_of(place: Place, action_format: ActionFormat) -> tuple[Wire, Wire]:
    """Return the messages before a turn and the tools, as a format shows them to a model."""
    messages, tools = action_format.request_parts(place.history, place.tools)
    return _with_objects(messages), tools


def completion_of(place: Place, action_format: ActionFormat) -> Wire:
    """Return the one message that a turn is, as a model of this format writes it.

    Raises:
        UsageError: The format cannot say what the turn did.
    """
    check_readable(place, action_format)
    messages, _ = action_format.request_parts((*place.history, place.action), place.tools)
    return _with_objects(messages[-1:])


def check_readable(place: Place, action_format: ActionFormat) -> None:
    """Refuse a turn that would be read back as another one, such as two calls in ReAct."""
    if not isinstance(action_format, WordsFormat):
        return
    written = action_format.write(place.action, place.tools)
    read = action_format.parse(Completion(text=written, model=""), place.tools)
    if _calls(read) != _calls(place.action):
        key = place.episode.key
        raise UsageError(
            f"The format {action_format.name!r} cannot write turn {place.number} of "
            f"{key.task_id!r} epoch {key.epoch}.",
            remedy="Use the format native.",
        )


def _calls(action: Action) -> list[tuple[str, Json]]:
    return [(call.name, call.arguments) for call in action.tool_calls]


def _with_objects(messages: Sequence[dict[str, Json]]) -> Wire:
    """Return messages whose calls have objects for arguments, as chat templates want them."""
    return [
        {**message, "tool_calls": [with_object(call) for call in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in messages
    ]
