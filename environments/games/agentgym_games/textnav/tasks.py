"""What a text navigation task holds."""

from pydantic import BaseModel, ConfigDict, Field

from agentgym_games.textnav.rules import Passage


class TextNavPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        thing: What is to be brought.
        target: The room it is to be brought to.
        rooms: The names of the house's rooms.
        things: The names of the things in it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    thing: str
    target: str
    rooms: tuple[str, ...] = Field(min_length=2)
    things: tuple[str, ...] = Field(min_length=1)


class TextNavPrivate(BaseModel):
    """The part that is hidden: how the rooms hang together, and where things are.

    Attributes:
        start: The room the game begins in.
        passages: The ways between rooms.
        places: The room of each thing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    passages: tuple[Passage, ...]
    places: dict[str, str]
