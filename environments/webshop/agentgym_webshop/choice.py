"""The best options of a product for a goal: what oracles choose."""

from collections.abc import Sequence

from agentgym_webshop.products import Product
from agentgym_webshop.reward import asked_options, options_met
from agentgym_webshop.tasks import WebShopPrivate


def best_options(product: Product, goal: WebShopPrivate) -> tuple[tuple[str, str], ...]:
    """Return (group, value) pairs that meet as many of the options asked for as can be.

    Groups that a goal names are taken by its values where the product has them. Of equal choices
    the first in the page's order is taken; a group that adds nothing is left out.
    """
    asked = asked_options(goal)
    if isinstance(goal.options, dict):
        exact = {
            group: value
            for group, value in goal.options.items()
            if value in product.options.get(group, ())
        }
        if len(exact) == len(goal.options):
            return tuple((group, exact[group]) for group in product.options if group in exact)
    best: dict[frozenset[int], tuple[tuple[str, str], ...]] = {frozenset(): ()}
    for group, values in product.options.items():
        for met, value in _distinct(values, asked).items():
            for known, choice in list(best.items()):
                if all(chosen != group for chosen, _ in choice):
                    best.setdefault(known | met, (*choice, (group, value)))
    return max(best.items(), key=lambda item: len(item[0]))[1]


def _distinct(values: Sequence[str], asked: Sequence[str]) -> dict[frozenset[int], str]:
    """Return the first value for each set of options that a value meets."""
    found: dict[frozenset[int], str] = {}
    for value in values:
        met = options_met([value], asked)
        if met:
            found.setdefault(met, value)
    return found
