"""WebShop's reward (Yao et al., 2022, arXiv:2207.01206, section 3), to the last bit of the float.

Upstream's fuzzy ratio is that of thefuzz 0.19: `token_set_ratio` of strings from which the
characters 128 to 255 are dropped and in which blanks stand for all but letters, digits and
underscores, rounded to a whole number. The order of the operations is upstream's too.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from agentgym_webshop.colours import normalised
from agentgym_webshop.products import Product
from agentgym_webshop.tasks import WebShopPrivate

_NO_WORD = re.compile(r"\W")
_LATIN_1 = dict.fromkeys(range(128, 256))
_CLOSE = 85
"""A ratio above this is a match."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well a purchase meets a goal.

    Attributes:
        kind: 1 for the right kind of product; 0.5, 0.1 or 0 for one that is further off.
        title: Share of the goal's title nouns that the product's title has.
        attributes: Attributes met.
        asked_attributes: Attributes asked for.
        options: Options met.
        asked_options: Options asked for.
        price: Whether it costs no more than it may.
    """

    kind: float
    title: float
    attributes: int
    asked_attributes: int
    options: int
    asked_options: int
    price: bool

    @property
    def value(self) -> float:
        """The reward, 0 to 1."""
        met = self.attributes + self.options + self.price
        return met / (self.asked_attributes + self.asked_options + 1) * self.kind

    @property
    def components(self) -> dict[str, float]:
        """The parts, each 0 to 1; options only where some are asked for."""
        parts = {
            "type": self.kind,
            "title": self.title,
            "attributes": self.attributes / self.asked_attributes,
            "price": float(self.price),
        }
        if self.asked_options:
            parts["options"] = self.options / self.asked_options
        return parts

    @property
    def words(self) -> str:
        """The score in words."""
        return (
            f"Type {self.kind:g}; {self.attributes} of {self.asked_attributes} attributes and "
            f"{self.options} of {self.asked_options} options as asked; the price is "
            f"{'within' if self.price else 'above'} the limit."
        )


def score(
    product: Product,
    options: Iterable[str],
    goal: WebShopPrivate,
    *,
    nouns: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Score:
    """Score a purchase.

    Args:
        product: What is bought.
        options: The values chosen, one of a group at most.
        goal: What was asked for.
        nouns: The nouns of the product's and of the goal's title, by another tagger than the
            catalogue's.
    """
    found, wanted = nouns or (product.nouns, goal.nouns)
    title = title_score(found, wanted)
    asked = asked_options(goal)
    return Score(
        kind=_kind(product, goal, title),
        title=title,
        attributes=_attributes_met(product, goal.attributes),
        asked_attributes=len(goal.attributes),
        options=len(options_met(options, asked)),
        asked_options=len(asked),
        price=product.price <= goal.price_upper,
    )


def title_score(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the distinct nouns in common, over all the goal's nouns; 0.2 where it has none."""
    if not wanted:
        return 0.2
    return len(set(found) & set(wanted)) / len(wanted)


def asked_options(goal: WebShopPrivate) -> tuple[str, ...]:
    """Return the option values asked for."""
    return tuple(goal.options.values()) if isinstance(goal.options, dict) else goal.options


def options_met(chosen: Iterable[str], asked: Sequence[str]) -> frozenset[int]:
    """Return which of the options asked for are met, by their places.

    Values that hold a colour word are compared by the first of them alone.
    """
    have = [_processed(normalised(value)) for value in chosen]
    wanted = [_processed(normalised(value)) for value in asked]
    return frozenset(
        place for place, want in enumerate(wanted) if any(_close(value, want) for value in have)
    )


def _kind(product: Product, goal: WebShopPrivate, title: float) -> float:
    if title == 0.0:
        return 0.0
    if title < 0.1:
        return 0.1
    shared = _path(product.category) & _path(goal.category)
    same = product.query == goal.query or len(shared) >= 2 or title > 0.2
    return 1.0 if same else 0.5


def _path(category: str) -> set[str]:
    return {part.strip() for part in category.split("›")}


def _attributes_met(product: Product, asked: Sequence[str]) -> int:
    have = [_processed(attribute) for attribute in product.attributes]
    texts = (product.title, " ".join(product.bullets), product.description)
    lowered = [text.lower() for text in texts]
    met = 0
    for attribute in asked:
        want = _processed(attribute)
        listed = any(_close(value, want) for value in have)
        met += listed or any(attribute in text for text in lowered)
    return met


def _processed(text: str) -> str:
    return _NO_WORD.sub(" ", text.translate(_LATIN_1)).lower().strip()


def _close(one: str, other: str) -> bool:
    return round(fuzz.token_set_ratio(one, other)) > _CLOSE
