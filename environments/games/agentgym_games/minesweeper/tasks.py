"""What a minesweeper task holds."""

from pydantic import BaseModel, ConfigDict, Field

from agentgym_games.minesweeper.rules import LARGEST


class MinesweeperPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        rows: Of the board.
        columns: Of the board.
        mines: How many there are.
        start: The square that is open when the game begins, such as "b3".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int = Field(ge=2, le=LARGEST)
    columns: int = Field(ge=2, le=LARGEST)
    mines: int = Field(ge=1)
    start: str


class MinesweeperPrivate(BaseModel):
    """The part that is hidden.

    Attributes:
        mines: The squares that hold one, such as "a1".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mines: tuple[str, ...] = Field(min_length=1)
