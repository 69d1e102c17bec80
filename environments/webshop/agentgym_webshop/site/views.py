"""What the templates are filled with."""

from typing import Any

from agentgym_webshop.elements import Element
from agentgym_webshop.render.money import money, stars
from agentgym_webshop.session import SUB_PAGES, Session
from agentgym_webshop.shop import LONGEST_QUERY, Shop, View
from agentgym_webshop.site.addresses import address, fields, path


def page_of(shop: Shop, session: Session) -> tuple[str, dict[str, Any]]:
    """Return the name of a page's template and its values; the instruction is not among them."""
    view = shop.view(session)
    match session.page:
        case "search":
            return "search.html", {"longest": LONGEST_QUERY}
        case "done":
            return "done.html", {}
        case "results":
            return "results.html", {"view": view, **_links(shop, view), **_products(shop, view)}
        case "item":
            return "item.html", {**_about(view), **_links(shop, view), **_choices(shop, view)}
        case sub_page:
            title = SUB_PAGES[sub_page]
            return "sub_page.html", {"title": title, **_about(view), **_links(shop, view)}


def _links(shop: Shop, view: View) -> dict[str, Any]:
    """Return the buttons that are links, by where they stand."""
    links: dict[str, list[tuple[str, str]]] = {"navigation": [], "sub_pages": []}
    for element in view.elements:
        if element.kind in ("back", "prev", "next", "sub_page"):
            place = "sub_pages" if element.kind == "sub_page" else "navigation"
            links[place].append((element.label, _leads_to(shop, view, element)))
    return links


def _products(shop: Shop, view: View) -> dict[str, Any]:
    products = [
        (product, money(product), _leads_to(shop, view, element))
        for element, product in zip(view.of_kind("product"), view.listing, strict=True)
    ]
    return {"products": products}


def _about(view: View) -> dict[str, Any]:
    product = view.product
    assert product is not None  # noqa: S101 - only for pages about a product
    return {
        "product": product,
        "page": view.session.page,
        "price": money(product),
        "rating": stars(product),
    }


def _choices(shop: Shop, view: View) -> dict[str, Any]:
    """Return the option groups: name, fields that keep all else as it is, and the values."""
    session = view.session
    groups: dict[str, list[tuple[str, str, bool]]] = {}
    for element in view.of_kind("option"):
        value = (element.id.removeprefix("option-"), element.label, element.chosen)
        groups.setdefault(str(element.group), []).append(value)
    kept = fields(shop, session)
    choices = []
    for group, values in groups.items():
        own = {value for value, _, _ in values}
        others = [field for field in kept if field[0] != "option" or field[1] not in own]
        choices.append((group, others, values))
    here = path(shop, session)
    buying = address(shop, session).replace("/item/", "/buy/", 1)
    return {"choices": choices, "here": here, "buying": buying}


def _leads_to(shop: Shop, view: View, element: Element) -> str:
    return address(shop, shop.click(view.session, element))
