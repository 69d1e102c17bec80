"""Pages as Markdown, what language models read best: what can be clicked is in brackets."""

from collections.abc import Iterator

from agentgym_webshop.elements import Element
from agentgym_webshop.products import Product
from agentgym_webshop.render.money import money, stars
from agentgym_webshop.shop import View


def to_markdown(view: View, instruction: str) -> str:
    """Return the page as Markdown."""
    return "\n".join([f"Instruction: {instruction}", "", *_lines(view)])


def _lines(view: View) -> Iterator[str]:
    match view.session.page:
        case "search":
            yield "# Search"
            yield ""
            yield "Search the shop for products."
        case "results":
            yield from _results(view)
        case "done":
            yield "# Thank you for shopping with us!"
        case _ if view.product is not None:
            yield from _about(view, view.product)


def _results(view: View) -> Iterator[str]:
    session = view.session
    yield f'# Results for "{session.query}"'
    yield ""
    if not view.listing:
        yield "No product was found."
    else:
        products = "1 product" if view.total == 1 else f"{view.total} products"
        yield f"Page {session.number} of {view.pages}, {products}."
        yield ""
    for product in view.listing:
        yield f"- [{product.asin}] {product.title} ({money(product)})"
    yield ""
    yield _brackets(element for element in view.elements if element.kind != "product")


def _about(view: View, product: Product) -> Iterator[str]:
    page = view.session.page
    title = f"# {product.title}" if page == "item" else f"# {page.capitalize()}: {product.title}"
    yield title
    yield ""
    if page == "item":
        yield from _item(view, product)
    else:
        yield from _sub_page(page, product)
    yield ""
    yield _brackets(element for element in view.elements if element.kind != "option")


def _item(view: View, product: Product) -> Iterator[str]:
    yield f"Price: {money(product)}"
    yield f"Rating: {stars(product)}"
    options: dict[str, list[str]] = {}
    for element in view.of_kind("option"):
        shown = f"[{element.name}] (chosen)" if element.chosen else f"[{element.name}]"
        options.setdefault(str(element.group), []).append(shown)
    if options:
        yield ""
        yield "Options:"
    for group, shown_values in options.items():
        yield f"- {group}: {' '.join(shown_values)}"


def _sub_page(page: str, product: Product) -> Iterator[str]:
    match page:
        case "description":
            yield product.description or "There is no description."
        case "features":
            yield from (f"- {bullet}" for bullet in product.bullets)
        case "reviews":
            if not product.reviews:
                yield "There are no reviews."
            for review in product.reviews:
                yield f"- {review.score:g} of 5: {review.title}. {review.body}"
        case _:
            yield from (f"- {attribute}" for attribute in product.attributes)
            yield ""
            yield f"Category: {product.category}"
            yield f"Listed under: {product.query}"


def _brackets(elements: Iterator[Element]) -> str:
    return " ".join(f"[{element.name}]" for element in elements)
