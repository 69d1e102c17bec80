"""Words of a text as Lucene's English analysis gives them, the one WebShop's search was built on.

The chain is that of Anserini's default analyser: words by Unicode's rules (UAX #29), possessive
endings removed, lower case, Lucene's 33 stop words removed, Porter's stemmer.
"""

import re
from collections.abc import Callable
from functools import cache

import regex
import Stemmer

_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then
there these they this to was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Lucene's `ENGLISH_STOP_WORDS_SET`."""

TOKEN_LENGTH = 255
"""Characters of a word at most; Lucene cuts a longer one into several."""

_ASCII = re.compile(
    r"(?<!_)_*(?:[a-z]+(?:[.:'][a-z]+)*|[0-9]+(?:[.,;'][0-9]+)*|(?<=[a-z0-9])_+(?=[a-z0-9]))+_*",
    re.IGNORECASE,
)
"""UAX #29 for text of ASCII alone, three times as fast as the general pattern."""


def _general_pattern() -> "regex.Pattern[str]":
    """Write UAX #29's rules out, with the tailorings of Lucene's standard tokenizer.

    A word takes all joiners before it, so none begins after one; to say so keeps long runs of
    them linear. Ideographs and Hiragana are words of one character, south-east Asian scripts words
    of a whole run, and pictographs words of their own.
    """
    tail = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
    kinds = {
        "letter": r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]",
        "digit": r"\p{WB=Numeric}",
        "katakana": r"\p{WB=Katakana}",
        "hebrew": r"\p{WB=Hebrew_Letter}",
        "joiner": r"\p{WB=ExtendNumLet}",
        "in_word": r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]",
        "in_number": r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}]",
        "single": r"[\p{Script=Han}\p{Script=Hiragana}]",
        "south_east": r"\p{LB=SA}",
        "picture": r"\p{Extended_Pictographic}",
    }
    part = {name: f"(?:{characters}{tail})" for name, characters in kinds.items()}
    word = "{letter}(?:(?:{joiner}*|{in_word}){letter})*".format(**part)
    number = "{digit}(?:(?:{joiner}*|{in_number}){digit})*".format(**part)
    hebrew = "{hebrew}(?:'|\"{hebrew})".format(**part)
    run = "(?:{katakana}(?:{joiner}*{katakana})*|(?:{hebrew_quote}|{number}|{word})+)".format(
        katakana=part["katakana"],
        joiner=part["joiner"],
        hebrew_quote=hebrew,
        number=number,
        word=word,
    )
    words = r"(?<!\p{{WB=ExtendNumLet}}){joiner}*{run}(?:{joiner}+{run})*{joiner}*".format(
        joiner=part["joiner"], run=run
    )
    others = "{south_east}+|{single}|\u200d?{picture}(?:(?<=\u200d){picture})*".format(**part)
    return regex.compile(f"{words}|{others}")


@cache
def _general() -> "regex.Pattern[str]":
    return _general_pattern()


def words(text: str) -> list[str]:
    """Split a text into words by UAX #29, each in the case it was written in."""
    pattern = _ASCII if text.isascii() else _general()
    found: list[str] = pattern.findall(text)
    if len(text) > TOKEN_LENGTH and any(len(word) > TOKEN_LENGTH for word in found):
        return [piece for word in found for piece in _pieces(word)]
    return found


def _pieces(word: str) -> list[str]:
    return [word[i : i + TOKEN_LENGTH] for i in range(0, len(word), TOKEN_LENGTH)]


def normaliser() -> Callable[[str], str | None]:
    """Return a function from a word to its search term; None for a stop word."""
    stem: Callable[[str], str] = Stemmer.Stemmer("porter", 0).stemWord

    def normalise(word: str) -> str | None:
        if word[-2:-1] in _APOSTROPHES and word[-1:] in "sS" and len(word) > 1:
            word = word[:-2]
        word = word.lower()
        if word in STOP_WORDS:
            return None
        return stem(_as_porter_meant(word)) if len(word) > 2 else word

    return normalise


_APOSTROPHES = ("'", "\u2019", "\uff07")

_REVISED = re.compile(r"(.*)(?:(bl)|(log))(?:i|y|ies|ys)$", re.DOTALL)
_DOUBLED = re.compile(r"(.*[aeiouy].*([chjkqvwx]))\2(?:ed|ing)s?$", re.DOTALL)


def _as_porter_meant(word: str) -> str:
    """Rewrite an ending that the stemmer library treats unlike Lucene.

    Lucene follows Porter's later revision, which takes "bli" to "ble" (as in "possibly") and
    "logi" to "log" (as in "biology"); and it undoes every doubled consonant (as in "trekking"),
    the library only the usual ones.
    """
    found = _REVISED.match(word)
    if found is not None and _measure(found[1]) > 0:
        return f"{found[1]}ble" if found[2] else f"{found[1]}log"
    found = _DOUBLED.match(word)
    return found[1] if found is not None else word


def _measure(stem: str) -> int:
    """Return Porter's m, how many times a consonant follows a vowel."""
    count, after_vowel = 0, False
    for i, letter in enumerate(stem):
        vowel = letter in "aeiou" or (letter == "y" and i > 0 and not after_vowel)
        count += after_vowel and not vowel
        after_vowel = vowel
    return count
