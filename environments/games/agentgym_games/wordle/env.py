"""The Wordle environment."""

from math import log

from agentgym.tools import tool
from agentgym.types import Json
from agentgym_games.game import GameEnvironment
from agentgym_games.wordle.rules import (
    WordleState,
    Words,
    guess,
    lost,
    mark,
    solved,
    words_left,
)
from agentgym_games.wordle.tasks import WordlePrivate, WordlePublic

RULES = (
    "Find the hidden word of {length} letters. {words} Each guess is answered letter by letter: = "
    "is the right letter in its place, + a letter of the word in another place, - a letter that "
    "is not in the word, or not once more."
)


class WordleEnvironment(GameEnvironment[WordlePublic, WordlePrivate, WordleState]):
    """Find a hidden word; each guess tells which letters are right."""

    _words: Words

    def begin(self) -> WordleState:
        """Hide the word."""
        public, word = self.task.public, self.task.private.word
        self._words = Words(public.allowed(), word, public.guesses)
        return WordleState()

    def explain(self) -> str:
        """Return the rules."""
        public = self.task.public
        words = "It is a common English word."
        if public.letters:
            words = f"Every string of the letters {' '.join(public.letters)} is a word."
        return RULES.format(length=public.length, words=words)

    def show(self) -> str:
        """Return the last guess with its marks, and how many guesses are left."""
        left = f"{self._words.guesses - len(self.state.guesses)} left"
        if not self.state.guesses:
            return left
        said = self.state.guesses[-1]
        marks = mark(said, self._words.word)
        pairs = [f"{letter}{sign}" for letter, sign in zip(said, marks, strict=True)]
        return f"{' '.join(pairs)} {left}"

    @tool
    async def guess(self, word: str) -> str:
        """Guess the word.

        Args:
            word: A word of the right length.
        """
        return self.play(guess(self._words, self.on_move(), word))

    @property
    def solved(self) -> bool:
        """Whether the word was guessed."""
        return solved(self._words, self.state)

    @property
    def lost(self) -> bool:
        """Whether all guesses are used up."""
        return lost(self._words, self.state)

    def potential(self) -> float:
        """Return how much of the choice among words is gone, in bits, as a share of all of it."""
        word = self._words.word
        answers = tuple((said, mark(said, word)) for said in self.state.guesses)
        left = words_left(self._words.allowed, answers)
        return 1 - log(len(left)) / log(len(self._words.allowed))

    def efficiency(self) -> float:
        """Return 1 for the first guess, less a share for each further one."""
        return 1 - (self.moves - 1) / self._words.guesses

    def essence(self) -> Json:
        """Return the guesses without their order, on which nothing depends."""
        return sorted(self.state.guesses)
