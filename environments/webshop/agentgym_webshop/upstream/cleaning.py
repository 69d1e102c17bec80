"""The original's clean-up: its products as ours, by the rules its shop applies on loading."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentgym.errors import TaskSetError
from agentgym_webshop.products import Product
from agentgym_webshop.tagging import Tagger

USUAL_PRICE = 100.0
"""Dollars of a product without a price."""

LONGEST_ID = 10

NO_ATTRIBUTES = ("DUMMY_ATTR",)


def clean_products(
    raw: Iterable[Mapping[str, Any]],
    attributes: Mapping[str, Any],
    prices: random.Random,
    tagger: Tagger,
) -> Iterator[Product]:
    """Make products of the original's, leaving out what it leaves out.

    That is ids of "nan", ids of more than ten characters, and every id but its first product.

    Args:
        raw: The elements of `items_shuffle*.json`, in order.
        attributes: The content of `items_ins_v2*.json`.
        prices: Draws what a product costs whose price is a range.
        tagger: Finds the nouns of the titles.

    Raises:
        TaskSetError: A product lacks a field or has one of another type.
    """
    seen: set[str] = set()
    for number, data in enumerate(raw):
        try:
            asin = str(data["asin"])
            if asin == "nan" or len(asin) > LONGEST_ID or asin in seen:
                continue
            seen.add(asin)
            yield _product(asin, data, attributes.get(asin, {}), prices, tagger)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            what = f"{type(error).__name__}: {error}"
            raise TaskSetError(
                f"Product {number} is not as in WebShop's files ({what})."
            ) from error


def strings(values: Sequence[Any]) -> tuple[str, ...]:
    """Return a list of strings as a tuple.

    Raises:
        TypeError: It is another thing, or one of its elements is.
    """
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r:.80} is not a list of strings")
    return tuple(values)


def _product(
    asin: str,
    data: Mapping[str, Any],
    attributes: Mapping[str, Any],
    prices: random.Random,
    tagger: Tagger,
) -> Product:
    features = data["small_description"]
    low, high = _shown_prices(data.get("pricing"))
    images = data.get("images") or [""]
    return Product(
        asin=asin,
        title=data["name"],
        category=data["product_category"],
        query=data["query"].lower().strip(),
        description=data["full_description"] or "",
        bullets=strings(features if isinstance(features, list) else [features or ""]),
        options=_options(data.get("customization_options")),
        attributes=strings(attributes.get("attributes", NO_ATTRIBUTES)),
        price=low if high is None else prices.uniform(low, high),
        price_low=low,
        price_high=high,
        rating=None,
        reviews=(),
        main_image=images[0] or "",
        nouns=tagger.nouns(data["name"]),
    )


def _shown_prices(text: str | None) -> tuple[float, float | None]:
    """Read prices such as "$5.99" and "$5.99$7.99"; of more than two the first two count."""
    parts = [re.sub(r"[^\d.]", "", part) for part in (text or "").split("$")[1:]]
    values = [float(part) for part in parts]
    if not values:
        return USUAL_PRICE, None
    return values[0], values[1] if len(values) > 1 else None


def _options(groups: Mapping[str, Any] | None) -> dict[str, tuple[str, ...]]:
    return {
        name.lower(): tuple(
            [content["value"].strip().replace("/", " | ").lower() for content in contents]
        )
        for name, contents in (groups or {}).items()
        if contents is not None
    }
