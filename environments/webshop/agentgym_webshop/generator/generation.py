"""The products of a generated catalogue, each made by itself from seed, size and place."""

from collections.abc import Iterator

from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import SEED, blueprint
from agentgym_webshop.generator.wording import Wording
from agentgym_webshop.products import Product, Review
from agentgym_webshop.tagging import LexiconTagger, Tagger

DEFAULT_TAGGER = LexiconTagger()
"""Finds the nouns of the shipped catalogues' titles."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ASINS = 36**9
_STEP = 62_710_561_829_477
"""Has no factor in common with `_ASINS`, so that multiples of it run through all of them."""


def product(size: int, index: int, *, seed: int = SEED, tagger: Tagger | None = None) -> Product:
    """Make product `index` of the catalogue of `size` products.

    The same arguments make the same product on every machine, in any order.

    Args:
        size: Products of the catalogue.
        index: From 0 to `size` - 1.
        seed: Another seed makes another catalogue.
        tagger: Finds the nouns of the title; the default one where it is None.
    """
    plan = blueprint(size, index, seed)
    draws = Draws("words", seed, size, index)
    wording = Wording(plan, draws)
    title = wording.title()
    reviews = wording.reviews()
    low, spread = plan.cents, plan.spread_cents
    return Product(
        asin=asin(index),
        title=title,
        category=plan.kind.category,
        query=draws.choice(plan.kind.searches),
        description=wording.description(),
        bullets=wording.bullets(),
        options=plan.options,
        attributes=plan.attributes,
        price=(low + (draws.below(spread + 1) if spread else 0)) / 100,
        price_low=low / 100,
        price_high=(low + spread) / 100 if spread else None,
        rating=_rating(draws, reviews),
        reviews=reviews,
        main_image="",
        nouns=(tagger or DEFAULT_TAGGER).nouns(title),
    )


def products(size: int, *, seed: int = SEED, tagger: Tagger | None = None) -> Iterator[Product]:
    """Make all products of a catalogue, in order."""
    return (product(size, index, seed=seed, tagger=tagger) for index in range(size))


def asin(index: int) -> str:
    """Return the id of the product at a place: ten letters and digits, different for each."""
    number = (index + 1) * _STEP % _ASINS
    name = ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        name = _DIGITS[digit] + name
    return f"B{name}"


def _rating(draws: Draws, reviews: tuple[Review, ...]) -> float | None:
    """Draw a mean of stars near that of the reviews that are shown."""
    if not reviews and draws.chance(60):
        return None
    shown = sum(review.score for review in reviews) / len(reviews) if reviews else 4.0
    return min(50, max(10, round(shown * 5) + 20 + draws.between(-4, 4))) / 10
