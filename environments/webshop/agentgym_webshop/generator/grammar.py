"""The grammar of the generated shop: kinds of products, their options, words and sentences."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict

DEPARTMENTS = ("fashion", "beauty", "furniture", "electronics", "grocery")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OptionGroup(_Frozen):
    """Something a customer chooses, such as a colour.

    Attributes:
        group: The name that is shown.
        values: All there are.
        count: Fewest and most that a product has.
        ordered: Whether a product has neighbouring values, in this order.
        says: How a customer asks for one.
    """

    group: str
    values: tuple[str, ...]
    count: tuple[int, int]
    ordered: bool = False
    says: tuple[str, ...]


class Kind(_Frozen):
    """A category at the end of its path.

    Attributes:
        path: From the department on.
        searches: Terms its products are listed under.
        names: What its products are called.
        attributes: What may be asked of them; those of one entry exclude each other.
        uses: What they are for.
        options: Names of option groups.
        price: Lowest and highest usual price in dollars.
        prefixes: What stands before the name, such as "Men's"; one of them.
    """

    path: tuple[str, ...]
    searches: tuple[str, ...]
    names: tuple[str, ...]
    materials: tuple[str, ...]
    attributes: tuple[tuple[str, ...], ...]
    uses: tuple[str, ...]
    options: tuple[str, ...]
    price: tuple[int, int]
    prefixes: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        """The path as pages show it."""
        return " › ".join(self.path)


class Words(_Frozen):
    """Sentences and words, by what they are for; see `words.toml`."""

    syllables_first: tuple[str, ...]
    syllables_last: tuple[str, ...]
    styles: tuple[str, ...]
    extras: tuple[str, ...]
    titles: tuple[str, ...]
    descriptions: tuple[str, ...]
    opening_features: tuple[str, ...]
    adjective_features: tuple[str, ...]
    noun_features: tuple[str, ...]
    closing_features: tuple[str, ...]
    review_titles: tuple[str, ...]
    reviews: tuple[str, ...]


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds, department by department."""
    return tuple(kind for name in DEPARTMENTS for kind in _department(name))


@cache
def option_groups() -> dict[str, OptionGroup]:
    """Return the option groups by name."""
    data = _read("options_personal") | _read("options_home")
    return {name: OptionGroup.model_validate(group) for name, group in data.items()}


@cache
def words() -> Words:
    """Return the words of titles, features, descriptions and reviews."""
    return Words.model_validate(_read("words"))


def is_adjective(attribute: str) -> bool:
    """Return whether a product is an attribute ("waterproof") rather than has it ("arch support").

    Told by how it begins or ends.
    """
    return attribute.startswith(("easy ", "super ", "highly ", "non g", "non t", "non c")) or (
        attribute.endswith(_ADJECTIVE_ENDINGS)
    )


_ADJECTIVE_ENDINGS = (
    *("able", "free", "proof", "resistant", "certified", "friendly", "lasting", "weight"),
    *("lined", "limited", "rechargeable", "assembled", "saving", "reducing", "raw"),
    *("efficient", "duty", "roasted", "salted", "pressed", "based", "wrapped", "organic", "fed"),
    *("to eat", "unrefined", "cordless", "hypoallergenic", "tested", "mounted", "insulated"),
    *("charging", "drying", "wicking", "cancelling", "woven", "engraved", "tufted", "plated"),
    *("looking", "absorbing", "caring", "sleeveless", "non gmo", "activated", "ended", "safe"),
)


def _department(name: str) -> tuple[Kind, ...]:
    data = _read(name)
    department = data["department"]
    return tuple(_kind(kind, department) for kind in data["kind"])


def _kind(data: dict[str, Any], department: dict[str, Any]) -> Kind:
    prefix = data.pop("prefix", None)
    data["path"] = [department["name"], *data["path"]]
    data["attributes"] = [entry.split("|") for entry in data["attributes"]]
    data["prefixes"] = [prefix] if prefix else department["prefixes"]
    return Kind.model_validate(data)


def _read(name: str) -> dict[str, Any]:
    text = (
        files("agentgym_webshop.generator").joinpath("grammar", f"{name}.toml").read_text("utf-8")
    )
    return tomllib.loads(text)
