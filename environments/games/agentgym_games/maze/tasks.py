"""What a maze task holds: the layout, where the view may show it in the public part."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

View = Literal["map", "position", "walls"]


class MazePublic(BaseModel):
    """The part an agent may see.

    Attributes:
        view: What is seen each turn: the whole `map`; the `position`, the goal's position and the
            open directions; or the `walls`, which is the open directions alone.
        layout: The maze, where the view is the map.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    view: View
    layout: tuple[str, ...] = ()


class MazePrivate(BaseModel):
    """The part that is hidden.

    Attributes:
        layout: The maze, where the view is not the map.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: tuple[str, ...] = ()
