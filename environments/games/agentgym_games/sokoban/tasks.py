"""What a Sokoban task holds."""

from pydantic import BaseModel, ConfigDict, Field


class SokobanPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        layout: The board as the game begins.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: tuple[str, ...] = Field(min_length=1)


class SokobanPrivate(BaseModel):
    """The part that is hidden.

    Attributes:
        solution: A solution with the fewest moves, by the directions' first letters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solution: str = Field(pattern="^[nsew]+$")
