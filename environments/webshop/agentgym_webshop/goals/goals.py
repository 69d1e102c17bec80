"""Goals: what to ask of a product, and a search that finds it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import FAMILY, SEED, blueprint
from agentgym_webshop.goals.instructions import instruction
from agentgym_webshop.limits import price_limit
from agentgym_webshop.products import Product

MOST = 5
"""Attributes and options of a goal at most, together."""

SHOWN = 50
"""Products that a search shows."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a customer wants.

    Attributes:
        product: The product it was made from, which meets it.
        attributes: At least one of the product's.
        options: Values by group; may be empty.
        price_upper: Dollars.
        instruction: The customer's words.
        oracle_query: A search that shows the product among the first 50.
    """

    product: Product
    attributes: tuple[str, ...]
    options: dict[str, str]
    price_upper: float
    instruction: str
    oracle_query: str


def make_goal(catalogue: Catalogue, index: int, *, seed: int = SEED) -> Goal | None:
    """Make the goal of one product of a generated catalogue.

    Args:
        catalogue: A generated catalogue.
        index: The product's place.
        seed: Of the catalogue.

    Returns:
        The same goal each time; None where no search of ours finds the product.
    """
    size = len(catalogue)
    product = catalogue.product(index)
    plan = blueprint(size, index, seed)
    draws = Draws("goal", seed, size, index)
    wanted = draws.choice((2, 3, 3, 4, 4, 5, MOST))
    relatives = _relatives(catalogue, index)
    options = _options(product, relatives, min(wanted - 1, draws.below(4)), draws)
    count = min(wanted - len(options), 4)
    rare_first = _rare_first([p.attributes for p in relatives], product.attributes, draws)
    attributes = tuple(rare_first[:count])
    limit = price_limit(product.price, draws.sample)
    query = _finding(catalogue, index, product)
    if query is None:
        return None
    return Goal(
        product=product,
        attributes=attributes,
        options=options,
        price_upper=limit,
        instruction=instruction(plan, attributes, options, limit, draws),
        oracle_query=query,
    )


def _relatives(catalogue: Catalogue, index: int) -> list[Product]:
    """Return the products of the same family, the near misses."""
    first = index - index % FAMILY
    return [catalogue.product(place) for place in range(first, min(first + FAMILY, len(catalogue)))]


def _options(
    product: Product, relatives: Sequence[Product], count: int, draws: Draws
) -> dict[str, str]:
    wanted = {}
    for group in draws.sample(sorted(product.options), count):
        offered = [relative.options.get(group, ()) for relative in relatives]
        wanted[group] = _rare_first(offered, product.options[group], draws)[0]
    return wanted


def _rare_first(offered: Sequence[Sequence[str]], values: Sequence[str], draws: Draws) -> list[str]:
    """Shuffle values; mostly, those that fewest relatives offer come first, to tell them apart."""
    shuffled = draws.sample(values, len(values))
    if draws.chance(25):
        return shuffled
    return sorted(shuffled, key=lambda value: sum(value in others for others in offered))


def _finding(catalogue: Catalogue, index: int, product: Product) -> str | None:
    """Return the shortest beginning of the title, of four words or more, that finds it."""
    words = product.title.lower().split()
    for length in range(4, len(words) + 1):
        query = " ".join(words[:length])
        if index in catalogue.search(query, SHOWN):
            return query
    return None
