"""Wordle's rules, its words and its player."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.wordle.player import best_guess, opening
from agentgym_games.wordle.rules import (
    WordleState,
    Words,
    consistent,
    every_word,
    guess,
    lost,
    mark,
    solved,
)
from agentgym_games.wordle.words import COMMON

WORD = st.text("abc", min_size=4, max_size=4)


@pytest.mark.parametrize(
    ("said", "word", "marks"),
    [
        ("crane", "crane", "====="),
        ("llama", "label", "=++--"),
        ("speed", "abide", "--+-+"),
        ("speed", "erase", "+-++-"),
        ("speed", "steal", "=-=--"),
        ("eerie", "creep", "+++--"),
    ],
)
def test_marks_of_known_guesses(said: str, word: str, marks: str) -> None:
    assert mark(said, word) == marks


@given(said=WORD, word=WORD)
def test_marks_say_how_often_a_letter_is_there(said: str, word: str) -> None:
    marks = mark(said, word)
    assert [sign == "=" for sign in marks] == [a == b for a, b in zip(said, word, strict=True)]
    found = Counter(letter for letter, sign in zip(said, marks, strict=True) if sign != "-")
    assert found == Counter(said) & Counter(word)


@given(word=WORD, guesses=st.lists(WORD, max_size=5))
def test_the_hidden_word_is_always_left(word: str, guesses: list[str]) -> None:
    left = list(every_word("abc", 4))
    for said in guesses:
        smaller = consistent(left, said, mark(said, word))
        assert word in smaller
        assert set(smaller) <= set(left)
        left = smaller


def test_a_game_ends_with_the_word_or_the_last_guess() -> None:
    words = Words(("ab", "ba", "bb"), "ab", 2)
    state = guess(words, WordleState(), " BA ")
    assert state == WordleState(("ba",))
    assert not solved(words, state)
    assert not lost(words, state)
    assert solved(words, guess(words, state, "ab"))
    assert not lost(words, guess(words, state, "ab"))
    assert lost(words, guess(words, state, "bb"))
    with pytest.raises(ToolError, match="not in the list"):
        guess(words, state, "aa")


def test_the_list_is_of_five_letter_words() -> None:
    assert len(COMMON) > 800
    assert list(COMMON) == sorted(set(COMMON))
    assert all(len(word) == 5 and word.isascii() and word.islower() for word in COMMON)


def guesses_needed(word: str, allowed: tuple[str, ...]) -> int:
    left, said, count = allowed, opening(allowed), 1
    while said != word:
        left = tuple(consistent(left, said, mark(said, word)))
        said, count = best_guess(left, allowed), count + 1
    return count


@pytest.mark.parametrize(("letters", "length", "most"), [("abcd", 3, 3), ("abcd", 4, 5)])
def test_the_player_finds_every_word_of_few_letters(letters: str, length: int, most: int) -> None:
    allowed = every_word(letters, length)
    assert len(allowed) == len(letters) ** length
    assert max(guesses_needed(word, allowed) for word in allowed) <= most
