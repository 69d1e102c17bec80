"""Products put into words: titles, features, descriptions and reviews."""

from collections.abc import Mapping, Sequence

from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import Blueprint
from agentgym_webshop.generator.grammar import is_adjective, words
from agentgym_webshop.products import Review

SMALL_WORDS = frozenset({"for", "and", "to", "the", "in", "with", "on", "of"})


def title_case(text: str) -> str:
    """Capitalise words as titles do; capitals that are there stay."""
    return " ".join(
        word if word in SMALL_WORDS else word[:1].upper() + word[1:] for word in text.split(" ")
    )


class Wording:
    """The words of one product.

    Args:
        product: What it is.
        draws: Its own stream of choices.
    """

    def __init__(self, product: Blueprint, draws: Draws) -> None:
        self._product = product
        self._draws = draws
        vocabulary = words()
        prefixes = product.kind.prefixes
        prefix = draws.choice(prefixes) + " " if prefixes else ""
        self._fields: Mapping[str, str] = {
            "brand": product.brand,
            "name": product.name,
            "material": product.material,
            "style": draws.choice(vocabulary.styles),
            "extra": draws.choice(vocabulary.extras),
            "model": _model(draws),
            "prefix": prefix,
            "use": product.uses[0],
            "use2": product.uses[1],
        }

    def title(self) -> str:
        """Return a title, with one or two of the attributes."""
        draws = self._draws
        shown = draws.sample(self._product.attributes, draws.between(1, 2))
        attributes = ", ".join(title_case(attribute) for attribute in shown)
        template = draws.choice(words().titles)
        fields = {**self._fields, "use": title_case(self._product.uses[0])}
        return template.format(**fields, attributes=attributes)

    def description(self) -> str:
        """Return two to five sentences."""
        draws = self._draws
        adjectives = [a for a in self._product.attributes if is_adjective(a)]
        features = [a for a in self._product.attributes if not is_adjective(a)]
        fields = {
            **self._fields,
            "adjective": draws.choice(adjectives) if adjectives else "",
            "feature": draws.choice(features) if features else "",
        }
        drawn = draws.sample(words().descriptions, draws.between(2, 5))
        missing = [key for key in ("adjective", "feature") if not fields[key]]
        return " ".join(
            sentence.format(**fields)
            for sentence in drawn
            if not any(f"{{{key}}}" in sentence for key in missing)
        )

    def bullets(self) -> tuple[str, ...]:
        """Return the features: most attributes, between an opening and a closing line.

        Search knows the first one only.
        """
        draws, vocabulary = self._draws, words()
        lines = [self._feature(attribute) for attribute in self._product.attributes]
        opening = draws.choice(vocabulary.opening_features).format(**self._fields)
        if draws.chance(65):
            lines.insert(0, opening)
        if draws.chance(60):
            lines.append(draws.choice(vocabulary.closing_features).format(**self._fields))
        return tuple(lines)

    def reviews(self) -> tuple[Review, ...]:
        """Return up to four reviews."""
        draws, vocabulary = self._draws, words()
        attribute = draws.choice(self._product.attributes)
        return tuple(
            [
                Review(
                    draws.choice(vocabulary.review_titles),
                    float(draws.choice((1, 2, 3, 4, 4, 5, 5, 5))),
                    self._sentences(vocabulary.reviews, draws.between(1, 2), attribute),
                )
                for _ in range(max(0, draws.between(-2, 4)))
            ]
        )

    def _sentences(self, templates: Sequence[str], count: int, attribute: str) -> str:
        drawn = self._draws.sample(templates, count)
        return " ".join(text.format(**self._fields, attribute=attribute) for text in drawn)

    def _feature(self, attribute: str) -> str:
        vocabulary = words()
        adjective = is_adjective(attribute)
        templates = vocabulary.adjective_features if adjective else vocabulary.noun_features
        return self._draws.choice(templates).format(
            **self._fields,
            attribute=attribute,
            Attribute=attribute.capitalize(),
            ATTRIBUTE=attribute.upper(),
        )


def _model(draws: Draws) -> str:
    letters = "ABCDEFGHKLMNPRSTVWXZ"
    return f"{draws.choice(letters)}{draws.choice(letters)}-{draws.between(100, 9999)}"
