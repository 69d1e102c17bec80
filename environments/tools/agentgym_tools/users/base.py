"""What a user is: somebody who speaks first, answers, and ends the conversation."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

from agentgym.types import Frozen, Json

End = Literal["", "satisfied", "gave_up", "handover"]
"""How a conversation ended: the user had what they came for, or lost patience, or the agent
handed it over to a person; empty while it goes on."""


class Reply(Frozen):
    """What a user answers.

    Attributes:
        text: Their words.
        end: How they end the conversation with them, if they do.
    """

    text: str
    end: End = ""


class User(ABC):
    """One person in one conversation.

    Attributes:
        agreed: Whether they have agreed to what is being done at the moment.
        fault: What they did that no agent could make up for; empty where nothing.
    """

    agreed: bool = False
    fault: str = ""

    @abstractmethod
    async def begin(self) -> Reply:
        """Return their first words.

        Raises:
            EpisodeError: The user could not be simulated; it is not the agent's failure.
        """

    @abstractmethod
    async def answer(self, text: str) -> Reply:
        """Answer the agent's words, using their own tools where they are asked to.

        Raises:
            EpisodeError: The user could not be simulated; it is not the agent's failure.
        """

    @abstractmethod
    def labels(self) -> Mapping[str, str]:
        """Return what the grade's labels have to say of them: `user`, who they were."""

    @abstractmethod
    def save(self) -> Json:
        """Return their memory, as a JSON value."""

    @abstractmethod
    def load(self, state: Json) -> None:
        """Take back what `save` returned."""
