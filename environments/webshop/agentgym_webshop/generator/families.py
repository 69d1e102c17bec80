"""What products are, before they are put into words: families of near misses.

Neighbouring products are a family: they share a blueprint, and each departs from it in a respect
(an attribute, the values of options, the price) or in several, so that whoever does not look
closely buys a wrong one. Families of one kind and name are neighbours too, by which
search profits.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.grammar import Kind, kinds, option_groups, words

FAMILY = 6
"""Products of a family."""

SEED = 1
"""Of the shipped catalogues."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What a product is.

    Attributes:
        options: Values by group name, in the order they are shown.
        cents: Price, the lower end where it is a range.
        spread_cents: From the lower to the upper end; 0 for one price.
    """

    kind: Kind
    brand: str
    name: str
    material: str
    uses: tuple[str, str]
    attributes: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    cents: int
    spread_cents: int


def blueprint(size: int, index: int, seed: int = SEED) -> Blueprint:
    """Return what product `index` of the catalogue of `size` products is."""
    family, place = divmod(index, FAMILY)
    base = _base(size, family, seed)
    draws = Draws("sibling", seed, size, index)
    return _DEPARTURES[place](base, draws)


@lru_cache(maxsize=8)
def _base(size: int, family: int, seed: int) -> Blueprint:
    draws = Draws("family", seed, size, family)
    families = -(-size // FAMILY)
    all_kinds = kinds()
    kind = all_kinds[family * len(all_kinds) // families]
    within = family * len(all_kinds) % families  # how far through its kind, of `families`
    name = kind.names[within * len(kind.names) // families]
    groups = draws.sample(kind.attributes, draws.between(3, 5))
    use, other_use = draws.sample(kind.uses, 2)
    return Blueprint(
        kind=kind,
        brand=_brand(draws),
        name=name,
        material=draws.choice(kind.materials),
        uses=(use, other_use),
        attributes=tuple([draws.choice(group) for group in groups]),
        options={
            option_groups()[key].group: _values(draws, key)
            for place, key in enumerate(kind.options)
            if place < 1 or draws.chance(70)
        },
        cents=_price(draws, *kind.price),
        spread_cents=draws.between(200, 2500) if draws.chance(12) else 0,
    )


def _brand(draws: Draws) -> str:
    vocabulary = words()
    first, last = draws.choice(vocabulary.syllables_first), draws.choice(vocabulary.syllables_last)
    middle = draws.choice(("", "", "en", "is", "or", "a", "um", "et"))
    return f"{first}{middle}{last}".capitalize()


def _values(draws: Draws, key: str) -> tuple[str, ...]:
    group = option_groups()[key]
    count = draws.between(*group.count)
    pick = draws.run if group.ordered else draws.sample
    return tuple(pick(group.values, count))


def _price(draws: Draws, low: int, high: int) -> int:
    """Draw cents that end as prices do; cheap ones are more common."""
    unit = min(draws.below(1000), draws.below(1000))
    dollars = low + (high - low) * unit // 1000
    return dollars * 100 + draws.choice((0, 49, 50, 90, 95, 99, 99, 99))


def _dearer(cents: int, percent: int) -> int:
    """Change a price by percent, and keep its ending."""
    return max(100, cents * (100 + percent) // 10_000 * 100) + cents % 100


def _first(base: Blueprint, draws: Draws) -> Blueprint:
    return replace(base, cents=_dearer(base.cents, draws.between(-4, 4)))


def _other_attribute(base: Blueprint, draws: Draws) -> Blueprint:
    place = draws.below(len(base.attributes))
    old = base.attributes[place]
    group = next(group for group in base.kind.attributes if old in group)
    rivals = [other for other in group if other not in base.attributes]
    if not rivals:
        taken = [group for group in base.kind.attributes if set(group) & set(base.attributes)]
        rivals = [a for group in base.kind.attributes if group not in taken for a in group]
    attributes = list(base.attributes)
    attributes[place : place + 1] = [draws.choice(rivals)] if rivals else []
    return replace(base, attributes=tuple(attributes))


def _other_options(base: Blueprint, draws: Draws) -> Blueprint:
    options = {
        option_groups()[key].group: _values(draws, key)
        for key in base.kind.options
        if option_groups()[key].group in base.options
    }
    return replace(base, options=options)


def _other_price(base: Blueprint, draws: Draws) -> Blueprint:
    return replace(base, cents=_dearer(base.cents, draws.between(35, 130)))


def _other_brand(base: Blueprint, draws: Draws) -> Blueprint:
    changed = _other_options(_other_attribute(base, draws), draws)
    dropped = draws.below(len(changed.attributes))
    attributes = changed.attributes[:dropped] + changed.attributes[dropped + 1 :]
    cents = _dearer(base.cents, draws.between(-25, 20))
    return replace(changed, brand=_brand(draws), attributes=attributes, cents=cents, spread_cents=0)


def _other_name(base: Blueprint, draws: Draws) -> Blueprint:
    changed = _other_attribute(_other_attribute(base, draws), draws)
    name, material = draws.choice(base.kind.names), draws.choice(base.kind.materials)
    return replace(changed, name=name, material=material)


_DEPARTURES = (
    _first,
    _other_attribute,
    _other_options,
    _other_price,
    _other_brand,
    _other_name,
)
