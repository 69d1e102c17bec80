"""What a shopping task holds: a public instruction and a private goal."""

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field


class WebShopPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        instruction: What to buy, in a customer's words.
        products: How many products the shop has.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instruction: str = Field(min_length=1)
    products: int = Field(ge=1)


class WebShopPrivate(BaseModel):
    """The part that grades.

    Attributes:
        asin: The product the goal was made from.
        query: The search term that product is listed under.
        category: Its category path.
        nouns: Lower-cased nouns and names of its title, with repeats, by the catalogue's tagger.
        title: Its title, for other taggers.
        attributes: What is asked of the product.
        options: What is asked of its options; a goal made by hand does not name their groups.
        price_upper: Dollars it may cost; 1,000,000 where there is no limit.
        oracle_query: A search that shows the product among the first 50; None where none is known.
        catalogue: Folder of the built catalogue, where it is not the generated one of this size.
            It stays out of the task's content hash, which holds the catalogue's own.
        catalogue_digest: Content hash of that catalogue.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    unhashed: ClassVar = frozenset({"catalogue"})

    asin: str
    title: str
    query: str
    category: str
    nouns: tuple[str, ...]
    attributes: tuple[str, ...] = Field(min_length=1)
    options: dict[str, str] | tuple[str, ...] = ()
    price_upper: float
    oracle_query: str | None = None
    catalogue: Path | None = None
    catalogue_digest: str | None = None
