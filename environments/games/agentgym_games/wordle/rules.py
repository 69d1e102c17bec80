"""The rules of Wordle: a guess is answered letter by letter."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from agentgym.errors import ToolError

RIGHT, ELSEWHERE, ABSENT = "=", "+", "-"
"""The letter is in its place, in another place, or not (once more) in the word."""


@dataclass(frozen=True)
class Words:
    """What may be guessed.

    Attributes:
        allowed: Words of one length.
        word: The hidden one.
        guesses: How many may be made.
    """

    allowed: tuple[str, ...]
    word: str
    guesses: int


@dataclass(frozen=True)
class WordleState:
    """The guesses made, in order."""

    guesses: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def every_word(letters: str, length: int) -> tuple[str, ...]:
    """Return every string of a length over some letters, sorted."""
    return tuple("".join(word) for word in product(sorted(set(letters)), repeat=length))


def mark(guess: str, word: str) -> str:
    """Return one mark a letter of the guess.

    A letter guessed more often than the word has it is marked as often as the word has it: right
    places first, then from left to right.

    Args:
        guess: A word.
        word: The hidden one, as long.
    """
    marks = [RIGHT if a == b else ABSENT for a, b in zip(guess, word, strict=True)]
    left = [b for a, b in zip(guess, word, strict=True) if a != b]
    for place, letter in enumerate(guess):
        if marks[place] == ABSENT and letter in left:
            marks[place] = ELSEWHERE
            left.remove(letter)
    return "".join(marks)


def guess(words: Words, state: WordleState, text: str) -> WordleState:
    """Make a guess, in letters of either case.

    Raises:
        ToolError: It is not an allowed word.
    """
    said = text.strip().lower()
    if said not in _known(words.allowed):
        raise ToolError("That word is not in the list.")
    return WordleState((*state.guesses, said))


def solved(words: Words, state: WordleState) -> bool:
    """Whether the word was guessed."""
    return words.word in state.guesses


def lost(words: Words, state: WordleState) -> bool:
    """Whether all guesses are used and none was right."""
    return len(state.guesses) >= words.guesses and not solved(words, state)


def consistent(allowed: Sequence[str], said: str, marks: str) -> list[str]:
    """Return the words that would have answered a guess with these marks."""
    return [word for word in allowed if mark(said, word) == marks]


@lru_cache(maxsize=4096)
def words_left(allowed: tuple[str, ...], answers: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the words that would have given all answers: guesses with their marks, in order."""
    if not answers:
        return allowed
    said, marks = answers[-1]
    return tuple(consistent(words_left(allowed, answers[:-1]), said, marks))


@lru_cache(maxsize=64)
def _known(allowed: tuple[str, ...]) -> frozenset[str]:
    return frozenset(allowed)
