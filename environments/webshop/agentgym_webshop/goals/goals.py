"""Goals: what to ask of a product, and a search that finds it."""

from dataclasses import dataclass

from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import SEED, blueprint
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
    wanted = draws.between(2, MOST)
    options = _options(product, min(wanted - 1, draws.below(4)), draws)
    count = min(len(product.attributes), wanted - len(options), 4)
    attributes = tuple(draws.sample(product.attributes, count))
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


def _options(product: Product, count: int, draws: Draws) -> dict[str, str]:
    groups = draws.sample(sorted(product.options), count)
    return {group: draws.choice(product.options[group]) for group in groups}


def _finding(catalogue: Catalogue, index: int, product: Product) -> str | None:
    """Return the shortest beginning of the title, of four words or more, that finds it."""
    words = product.title.lower().split()
    for length in range(4, len(words) + 1):
        query = " ".join(words[:length])
        if index in catalogue.search(query, SHOWN):
            return query
    return None
