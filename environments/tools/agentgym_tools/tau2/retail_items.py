"""Changing an order's items for others of the same products."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agentgym.errors import ToolError
from agentgym_tools.frozen import thaw
from agentgym_tools.state import Record


class ItemChange(NamedTuple):
    """What new items come to.

    Attributes:
        variants: The new items, in the order they were asked for.
        difference: What they cost more than the old ones, in dollars, not rounded; less where
            negative.
    """

    variants: list[Record]
    difference: float


def check_items(order: Record, item_ids: Sequence[str], missing: str) -> None:
    """Hold that an order has the items, each as often as it is named.

    Args:
        order: The order.
        item_ids: The items.
        missing: The answer where it has not, with `{}` for the item's id.

    Raises:
        ToolError: It has not.
    """
    present = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > present.count(item_id):
            raise ToolError(missing.format(item_id))


def exchange_for(
    order: Record,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    find_variant: Callable[[str, str], Record],
) -> ItemChange:
    """Look up the new items, each of the product of the item in its place.

    Raises:
        ToolError: One is of another product, or not available.
    """
    variants: list[Record] = []
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _first(order["items"], item_id)
        variant = find_variant(item["product_id"], new_item_id)
        if not variant["available"]:
            raise ToolError(f"New item {new_item_id} not found or available")
        variants.append(variant)
        difference += variant["price"] - item["price"]
    return ItemChange(variants, difference)


def modify_for(order: dict[str, Any], item_ids: Sequence[str], change: ItemChange) -> None:
    """Put new items in the places of an order's old ones, as the benchmark does.

    Every changed item gets the id of its own new item, but the price and the options of the
    last one. That is a fault of the benchmark's, which its gold states are made of.

    Raises:
        ToolError: An item is no more in the order, as one before it took its id.
    """
    for item_id, variant in zip(item_ids, change.variants, strict=True):
        item = _first(order["items"], item_id)
        item["item_id"] = variant["item_id"]
        item["price"] = change.variants[-1]["price"]
        item["options"] = thaw(change.variants[-1]["options"])


def _first(items: Sequence[Any], item_id: str) -> Any:
    for item in items:
        if item["item_id"] == item_id:
            return item
    raise ToolError(f"Item {item_id} not found")
