"""The default tagger, and that spaCy is asked for by name where it is missing."""

import importlib.util

import pytest

from agentgym.errors import UsageError
from agentgym_webshop.tagging import LexiconTagger, SpacyTagger


@pytest.mark.parametrize(
    ("title", "nouns"),
    [
        ("Women's Red Summer Dress with Pockets", ("women", "summer", "dress", "pockets")),
        ("Waterproof Hiking Boots for Men", ("waterproof", "boots", "men")),
        ("Machine Washable Cotton T-Shirt, 2 Pack", ("machine", "cotton", "shirt", "pack")),
        ("Bedding Set - Queen - Extremely Soft", ("bedding", "set", "queen")),
        ("USB-C Cable (3 ft) XJ-4821", ("usb", "cable", "ft", "xj")),
        ("Dress dress DRESS", ("dress", "dress", "dress")),
        ("the of and with", ()),
        ("", ()),
        ("100% 3.5 & !?", ()),
        ("Café Möbel", ("café", "möbel")),
    ],
)
def test_nouns_of_titles(title: str, nouns: tuple[str, ...]) -> None:
    assert LexiconTagger().nouns(title) == nouns


def test_the_tagger_names_itself() -> None:
    assert (LexiconTagger().name, LexiconTagger().version) == ("lexicon", "1")


@pytest.mark.skipif(importlib.util.find_spec("spacy") is not None, reason="spaCy is installed")
def test_without_spacy_the_remedy_is_told() -> None:
    tagger = SpacyTagger()
    assert tagger.name == "spacy en_core_web_sm"
    with pytest.raises(UsageError, match="pip install spacy"):
        tagger.nouns("A dress")
