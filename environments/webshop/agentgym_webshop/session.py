"""Where a customer is in the shop: one small immutable value, which is the whole state."""

from dataclasses import dataclass
from typing import Literal

PageName = Literal[
    "search", "results", "item", "description", "features", "reviews", "attributes", "done"
]

SUB_PAGES: dict[PageName, str] = {
    "description": "Description",
    "features": "Features",
    "reviews": "Reviews",
    "attributes": "Attributes",
}
"""The pages behind an item's page, by the words on their buttons."""


@dataclass(frozen=True, slots=True)
class Session:
    """A customer's place in the shop.

    Attributes:
        page: The page shown; `done` after buying.
        query: The search words, lower-cased; empty before a search.
        hits: Places of the found products in the catalogue, best first; they follow from the
            query and are kept so that nothing is searched twice.
        number: The page of results, from 1.
        product: The place of the product looked at or bought.
        options: The chosen value of each option group that has one, in the order of the groups.
        viewed: Places of the products looked at since the search page, in order.
    """

    page: PageName = "search"
    query: str = ""
    hits: tuple[int, ...] = ()
    number: int = 1
    product: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    viewed: tuple[int, ...] = ()

    @property
    def chosen(self) -> dict[str, str]:
        """The chosen value by option group."""
        return dict(self.options)
