"""What a Wordle task holds."""

from pydantic import BaseModel, ConfigDict, Field

from agentgym_games.wordle.rules import every_word
from agentgym_games.wordle.words import COMMON


class WordlePublic(BaseModel):
    """The part an agent may see.

    Attributes:
        letters: The letters that words are made of, where every string over them is a word; empty
            for common English words.
        length: Letters of a word.
        guesses: How many may be made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    letters: str = Field(default="", pattern="^[a-z]{0,6}$")
    length: int = Field(default=5, ge=1, le=5)
    guesses: int = Field(default=6, ge=1)

    def allowed(self) -> tuple[str, ...]:
        """Return the words that may be guessed, sorted."""
        return every_word(self.letters, self.length) if self.letters else COMMON


class WordlePrivate(BaseModel):
    """The part that is hidden."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    word: str
