"""The shop's rules: which page follows which, as in WebShop (Yao et al., 2022, arXiv:2207.01206).

Searching shows the best 50 products on pages of 10; a product's page has its options, three
pages of more about it and the button that buys it.
"""

from dataclasses import dataclass, replace

from agentgym.errors import ToolError
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.elements import Element, button, named
from agentgym_webshop.products import Product
from agentgym_webshop.session import SUB_PAGES, PageName, Session

HITS = 50
ON_A_PAGE = 10
LONGEST_QUERY = 1000
"""Characters."""

BACK = button("back", "Back to Search")
PREV = button("prev", "< Prev")
NEXT = button("next", "Next >")
BUY = button("buy", "Buy Now")
_SUB_BUTTONS = {page: button("sub_page", label) for page, label in SUB_PAGES.items()}
_SUB_OF: dict[str, PageName] = {element.id: page for page, element in _SUB_BUTTONS.items()}


@dataclass(frozen=True, slots=True)
class View:
    """What a page has on it.

    Attributes:
        session: Whose page it is.
        elements: What can be clicked, in the page's order.
        listing: The products of a page of results.
        product: The product of every page about one.
    """

    session: Session
    elements: tuple[Element, ...] = ()
    listing: tuple[Product, ...] = ()
    product: Product | None = None

    @property
    def total(self) -> int:
        """Products found."""
        return len(self.session.hits)

    @property
    def pages(self) -> int:
        """Pages of results; 1 where nothing was found."""
        return pages_of(self.session)

    def of_kind(self, kind: str) -> list[Element]:
        """Return the elements of one kind."""
        return [element for element in self.elements if element.kind == kind]


def pages_of(session: Session) -> int:
    """Return how many pages of results there are; 1 where nothing was found."""
    return max(1, -(-len(session.hits) // ON_A_PAGE))


class Shop:
    """Serves any number of sessions at once; it keeps none.

    Args:
        catalogue: What it sells.
        show_attributes: Whether a product's page leads to the list of its attributes, the words
            it is graded by.
    """

    def __init__(self, catalogue: Catalogue, *, show_attributes: bool = False) -> None:
        self.catalogue = catalogue
        self._sub_pages = [
            element
            for page, element in _SUB_BUTTONS.items()
            if show_attributes or page != "attributes"
        ]

    def search(self, session: Session, query: str) -> Session:
        """Return the first page of results.

        Raises:
            ToolError: This page has no search bar, or the query is empty or too long.
        """
        if session.page != "search":
            remedy = f" Click {BACK.label!r} first." if session.page != "done" else ""
            raise ToolError(f"There is no search bar on this page.{remedy}")
        words = " ".join(query.lower().split())
        if len(words) > LONGEST_QUERY:  # lower case may be longer, and is searched for again
            raise ToolError(
                f"The query has {len(words):,} characters; {LONGEST_QUERY:,} are the most."
            )
        if not words:
            raise ToolError("The query is empty. Say what to look for.")
        hits = tuple(self.catalogue.search(words, HITS))
        return Session(page="results", query=words, hits=hits)

    def click(self, session: Session, element: Element) -> Session:
        """Return the session after a click.

        Args:
            session: Where the customer is.
            element: One of the elements of that page.
        """
        match element.kind:
            case "back":
                return Session()
            case "next":
                return replace(session, number=session.number + 1)
            case "prev":
                return _before(session)
            case "product":
                return _opened(session, element)
            case "option":
                return replace(session, options=self._options(session, element))
            case "sub_page":
                return replace(session, page=_SUB_OF[element.id])
            case "buy":
                return replace(session, page="done")

    def view(self, session: Session) -> View:
        """Return what the session's page has on it."""
        if session.page in ("search", "done"):
            return View(session, product=self._product(session))
        if session.page == "results":
            return self._results(session)
        product = self._product(session)
        assert product is not None  # noqa: S101 - every page but these three is about a product
        if session.page != "item":
            return View(session, (BACK, PREV), product=product)
        options = _option_elements(product, session)
        return View(session, named([BACK, PREV, *options, *self._sub_pages, BUY]), product=product)

    def _product(self, session: Session) -> Product | None:
        return None if session.product is None else self.catalogue.product(session.product)

    def _results(self, session: Session) -> View:
        first = (session.number - 1) * ON_A_PAGE
        places = session.hits[first : first + ON_A_PAGE]
        listing = tuple(self.catalogue.product(place) for place in places)
        turns = [PREV] if session.number > 1 else []
        turns += [NEXT] if session.number < pages_of(session) else []
        products = [
            Element(
                f"product-{product.asin}",
                "product",
                product.asin,
                product.asin,
                place=place,
                chosen=place in session.viewed,
            )
            for place, product in zip(places, listing, strict=True)
        ]
        return View(session, (BACK, *turns, *products), listing=listing)

    def _options(self, session: Session, element: Element) -> tuple[tuple[str, str], ...]:
        """Return the choices in the order of the groups, whatever the order of the clicks."""
        product = self._product(session)
        chosen = {**session.chosen, str(element.group): element.label}
        groups = product.options if product else ()
        return tuple((group, chosen[group]) for group in groups if group in chosen)


def _before(session: Session) -> Session:
    """Return where `< Prev` leads: from a sub-page to the item, the results, the page before."""
    if session.page == "results":
        return replace(session, number=session.number - 1)
    if session.page == "item":
        return replace(session, page="results", product=None, options=())
    return replace(session, page="item")


def _opened(session: Session, element: Element) -> Session:
    place = element.place
    assert place is not None  # noqa: S101 - products always have one
    viewed = session.viewed if place in session.viewed else (*session.viewed, place)
    return replace(session, page="item", product=place, viewed=viewed)


def _option_elements(product: Product, session: Session) -> list[Element]:
    chosen = session.chosen
    return [
        Element(
            f"option-{number}-{index}",
            "option",
            value,
            value,
            group=group,
            chosen=chosen.get(group) == value,
        )
        for number, (group, values) in enumerate(product.options.items())
        for index, value in enumerate(dict.fromkeys(values))
    ]
