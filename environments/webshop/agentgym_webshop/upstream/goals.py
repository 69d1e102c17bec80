"""The original's goals and splits, the same in every process.

The original draws prices and limits before it sets its seed, so that its goals differ from
process to process; here they are drawn from generators of their own, with the same seed. The
order of goals is the original's shuffle, so positions and splits agree with it.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.errors import TaskSetError
from agentgym.types import Task
from agentgym_webshop.limits import NO_LIMIT, price_limit
from agentgym_webshop.products import Product
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic
from agentgym_webshop.upstream.cleaning import strings

SEED = 233

_SPLITS = ((500, "test"), (1_500, "validation"))
"""Where each split ends; "validation" is the original's "eval". All that follow are "train"."""


class UpstreamGoal(NamedTuple):
    """One goal, before its place in the order is known."""

    product: Product
    instruction: str
    attributes: tuple[str, ...]
    options: dict[str, str] | tuple[str, ...]
    price_upper: float


def human_goals(
    products: Iterable[Product], instructions: Mapping[str, Any], limits: random.Random
) -> Iterator[UpstreamGoal]:
    """Make the goals that people wrote; those without attributes are left out.

    Args:
        products: In the order of the original's file.
        instructions: The content of `items_human_ins.json`.
        limits: Draws the price limits.

    Raises:
        TaskSetError: An instruction lacks a field or has one of another type.
    """
    for product in products:
        try:
            wishes = [_wish(entry) for entry in instructions.get(product.asin, ())]
        except (KeyError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise TaskSetError(
                f"items_human_ins.json: {product.asin}: not a list of instructions ({what})."
            ) from error
        for text, attributes, options in wishes:
            if attributes:
                limit = price_limit(product.price, limits.sample)
                yield UpstreamGoal(product, text + _limit_text(limit), attributes, options, limit)


def _wish(
    entry: Mapping[str, Any],
) -> tuple[str, tuple[str, ...], dict[str, str] | tuple[str, ...]]:
    """Return the words, attributes and options of one instruction."""
    options = entry["instruction_options"]
    wanted = (
        {name: str(value) for name, value in options.items()}
        if isinstance(options, dict)
        else strings(options)
    )
    return entry["instruction"].strip("."), strings(entry["instruction_attributes"]), wanted


def synthetic_goals(
    products: Iterable[Product], attributes: Mapping[str, Any], limits: random.Random
) -> Iterator[UpstreamGoal]:
    """Make a goal of every combination of a product's options, for products with an instruction.

    Args:
        products: In the order of the original's file.
        attributes: The content of `items_ins_v2*.json`.
        limits: Draws the price limits, one for a product.

    Raises:
        TaskSetError: A product's attributes are no list of strings.
    """
    for product in products:
        entry = attributes.get(product.asin, {})
        text = entry.get("instruction")
        try:
            wanted = strings(entry.get("instruction_attributes") or [])
        except TypeError as error:
            raise TaskSetError(f"items_ins_v2.json: {product.asin}: {error}.") from error
        if not isinstance(text, str) or not wanted:
            continue
        limit = price_limit(product.price, limits.sample)
        groups = sorted(product.options)
        for values in itertools.product(*(product.options[group] for group in groups)):
            options = dict(zip(groups, values, strict=True))
            shown = ", and ".join(f"{group}: {value}" for group, value in options.items())
            said = text + (f" with {shown}" if shown else "") + _limit_text(limit)
            yield UpstreamGoal(product, said, wanted, options, limit)


def ordered_tasks(
    goals: Iterable[UpstreamGoal], catalogue: Path, digest: str, products: int
) -> Iterator[Task[WebShopPublic, WebShopPrivate]]:
    """Put goals into the original's order and splits; a task's id is its place in that order.

    Args:
        goals: In the order of the products' file.
        catalogue: Folder of the built catalogue.
        digest: Its content hash.
        products: How many it has.
    """
    order = list(goals)
    counts = Counter(attribute for goal in order for attribute in goal.attributes)
    random.Random(SEED).shuffle(order)
    for place, goal in enumerate(order):
        rarity = sum(1 / counts[name] for name in goal.attributes) / len(goal.attributes)
        product = goal.product
        yield Task[WebShopPublic, WebShopPrivate](
            id=f"{place:05}",
            split=next((name for end, name in _SPLITS if place < end), "train"),
            public=WebShopPublic(instruction=goal.instruction, products=products),
            private=WebShopPrivate(
                asin=product.asin,
                title=product.title,
                query=product.query,
                category=product.category,
                nouns=product.nouns,
                attributes=goal.attributes,
                options=goal.options,
                price_upper=goal.price_upper,
                catalogue=catalogue,
                catalogue_digest=digest,
            ),
            tags={"weight": f"{rarity:.6g}"} if isinstance(goal.options, dict) else {},
        )


def _limit_text(limit: float) -> str:
    return "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
