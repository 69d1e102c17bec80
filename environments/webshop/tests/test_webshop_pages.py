"""How pages look in each observation mode."""

from html.parser import HTMLParser

import pytest

from agentgym.errors import UnknownNameError
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.elements import find
from agentgym_webshop.render import MODES, renderer
from agentgym_webshop.session import SUB_PAGES, Session
from agentgym_webshop.shop import Shop, View

WANTED = 'i want a light <summer> & "nice" dress'


@pytest.fixture
def shop(dresses: Catalogue) -> Shop:
    return Shop(dresses, show_attributes=True)


def at(shop: Shop, *names: str, query: str = "floor lamp") -> View:
    session = shop.search(Session(), query)
    for name in names:
        session = shop.click(session, find(shop.view(session).elements, name))
    return shop.view(session)


def chosen(shop: Shop) -> View:
    return at(shop, "B000000002", "strap: red", "blue", query="dress 2")


LAMP = "Back to Search [SEP] < Prev [SEP] Floor Lamp [SEP] Price: $19.5 [SEP] Rating: 4.5"
SUB = "Description [SEP] Features [SEP] Reviews [SEP] Attributes [SEP] Buy Now"


def test_text_is_what_webshop_shows(shop: Shop) -> None:
    text = MODES["text"]
    first = f"Instruction: [SEP] {WANTED}"
    assert text(shop.view(Session()), WANTED) == f"WebShop [SEP] {first} [SEP] Search"
    assert text(at(shop), WANTED) == (
        f"{first} [SEP] Back to Search [SEP] Page 1 (Total results: 1)"
        " [SEP] B0LAMPLAMP [SEP] Floor Lamp [SEP] $19.5"
    )
    assert text(at(shop, "b0lamplamp"), WANTED) == f"{first} [SEP] {LAMP} [SEP] {SUB}"
    assert text(chosen(shop), WANTED) == (
        f"{first} [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] color: red [SEP] blue"
        " [SEP] strap [SEP] strap: red [SEP] strap: Buy Now [SEP] Summer Dress for Women 2"
        f" [SEP] Price: $19.5 [SEP] Rating: 4.5 [SEP] {SUB}"
    )
    assert text(at(shop, "B0LAMPLAMP", "Reviews"), WANTED) == (
        f'{first} [SEP] Back to Search [SEP] < Prev [SEP] "Lovely" [SEP] 5 [SEP] Fits well.'
        ' [SEP] "So so" [SEP] 3 [SEP] Too long.'
    )
    assert text(at(shop, "B0LAMPLAMP", "Buy Now"), WANTED) == "Thank you for shopping with us!"


def test_a_range_of_prices_and_no_rating_are_shown_as_webshop_does(shop: Shop) -> None:
    ranged = MODES["text"](at(shop, "B000000003", query="dress 3"), WANTED)
    assert "Price: $10.0 to $15.0" in ranged
    unrated = MODES["text"](at(shop, "B000000004", query="dress 4"), WANTED)
    assert "Rating: N.A." in unrated


def test_rich_text_marks_what_can_be_clicked_and_what_was(shop: Shop) -> None:
    rich = MODES["text_rich"]
    assert (
        rich(shop.view(Session()), "x") == "WebShop\nInstruction: \nx\n[button] Search [button_]\n"
    )
    assert rich(chosen(shop), "x") == (
        "You have clicked strap: red.\nYou have clicked blue.\n"
        "Instruction:\nx\n[button] Back to Search [button_]\n[button] < Prev [button_]\n"
        "color\n  [button] color: red [button_]\n  [clicked button] blue [clicked button_]\n"
        "strap\n  [clicked button] strap: red [clicked button_]\n"
        "  [button] strap: Buy Now [button_]\n"
        "Summer Dress for Women 2\nPrice: $19.5\nRating: 4.5\n[button] Description [button_]\n"
        "[button] Features [button_]\n[button] Reviews [button_]\n[button] Attributes [button_]\n"
        "[button] Buy Now [button_]\n"
    )
    assert "\n\n[button] B0LAMPLAMP [button_]\nFloor Lamp\n" in rich(at(shop), "x")
    again = rich(at(shop, "B0LAMPLAMP", "< Prev"), "x")
    assert "\n\n[clicked button] B0LAMPLAMP [clicked button_]\nFloor Lamp\n" in again
    assert "\n 100% cotton\n machine wash <cold>\n" in rich(at(shop, "B0LAMPLAMP", "Features"), "x")


