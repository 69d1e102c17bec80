"""Which page follows which."""

import pytest

from agentgym.errors import ToolError
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.elements import find
from agentgym_webshop.session import Session
from agentgym_webshop.shop import LONGEST_QUERY, Shop


@pytest.fixture
def shop(dresses: Catalogue) -> Shop:
    return Shop(dresses)


def go(shop: Shop, session: Session, *names: str) -> Session:
    for name in names:
        session = shop.click(session, find(shop.view(session).elements, name))
    return session


def names(shop: Shop, session: Session) -> list[str]:
    return [element.name for element in shop.view(session).elements]


def asins(shop: Shop, session: Session) -> list[str]:
    return [product.asin for product in shop.view(session).listing]


def opened(shop: Shop, asin: str, query: str = "") -> Session:
    number = int(asin[1:])
    return go(shop, shop.search(Session(), query or f"dress {number}"), asin)


def test_searching_shows_ten_of_fifty(shop: Shop) -> None:
    found = shop.search(Session(), "  Summer   DRESS ")
    assert (found.page, found.query, found.number) == ("results", "summer dress", 1)
    assert len(found.hits) == 50
    assert len(asins(shop, found)) == 10
    assert names(shop, found) == ["Back to Search", "Next >", *asins(shop, found)]


def test_pages_turn_from_the_first_to_the_last(shop: Shop) -> None:
    session = shop.search(Session(), "summer dress")
    seen = asins(shop, session)
    for number in range(2, 6):
        session = go(shop, session, "Next >")
        assert session.number == number
        assert "< Prev" in names(shop, session)
        seen += asins(shop, session)
    assert len(set(seen)) == 50
    assert "Next >" not in names(shop, session)
    assert go(shop, session, "< Prev").number == 4


def test_nothing_found_is_a_page_too(shop: Shop) -> None:
    empty = shop.search(Session(), "xyzzy")
    assert names(shop, empty) == ["Back to Search"]
    assert shop.view(empty).pages == 1
    assert go(shop, empty, "Back to Search") == Session()


def test_a_product_leads_to_options_pages_and_buying(shop: Shop) -> None:
    item = opened(shop, "B000000001")
    assert names(shop, item) == [
        "Back to Search", "< Prev", "navy blue", "red", "small", "large",
        "Description", "Features", "Reviews", "Buy Now",
    ]  # fmt: skip
    assert shop.view(item).product == shop.catalogue.product(0)


def test_the_last_choice_of_a_group_counts(shop: Shop) -> None:
    item = go(shop, opened(shop, "B000000001"), "large", "red", "navy blue")
    assert item.options == (("color", "navy blue"), ("size", "large"))
    assert [e.name for e in shop.view(item).elements if e.chosen] == ["navy blue", "large"]


@pytest.mark.parametrize("page", ["Description", "Features", "Reviews"])
def test_a_sub_page_leads_back_to_the_same_choices(shop: Shop, page: str) -> None:
    item = go(shop, opened(shop, "B000000001"), "large")
    sub_page = go(shop, item, page)
    assert sub_page.page == page.lower()
    assert names(shop, sub_page) == ["Back to Search", "< Prev"]
    assert go(shop, sub_page, "< Prev") == item


def test_attributes_are_shown_only_where_asked_for(dresses: Catalogue) -> None:
    shop = Shop(dresses, show_attributes=True)
    item = opened(shop, "B000000001")
    assert names(shop, item)[-2:] == ["Attributes", "Buy Now"]
    assert go(shop, item, "Attributes").page == "attributes"


def test_back_to_the_results_forgets_the_choices(shop: Shop) -> None:
    results = go(shop, shop.search(Session(), "summer dress"), "Next >")
    item = go(shop, results, asins(shop, results)[0], "large")
    back = go(shop, item, "< Prev")
    assert (back.page, back.number, back.options, back.product) == ("results", 2, (), None)
    assert go(shop, back, asins(shop, results)[0]).options == ()


def test_back_to_search_forgets_everything(shop: Shop) -> None:
    assert go(shop, opened(shop, "B000000001"), "large", "Back to Search") == Session()


def test_buying_ends_the_visit(shop: Shop) -> None:
    done = go(shop, opened(shop, "B000000001"), "large", "Buy Now")
    assert (done.page, done.options) == ("done", (("size", "large"),))
    view = shop.view(done)
    assert (view.elements, view.product) == ((), shop.catalogue.product(0))
    with pytest.raises(ToolError, match="no search bar"):
        shop.search(done, "dress")


def test_the_search_bar_is_on_the_search_page_alone(shop: Shop) -> None:
    results = shop.search(Session(), "dress")
    for session in (results, opened(shop, "B000000001")):
        with pytest.raises(ToolError, match="Click 'Back to Search' first"):
            shop.search(session, "dress")


@pytest.mark.parametrize("query", ["", " \n\t ", "x" * 100_000, "x " * (LONGEST_QUERY // 2 + 1)])
def test_a_query_without_words_or_measure_is_refused(shop: Shop, query: str) -> None:
    with pytest.raises(ToolError) as caught:
        shop.search(Session(), query)
    assert len(str(caught.value)) < 100
