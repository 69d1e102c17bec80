"""Which words of a title are nouns: the reward compares what two products are by them.

The original uses spaCy's tags (NOUN and PROPN). Scores are comparable between runs with one
tagger only, so its name and version go into every record.
"""

import re
from functools import cached_property
from typing import Any, Protocol

from agentgym.errors import UsageError


class Tagger(Protocol):
    """Finds the nouns and names in a title.

    Attributes:
        name: What to call it in a record.
        version: Changes whenever the same title may give other nouns.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

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

_OTHERS = frozenset(
    # function words
    "a an and are as at be but by can for from has have if in into is it its no not of off on or "
    "our out over per so than that the their them then these they this those to under up us was "
    "we with without you your all any both each every more most other some such via plus vs "
    "one two three four five six seven eight nine ten first second third new "
    # adjectives
    "adjustable anti basic best better big bold brand broad bright casual classic clean clear "
    "cold comfy compact cool cozy cute daily damaged deep deluxe double dry dual dull easy elegant "
    "essential everyday extra fair fast fine firm fit flat fresh full gentle giant good great hard "
    "heavy high hot huge large late left light limited little long loose low major male matte max "
    "medium mid mild mini modern multi narrow natural next non oily old open organic original "
    "portable premium pro pure quick quiet raw ready real regular rich right round safe short "
    "signature simple single slim small smart smooth soft solid special square steep strong super "
    "sweet tall thick thin tight tiny true ultra unisex universal upgraded vegan vintage virgin "
    "vivid warm wet whole wide wild young free friendly proof handmade professional contemporary "
    "electric female wireless cordless autumn sterling stainless hypoallergenic dark wired "
    # colours
    "beige black blue brown burgundy charcoal coral cyan gray green grey indigo ivory khaki lilac "
    "magenta maroon mauve mustard navy olive orange pink purple red rose silver tan taupe teal "
    "turquoise violet white yellow "
    # verbs
    "apply assemble buy carry choose fits get give help include includes install keep make need "
    "say use wash wear work works".split()
)

_NOUNS_BY_RULE = frozenset(
    "bedding building ceiling clothing coating cushioning drawing dressing earring evening filling "
    "flooring frosting icing king lighting lining morning outing painting piercing pudding ring "
    "rug seasoning seating setting shelving spring sting string stuffing sweatshirting swing "
    "topping wedding wing wiring bed feed reed seed shed sled weed table cable vegetable stable "
    "family assembly belly jelly supply butterfly lily jersey canal cereal crystal dental emerald "
    "festival journal manual medal metal mineral oval pedal petal portal rental sandal signal "
    "towel bus campus cactus hummus asparagus olive motive relative archive adhesive drive dive "
    "hive music fabric plastic ceramic clinic cosmetic elastic garlic mic picnic topic tonic "
    "microfiber mouthful armful".split()
)

_ADJECTIVE_ENDINGS = ("able", "ible", "ful", "less", "ous", "ive", "ical", "onal", "ish")


def _is_noun(word: str) -> bool:
    if word in _OTHERS or len(word) < 2 or not word.isalpha():
        return False
    if word in _NOUNS_BY_RULE or len(word) < 5:
        return True
    participle = word.endswith(("ed", "ing"))
    return not (participle or word.endswith("ly") or word.endswith(_ADJECTIVE_ENDINGS))
