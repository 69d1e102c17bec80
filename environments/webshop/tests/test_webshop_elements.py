"""Names of what can be clicked: each means one thing, whatever the products call their options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_webshop.elements import LISTED, Element, button, find, named

BUTTONS = (button("back", "Back to Search"), button("buy", "Buy Now"))


def option(group: str, value: str) -> Element:
    return Element(f"{group}-{value}", "option", value, value, group=group)


def page(*options: Element) -> tuple[Element, ...]:
    return named([*BUTTONS, *options])


VALUES = st.sampled_from(["red", "Red", "a: b", "b", "buy now", "a: red", "a: a: b", " red", "x"])
OPTIONS = st.lists(
    st.builds(option, st.sampled_from(["a", "a: a", "A", "b"]), VALUES | st.text(max_size=4)),
    max_size=12,
    unique_by=lambda element: element.id,
)


@given(OPTIONS)
def test_every_thing_is_found_by_its_name(options: list[Element]) -> None:
    elements = page(*options)
    folded = [" ".join(element.name.split()).casefold() for element in elements]
    assert len(set(folded)) == len(elements)
    for element in elements:
        assert find(elements, element.name) is element
        assert find(elements, f"  {element.name.upper().lower()} ").id == element.id


def test_a_value_of_its_own_needs_no_group() -> None:
    elements = page(option("color", "red"), option("size", "large"))
    assert [element.name for element in elements[2:]] == ["red", "large"]
    assert find(elements, "RED").id == "color-red"
    assert find(elements, "color: red").id == "color-red"
    assert find(elements, "[Red]").id == "color-red"


def test_a_value_of_two_groups_is_asked_back() -> None:
    elements = page(option("color", "red"), option("strap", "red"))
    assert [element.name for element in elements[2:]] == ["color: red", "strap: red"]
    assert find(elements, "strap: red").id == "strap-red"
    with pytest.raises(ToolError, match="Click 'color: red' or 'strap: red'"):
        find(elements, "red")


def test_a_value_called_like_a_button_leaves_the_button_its_name() -> None:
    elements = page(option("style", "Buy Now"))
    assert find(elements, "buy now") is BUTTONS[1]
    assert find(elements, "style: buy now").kind == "option"


def test_what_is_not_there_is_answered_with_what_is() -> None:
    with pytest.raises(ToolError) as caught:
        find(page(option("color", "red")), "blue")
    assert str(caught.value) == (
        "There is no 'blue' to click on this page. You can click: Back to Search, Buy Now, red."
    )


def test_the_answer_is_bounded() -> None:
    elements = page(*(option("size", f"{number} {'x' * 5000}") for number in range(500)))
    for said in ("nothing", "n" * 1999, "n" * 100_000):
        with pytest.raises(ToolError) as caught:
            find(elements, said)
        assert len(str(caught.value)) < 12_000
        assert f"and {len(elements) - LISTED} more" in str(caught.value)


def test_where_nothing_can_be_clicked_that_is_said() -> None:
    with pytest.raises(ToolError, match="Nothing here can be clicked"):
        find((), "Search")
