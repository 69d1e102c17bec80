"""Grades of a visit: what was bought, or would be, against the task's goal."""

from agentgym.errors import UnknownNameError
from agentgym.types import Reward
from agentgym_webshop.reward import Score, score
from agentgym_webshop.shop import View
from agentgym_webshop.tagging import LexiconTagger, SpacyTagger, Tagger
from agentgym_webshop.tasks import WebShopPrivate

_TAGGERS: dict[str, Tagger | None] = {
    "catalogue": None,
    "lexicon": LexiconTagger(),
    "spacy": SpacyTagger(),
}


def tagger_of(tagger: Tagger | str) -> Tagger | None:
    """Return a tagger by name; None for the nouns that the catalogue carries.

    Raises:
        UnknownNameError: There is no such tagger.
    """
    if isinstance(tagger, Tagger):
        return tagger
    if not isinstance(tagger, str) or tagger not in _TAGGERS:
        raise UnknownNameError("tagger", tagger, _TAGGERS)
    return _TAGGERS[tagger]


class Grader:
    """Grades visits to one goal.

    Args:
        goal: What was asked for.
        catalogue_tagger: Name and version of the tagger whose nouns goal and products carry.
        tagger: Finds the nouns in their place; None takes those they carry.
    """

    def __init__(
        self, goal: WebShopPrivate, catalogue_tagger: str, tagger: Tagger | None = None
    ) -> None:
        self._goal = goal
        self._tagger = tagger
        self._name = f"{tagger.name} {tagger.version}" if tagger else catalogue_tagger

    def grade(self, view: View) -> Reward:
        """Return the grade of a visit that stands at this page; 0 where nothing was bought."""
        if view.session.page != "done":
            return Reward(
                labels={"outcome": "nothing_bought", "tagger": self._name},
                feedback="Nothing was bought.",
            )
        found = self._score(view)
        bought = view.product.asin if view.product else ""
        return Reward(
            value=found.value,
            components=found.components,
            labels={"outcome": "bought", "tagger": self._name, "bought": bought},
            feedback=f"Bought {bought}. {found.words}",
        )

    def potential(self, view: View) -> dict[str, float]:
        """Return what buying now would score, `value` and components; empty off a product's pages.

        Rewarding its changes turn by turn is potential-based shaping (Ng, Harada and Russell,
        1999): what is gained on the way to a page depends on the page alone. An episode's sum is
        the potential of its last page and the grade, at most 2, and 2 only for a grade of 1.
        """
        if view.product is None or view.session.page == "done":
            return {}
        found = self._score(view)
        return {"value": found.value, **found.components}

    def _score(self, view: View) -> Score:
        product = view.product
        if product is None:
            raise ValueError("Only a page about a product can be scored.")
        values = [value for _, value in view.session.options]
        if self._tagger is None:
            return score(product, values, self._goal)
        nouns = self._tagger.nouns(product.title), self._tagger.nouns(self._goal.title)
        return score(product, values, self._goal, nouns=nouns)
