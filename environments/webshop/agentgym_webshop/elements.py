"""What can be clicked on a page, each thing with a name that means nothing else there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agentgym.errors import ToolError

Kind = Literal["back", "prev", "next", "product", "option", "sub_page", "buy"]

LISTED = 40
"""Names that a message lists at most."""

LONGEST = 200
"""Characters of a name that a message shows at most."""


@dataclass(frozen=True, slots=True)
class Element:
    """A clickable thing.

    Attributes:
        id: Unique on its page, the same wherever the page is shown.
        kind: What clicking it does.
        label: What it says: a button's words, a product's id, an option's value.
        name: What an agent calls it: the label, with the option group before it where another
            thing on the page has the same label.
        group: The option group, of an option.
        place: The product's place in the catalogue, of a product.
        chosen: Whether it is the chosen value of its group, or a product looked at before.
    """

    id: str
    kind: Kind
    label: str
    name: str
    group: str | None = None
    place: int | None = None
    chosen: bool = False


def button(kind: Kind, label: str) -> Element:
    """Return a button; its words are unique on every page."""
    return Element(label.lower().strip("<> ").replace(" ", "-"), kind, label, label)


def named(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Return the elements with names that differ from each other in any case of letters."""
    seen = Counter(_plain(element.label) for element in elements)
    if len(seen) == len(elements):
        return tuple(elements)
    taken = {_plain(element.name) for element in elements if _alone(element, seen)}
    return tuple(
        element if _alone(element, seen) else _renamed(element, taken) for element in elements
    )


def _alone(element: Element, seen: Counter[str]) -> bool:
    return element.kind != "option" or seen[_plain(element.label)] == 1


def _renamed(element: Element, taken: set[str]) -> Element:
    base = name = f"{element.group}: {element.label}"
    count = 1
    while _plain(name) in taken:
        count += 1
        name = f"{base} ({count})"
    taken.add(_plain(name))
    return replace(element, name=name)


def find(elements: Sequence[Element], said: str) -> Element:
    """Return the element an agent means, in any case of letters, with or without brackets.

    Args:
        elements: What can be clicked.
        said: Its name; an option may always be called `group: value`.

    Raises:
        ToolError: Nothing here is called so, or several things are; names are listed.
    """
    if len(said) > 10 * LONGEST:
        raise ToolError(f"No name has {len(said):,} characters. {_listed(elements)}")
    words = " ".join(said.split()).casefold()
    for wanted in (words, words.removeprefix("[").removesuffix("]").strip()):
        found = _called(elements, wanted)
        if len(found) > 1:
            names = " or ".join(repr(_short(element.name)) for element in found[:LISTED])
            raise ToolError(f"{_short(said)!r} can mean several things here. Click {names}.")
        if found:
            return found[0]
    raise ToolError(f"There is no {_short(said)!r} to click on this page. {_listed(elements)}")


def _called(elements: Sequence[Element], wanted: str) -> list[Element]:
    """Return what has this name; else what has this label, or is `group: value`."""
    for element in elements:
        if _plain(element.name) == wanted:
            return [element]
    return [
        element
        for element in elements
        if element.kind == "option"
        and wanted in (_plain(element.label), _plain(f"{element.group}: {element.label}"))
    ]


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}..."


def _listed(elements: Sequence[Element]) -> str:
    if not elements:
        return "Nothing here can be clicked."
    names = ", ".join(_short(element.name) for element in elements[:LISTED])
    more = len(elements) - LISTED
    return f"You can click: {names}{f' and {more} more' if more > 0 else ''}."