def test_markdown_is_brief_and_brackets_what_can_be_clicked(shop: Shop) -> None:
    markdown = MODES["markdown"]
    assert markdown(at(shop), "x") == (
        'Instruction: x\n\n# Results for "floor lamp"\n\nPage 1 of 1, 1 product.\n\n'
        "- [B0LAMPLAMP] Floor Lamp ($19.50)\n\n[Back to Search]"
    )
    assert markdown(at(shop, query="xyzzy"), "x") == (
        'Instruction: x\n\n# Results for "xyzzy"\n\nNo product was found.\n\n[Back to Search]'
    )
    assert markdown(chosen(shop), "x") == (
        "Instruction: x\n\n# Summer Dress for Women 2\n\nPrice: $19.50\nRating: 4.5 of 5\n\n"
        "Options:\n- color: [color: red] [blue] (chosen)\n"
        "- strap: [strap: red] (chosen) [strap: Buy Now]\n\n"
        "[Back to Search] [< Prev] [Description] [Features] [Reviews] [Attributes] [Buy Now]"
    )
    bare = at(shop, "B000000004", "Description", query="dress 4")
    assert "There is no description." in markdown(bare, "x")
    assert "There are no reviews." in markdown(
        at(shop, "B000000004", "Reviews", query="dress 4"), "x"
    )


# --- HTML: what a parser finds in it is what the text modes say -------------------------------


class Parsed(HTMLParser):
    """Collects text with the innermost tag around it, buttons, links and radio buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[tuple[str, str]] = []
        self._run = ""
        self.texts: list[tuple[str, str]] = []
        self.radios: list[tuple[str, str, bool]] = []
        self.addresses: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.addresses += [given[name] for name in ("href", "src", "action") if name in given]
        if tag == "input" and given["type"] == "radio":
            self.radios.append((given["name"], given["value"], "checked" in given))
        if tag not in ("br", "input"):
            self._open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] != "title" and data.strip():
            self.texts.append((self._open[-1][0], data))


def every_page(shop: Shop) -> list[View]:
    subs = [at(shop, "B0LAMPLAMP", sub_page) for sub_page in SUB_PAGES.values()]
    bare = [at(shop, "B000000004", sub_page, query="dress 4") for sub_page in SUB_PAGES.values()]
    return [
        shop.view(Session()),
        at(shop, query="xyzzy"),
        at(shop, "Next >", query="summer dress"),
        at(shop, "B0LAMPLAMP"),
        chosen(shop),
        at(shop, "B0LAMPLAMP", "Buy Now"),
        *subs,
        *bare,
    ]


def test_html_says_what_text_says(shop: Shop) -> None:
    for view in every_page(shop):
        texts = [text.strip() for _, text in Parsed(MODES["html"](view, WANTED)).texts]
        assert " [SEP] ".join(texts) == MODES["text"](view, WANTED)


def test_html_has_the_elements_that_webshop_has(shop: Shop) -> None:
    for view in every_page(shop):
        parsed = Parsed(MODES["html"](view, WANTED))
        clickable = [text for tag, text in parsed.texts if tag in ("button", "a")]
        expected = [e.name for e in view.elements if e.kind != "option"]
        searching = view.session.page == "search"
        assert clickable == (["Search"] if searching else expected)
        options = [(e.group, e.name, e.chosen) for e in view.elements if e.kind == "option"]
        assert parsed.radios == options
        assert ('id="search_input"' in MODES["html"](view, WANTED)) == searching


def test_html_names_nothing_outside_and_hides_nothing(shop: Shop) -> None:
    for view in every_page(shop):
        page = MODES["html"](view, WANTED)
        assert all(address.startswith("#") for address in Parsed(page).addresses)
        assert "<!--" not in page
        assert "<script" not in page
        assert "display:none" not in page.replace(" ", "")


def test_only_the_attributes_page_tells_the_hidden_fields(dresses: Catalogue) -> None:
    shop = Shop(dresses)
    listed = shop.catalogue.product(0).query
    for view in (shop.view(Session()), at(shop), at(shop, "B0LAMPLAMP"), chosen(shop)):
        for render in MODES.values():
            assert listed not in render(view, "x")
            assert "›" not in render(view, "x")


@pytest.mark.parametrize("mode", MODES)
def test_the_instruction_is_on_every_page_to_the_end(shop: Shop, mode: str) -> None:
    for view in every_page(shop):
        if view.session.page != "done":
            assert "buy me a tent" in MODES[mode](view, "buy me a tent")


def test_an_unknown_mode_is_named_with_its_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'text'"):
        renderer("txt")
