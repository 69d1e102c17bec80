"""Pages as addresses: an address holds its page's whole state, so that going back works."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias
from urllib.parse import quote, urlencode

from agentgym_webshop.session import SUB_PAGES, Session
from agentgym_webshop.shop import Shop, pages_of

Fields: TypeAlias = list[tuple[str, str]]
"""Names and values of an address's query, in order."""

_MOST_OPTIONS = 100


class NoSuchPageError(Exception):
    """The shop has no page of this address."""


def address(shop: Shop, session: Session) -> str:
    """Return the address of a session's page."""
    if session.page == "search":
        return "/"
    if session.page == "done":
        return "/done"
    return f"{path(shop, session)}?{urlencode(fields(shop, session))}"


def path(shop: Shop, session: Session) -> str:
    """Return the path of a page of results, or of a page about a product."""
    if session.product is None:
        return "/results"
    asin = quote(shop.catalogue.product(session.product).asin, safe="")
    return f"/item/{asin}" if session.page == "item" else f"/item/{asin}/{session.page}"


def fields(shop: Shop, session: Session) -> Fields:
    """Return the query, the page of results and the places of the chosen options."""
    found = [("q", session.query), ("page", str(session.number))]
    if session.product is not None:
        options = shop.catalogue.product(session.product).options
        groups = list(options)
        for group, value in session.options:
            index = list(dict.fromkeys(options[group])).index(value)
            found.append(("option", f"{groups.index(group)}-{index}"))
    return found


def results(shop: Shop, query: str, number: str) -> Session:
    """Return the session at a page of results.

    Raises:
        ToolError: The query is empty or too long.
        NoSuchPageError: There is no page of this number.
    """
    found = shop.search(Session(), query)
    if number not in map(str, range(1, pages_of(found) + 1)):
        raise NoSuchPageError
    return replace(found, number=int(number))


def item(
    shop: Shop, listed: Session, asin: str, options: Sequence[str], sub_page: str | None = None
) -> Session:
    """Return the session at a page about a product, by the clicks that lead there.

    Args:
        shop: The shop.
        listed: A page of results.
        asin: A product on it.
        options: The places of the chosen options, as `fields` has them.
        sub_page: A sub-page of the product's.

    Raises:
        NoSuchPageError: No clicks lead there.
    """
    if sub_page is not None and sub_page not in SUB_PAGES:
        raise NoSuchPageError
    chosen = [f"option-{place}" for place in options[:_MOST_OPTIONS]]
    clicks = [f"product-{asin}", *chosen, *([sub_page] if sub_page else [])]
    return _clicked(shop, listed, clicks)


def bought(shop: Shop, session: Session) -> Session:
    """Return the session after buying what a product's page shows."""
    return _clicked(shop, session, ["buy-now"])


def _clicked(shop: Shop, session: Session, ids: Iterable[str]) -> Session:
    for wanted in ids:
        elements = {element.id: element for element in shop.view(session).elements}
        if wanted not in elements:
            raise NoSuchPageError
        session = shop.click(session, elements[wanted])
    return session
