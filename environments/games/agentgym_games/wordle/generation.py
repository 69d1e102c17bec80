"""Wordle tasks from seeds: hidden words, of which each is in one task alone."""

from dataclasses import dataclass

from agentgym_games.dice import Dice
from agentgym_games.sets import Draft
from agentgym_games.wordle.tasks import WordlePrivate, WordlePublic

SPARE = 6
"""Turns allowed beyond the guesses, for words that are not in the list."""


@dataclass(frozen=True)
class WordleLevel:
    """How a task is made.

    Attributes:
        guesses: How many may be made.
        letters: The letters of every word; empty for common English words.
        length: Letters of a word.
    """

    guesses: int
    letters: str = ""
    length: int = 5


CORE = {
    "easy": WordleLevel(guesses=8),
    "medium": WordleLevel(guesses=6),
    "hard": WordleLevel(guesses=5),
}
SMALL = {"small": WordleLevel(guesses=7, letters="abcd", length=4)}
TINY = {"tiny": WordleLevel(guesses=6, letters="abcd", length=3)}


def draft(level: WordleLevel, dice: Dice, number: int) -> Draft:
    """Draw one hidden word."""
    public = WordlePublic(letters=level.letters, length=level.length, guesses=level.guesses)
    word = dice.pick(public.allowed())
    return Draft(
        public=public,
        private=WordlePrivate(word=word),
        content=word,
        max_turns=level.guesses + SPARE,
    )
