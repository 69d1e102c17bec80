"""What the shop sells: one product as the pages show it and the reward grades it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Review:
    """What a customer wrote.

    Attributes:
        score: Stars, 1 to 5.
    """

    title: str
    score: float
    body: str


@dataclass(frozen=True, slots=True)
class Product:
    """One product of a catalogue.

    Attributes:
        asin: Its id, unique in the catalogue; upper case letters and digits.
        category: Path from department to kind, joined by " › ".
        query: The search term it was listed under, lower-cased.
        bullets: Features; the first is searched too.
        options: Values to choose from by option group, both in the order they are shown. Two
            groups may have a value in common.
        attributes: What may be asked of it, such as "machine washable".
        price: Dollars that buying it costs; within the range that is shown, where one is.
        price_low: Dollars shown; the lower end where a range is shown.
        price_high: The upper end in dollars; None where one price is shown.
        rating: Mean of stars; None where it has no rating.
        main_image: Address of its picture; empty where it has none.
        nouns: Lower-cased nouns and names in the title, in order and with repeats, by the
            catalogue's tagger.
    """

    asin: str
    title: str
    category: str
    query: str
    description: str
    bullets: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    price: float
    price_low: float
    price_high: float | None
    rating: float | None
    reviews: tuple[Review, ...]
    main_image: str
    nouns: tuple[str, ...]

    @property
    def price_tag(self) -> str:
        """The price as pages show it, such as "$12.5" or "$10.0 to $15.0"."""
        if self.price_high is None:
            return f"${self.price_low}"
        return f"${self.price_low} to ${self.price_high}"
