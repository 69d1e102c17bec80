"""Which words of a title are nouns: the reward compares what two products are by them."""

from typing import Protocol


class Tagger(Protocol):
    """Finds the nouns and names in a title.

    Attributes:
        name: What to call it in a record.
        version: Changes whenever the same title may give other nouns.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def nouns(self, title: str) -> tuple[str, ...]:
        """Return the lower-cased nouns and names, in order and with repeats."""
        ...
