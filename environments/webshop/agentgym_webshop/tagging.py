"""Which words of a title are nouns: the reward compares what two products are by them.

The original uses spaCy's tags (NOUN and PROPN). Scores are comparable between runs with one
tagger only, so its name and version go into every record.
"""

import re
import tomllib
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Protocol, runtime_checkable

from agentgym.errors import UsageError


@runtime_checkable
class Tagger(Protocol):
    """Finds the nouns and names in a title."""

    @property
    def name(self) -> str:
        """What to call it in a record."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same title may give other nouns."""
        ...

    def nouns(self, title: str) -> tuple[str, ...]:
        """Return the lower-cased nouns and names, in order and with repeats."""
        ...


class LexiconTagger:
    """Takes every word of a title for a noun that is not known to be something else.

    That is nearly what a tagger makes of titles, whose capitals turn words into names. Others are
    known by a list of function words, common adjectives and colours, and by adjectives', adverbs'
    and participles' endings. Needs no download and gives the same everywhere.
    """

    name = "lexicon"
    version = "1"

    def nouns(self, title: str) -> tuple[str, ...]:
        """Return the lower-cased nouns and names, in order and with repeats."""
        found = _WORD.findall(title.lower().replace("'s", ""))
        return tuple([word for word in found if _is_noun(word)])


class SpacyTagger:
    """The original's tagger.

    Args:
        model: An installed spaCy model.

    Raises:
        UsageError: On first use, where spaCy or the model is not installed.
    """

    def __init__(self, model: str = "en_core_web_sm") -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return f"spacy {self._model}"

    @property
    def version(self) -> str:
        """The model's version."""
        return str(self._pipeline.meta["version"])

    def nouns(self, title: str) -> tuple[str, ...]:
        """Return the lower-cased nouns and names, in order and with repeats."""
        tokens = self._pipeline(title)
        return tuple([token.text.lower() for token in tokens if token.pos_ in ("NOUN", "PROPN")])

    @cached_property
    def _pipeline(self) -> Any:
        try:
            import spacy

            return spacy.load(self._model, exclude=["parser", "ner", "lemmatizer"])
        except (ImportError, OSError) as error:
            raise UsageError(
                f"The tagger needs spaCy and its model {self._model!r} ({error}).",
                remedy=f"pip install spacy, then python -m spacy download {self._model}",
            ) from error


_WORD = re.compile(r"[^\W_]+")


@cache
def _lexicon() -> tuple[frozenset[str], frozenset[str]]:
    """Return words that are never nouns, and nouns with an ending of other words."""
    text = files("agentgym_webshop").joinpath("lexicon.toml").read_text("utf-8")
    data = tomllib.loads(text)
    others = " ".join(data["others"].values())
    return frozenset(others.split()), frozenset(data["nouns"]["by_ending"].split())


_ADJECTIVE_ENDINGS = ("able", "ible", "ful", "less", "ous", "ive", "ical", "onal", "ish")


def _is_noun(word: str) -> bool:
    others, nouns = _lexicon()
    if word in others or len(word) < 2 or not word.isalpha():
        return False
    if word in nouns or len(word) < 5:
        return True
    participle = word.endswith(("ed", "ing"))
    return not (participle or word.endswith("ly") or word.endswith(_ADJECTIVE_ENDINGS))
