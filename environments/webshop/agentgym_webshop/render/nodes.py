"""The runs of text on a page, in its order: what is left of WebShop's HTML without the tags."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from agentgym_webshop.elements import Element
from agentgym_webshop.products import Product
from agentgym_webshop.shop import View

NodeKind = Literal["words", "button", "option", "product"]


class Node(NamedTuple):
    """A run of text.

    Attributes:
        kind: What it stands on.
        text: The words, with the blanks that WebShop's pages have around them.
        chosen: Whether it is an option chosen or a product looked at before.
    """

    kind: NodeKind
    text: str
    chosen: bool = False


def nodes(view: View, instruction: str) -> Iterator[Node]:
    """Yield the page's text; what is only blanks is left out, as a parser of HTML does.

    Args:
        view: The page.
        instruction: What the customer was asked to buy.
    """
    for node in _nodes(view, instruction):
        if node.text.strip():
            yield node


def rating_words(product: Product) -> str:
    """Return a rating as WebShop writes it."""
    return "N.A." if product.rating is None else f"{product.rating:g}"


def _nodes(view: View, instruction: str) -> Iterator[Node]:
    page = view.session.page
    if page == "done":
        yield Node("words", "Thank you for shopping with us!")
        return
    if page == "search":
        yield Node("words", "WebShop")
        yield Node("words", "Instruction: ")
        yield Node("words", instruction)
        yield Node("button", "Search")
        return
    yield Node("words", "Instruction:")
    yield Node("words", instruction)
    if page == "results":
        yield from _results(view)
    elif view.product is not None:
        buttons, *rest = _split(view.elements)
        yield from map(_node, buttons)
        if page == "item":
            yield from _item(view, view.product, *rest)
        else:
            yield from _sub_page(page, view.product)


def _split(elements: tuple[Element, ...]) -> tuple[list[Element], list[Element], list[Element]]:
    """Return the elements before, among and after the options."""
    first = [element for element in elements if element.kind in ("back", "prev")]
    options = [element for element in elements if element.kind == "option"]
    return first, options, list(elements[len(first) + len(options) :])


def _node(element: Element) -> Node:
    match element.kind:
        case "option" | "product":
            return Node(element.kind, element.name, element.chosen)
        case _:
            return Node("button", element.name)


def _results(view: View) -> Iterator[Node]:
    turns = [element for element in view.elements if element.kind in ("prev", "next")]
    yield _node(view.elements[0])
    yield Node("words", f"Page {view.session.number} (Total results: {view.total})")
    yield from map(_node, turns)
    for element, product in zip(view.of_kind("product"), view.listing, strict=True):
        yield _node(element)
        yield Node("words", product.title)
        yield Node("words", product.price_tag)


def _item(
    view: View, product: Product, options: list[Element], rest: list[Element]
) -> Iterator[Node]:
    group: str | None = None
    for element in options:
        if element.group != group:
            group = element.group
            yield Node("words", str(group))
        yield _node(element)
    yield Node("words", product.title)
    yield Node("words", f"Price: {product.price_tag}")
    yield Node("words", f"Rating: {rating_words(product)}")
    yield from map(_node, rest)


def _sub_page(page: str, product: Product) -> Iterator[Node]:
    match page:
        case "description":
            yield Node("words", product.description)
        case "features":
            yield from (Node("words", f" {bullet}") for bullet in product.bullets)
        case "reviews":
            for review in product.reviews:
                yield Node("words", f'"{review.title}"')
                yield Node("words", f"{review.score:g}")
                yield Node("words", review.body)
        case _:
            yield from (Node("words", f" {attribute}") for attribute in product.attributes)
            yield Node("words", product.category.partition("›")[0].strip())
            yield Node("words", product.query)
            yield Node("words", product.category)
