"""The player of Wordle: it knows the list of words and the answers, never the hidden word."""

from collections import Counter
from collections.abc import Generator, Sequence
from functools import lru_cache
from math import log2

from agentgym.types import Action, Observation, Task, call
from agentgym_games.wordle.rules import RIGHT, consistent, mark
from agentgym_games.wordle.tasks import WordlePrivate, WordlePublic

FEW = 60
"""Words left from which on every allowed word is weighed as a guess, not those left alone."""


def oracle(
    task: Task[WordlePublic, WordlePrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play as `play` does, with the list of words the task allows."""
    yield from play(observation, task.public.allowed())


def play(observation: Observation, allowed: Sequence[str]) -> Generator[Action, Observation, None]:
    """Guess the word whose answer is the most informative (Shannon entropy), to the end.

    Args:
        observation: The first one; nothing in it is needed.
        allowed: The words that may be hidden and guessed, of one length.
    """
    left, said = tuple(allowed), opening(tuple(allowed))
    while True:
        observation = yield call("guess", word=said)
        marks = "".join(pair[-1] for pair in observation.text.split()[: len(said)])
        if set(marks) == {RIGHT}:
            return
        left = tuple(consistent(left, said, marks))
        said = best_guess(left, left if len(left) > FEW else tuple(allowed))


@lru_cache(maxsize=64)
def opening(allowed: tuple[str, ...]) -> str:
    """Return a good first guess: different letters that stand often in their places."""
    places = [Counter(column) for column in zip(*allowed, strict=True)]
    letters = Counter(letter for word in allowed for letter in set(word))

    def weight(word: str) -> int:
        fits = sum(place[letter] for place, letter in zip(places, word, strict=True))
        return 2 * fits + sum(letters[letter] for letter in set(word))

    return max(allowed, key=weight)


@lru_cache(maxsize=4096)
def best_guess(left: tuple[str, ...], guesses: tuple[str, ...]) -> str:
    """Return the guess with the most informative answer; of equals, one that may be right.

    Args:
        left: The words that may be hidden.
        guesses: The words that may be guessed.
    """
    if len(left) < 3:
        return left[0]
    likely = frozenset(left)
    return max(guesses, key=lambda said: (round(_bits(said, left), 9), said in likely))


def _bits(said: str, left: Sequence[str]) -> float:
    """Return the entropy of the answer to a guess, in bits."""
    answers = Counter(mark(said, word) for word in left)
    return -sum(n / len(left) * log2(n / len(left)) for n in answers.values())
