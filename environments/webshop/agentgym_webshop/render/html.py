"""WebShop's observation mode `html`, with the same tags, ids and classes where text stands.

What upstream's parser finds in it (text, buttons, links, radio buttons) it finds here. It holds
no address outside the shop and nothing that is not shown.
"""

from collections.abc import Iterator
from html import escape

from agentgym_webshop.elements import Element
from agentgym_webshop.products import Product
from agentgym_webshop.render.nodes import rating_words
from agentgym_webshop.shop import View

_HEAD = """<!DOCTYPE html>
<html>
<head><title>WebShop</title></head>
<body>
<div class="container">
"""
_TAIL = "</div>\n</body>\n</html>\n"


def to_html(view: View, instruction: str) -> str:
    """Return the page as HTML."""
    page = view.session.page
    if page == "done":
        return f'{_HEAD}<div id="thankyou"><h1>Thank you for shopping with us!</h1></div>\n{_TAIL}'
    if page == "search":
        return "".join((_HEAD, *_search(instruction), _TAIL))
    words = f'<div id="instruction-text"><h4>Instruction:<br>{escape(instruction)}</h4></div>\n'
    body = _results(view) if page == "results" else _about(view)
    return "".join((_HEAD, words, *body, _TAIL))


def _search(instruction: str) -> Iterator[str]:
    yield '<div id="logo"><h2>WebShop</h2></div>\n'
    yield f'<div id="instruction-text"><h4>Instruction: <br>{escape(instruction)}</h4></div>\n'
    yield '<form id="form-buscar" method="post">\n'
    yield '<input id="search_input" type="text" name="search_query" placeholder="Search..."'
    yield ' required>\n<button class="btn btn-success" type="submit">Search</button>\n</form>\n'


def _results(view: View) -> Iterator[str]:
    yield _button(view.elements[0])
    yield f"<h3>Page {view.session.number} (Total results: {view.total})</h3>\n"
    for element in view.elements:
        if element.kind in ("prev", "next"):
            yield _button(element)
    for product in view.listing:
        asin = escape(product.asin)
        yield '<div class="list-group-item searched-product">\n'
        yield f'<h4 class="product-asin"><a class="product-link" href="#{asin}">{asin}</a></h4>\n'
        yield f'<h4 class="product-title">{escape(product.title)}</h4>\n'
        yield f'<h5 class="product-price">{product.price_tag}</h5>\n</div>\n'


def _about(view: View) -> Iterator[str]:
    product = view.product
    if product is None:
        return
    for element in view.elements[:2]:
        yield _button(element)
    if view.session.page != "item":
        yield from _sub_page(view.session.page, product)
        return
    yield from _options(view.of_kind("option"))
    yield f"<h2>{escape(product.title)}</h2>\n<h4>Price: {product.price_tag}</h4>\n"
    yield f"<h4>Rating: {rating_words(product)}</h4>\n"
    for element in view.elements:
        if element.kind in ("sub_page", "buy"):
            yield _button(element)


def _options(elements: list[Element]) -> Iterator[str]:
    group: str | None = None
    for element in elements:
        if element.group != group:
            if group is not None:
                yield "</div>\n"
            group = element.group
            yield f'<h4>{escape(str(group))}</h4>\n<div class="radio-toolbar">\n'
        name = escape(element.name)
        checked = " checked" if element.chosen else ""
        yield (
            f'<input type="radio" id="{element.id}" name="{escape(str(group))}" value="{name}"'
            f'{checked}>\n<label for="{element.id}">{name}</label>\n'
        )
    if group is not None:
        yield "</div>\n"


def _sub_page(page: str, product: Product) -> Iterator[str]:
    match page:
        case "description":
            yield f'<p class="product-info">{escape(product.description)}</p>\n'
        case "features":
            items = (
                f'<li><p class="product-info"> {escape(b)}</p></li>\n' for b in product.bullets
            )
            yield from ("<ul>\n", *items, "</ul>\n")
        case "reviews":
            for review in product.reviews:
                yield f'<div class="card">\n<h4>"{escape(review.title)}"</h4>\n'
                yield f"<p><span>{review.score:g}</span></p>\n"
                yield f'<p class="content">{escape(review.body)}</p>\n</div>\n'
        case _:
            items = (
                f'<li><p class="attribute"> {escape(a)}</p></li>\n' for a in product.attributes
            )
            yield from ("<ul>\n", *items, "</ul>\n")
            department = escape(product.category.partition("›")[0].strip())
            yield f'<h5 class="product-category">{department}</h5>\n'
            yield f'<h5 class="product-query">{escape(product.query)}</h5>\n'
            yield f'<h5 class="product-product_category">{escape(product.category)}</h5>\n'


def _button(element: Element) -> str:
    style = "purchase" if element.kind == "buy" else "btn-primary"
    return (
        f'<button class="btn {style}" type="submit" id="{element.id}">{escape(element.name)}'
        "</button>\n"
    )
