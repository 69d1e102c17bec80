"""Generated products: the same everywhere, sound, and each among near misses."""

import hashlib
from itertools import combinations

import pytest
from rapidfuzz import fuzz

from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import FAMILY, blueprint
from agentgym_webshop.generator.generation import asin, product, products
from agentgym_webshop.generator.grammar import Kind, kinds, option_groups
from agentgym_webshop.records import encode

PINNED = "97f33983ea25bf7a229cbd020ebafd4608852c162faf68cf7c316b1b8279da8a"


def test_products_are_the_same_on_every_machine() -> None:
    """A changed hash means other catalogues: the tasks made on them have to be made again."""
    code = hashlib.sha256()
    for place in range(0, 10_000, 97):
        code.update(encode(product(10_000, place)))
    assert code.hexdigest() == PINNED


def test_a_product_is_made_without_those_before_it() -> None:
    every = list(products(500))
    assert [product(500, place) for place in reversed(range(500))] == every[::-1]
    assert product(500, 499, seed=2) != every[499]


def test_draws_are_pinned_even_and_in_range() -> None:
    draws = Draws("pinned", 1)
    assert [draws.below(1000) for _ in range(6)] == [914, 491, 398, 593, 263, 807]
    counts = [0] * 7
    for _ in range(7000):
        counts[draws.below(7)] += 1
    assert min(counts) > 850
    assert {draws.between(3, 5) for _ in range(100)} == {3, 4, 5}
    assert sorted(draws.sample(range(9), 9)) == list(range(9))
    assert "".join(draws.run("abcdef", 3)) in "abcdef"


def test_ids_are_all_different() -> None:
    ids = {asin(place) for place in range(200_000)}
    assert len(ids) == 200_000
    assert all(len(name) == 10 and name.isalnum() and name == name.upper() for name in ids)


def test_there_are_many_kinds_in_five_departments() -> None:
    assert len(kinds()) >= 60
    assert len({kind.path[0] for kind in kinds()}) == 5
    assert len({kind.path for kind in kinds()}) == len(kinds())


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.path[-1])
def test_a_kind_is_sound(kind: Kind) -> None:
    attributes = [name for group in kind.attributes for name in group]
    assert len(set(attributes)) == len(attributes)
    close = [pair for pair in combinations(attributes, 2) if fuzz.token_set_ratio(*pair) > 85]
    assert not close, "the reward would take one for the other"
    groups = [option_groups()[key].group for key in kind.options]
    assert len(set(groups)) == len(groups)
    assert len(kind.attributes) >= 7
    assert len(kind.uses) >= 2
    assert kind.price[0] < kind.price[1]


@pytest.mark.parametrize("name", option_groups())
def test_an_option_group_is_sound(name: str) -> None:
    group = option_groups()[name]
    assert len(set(group.values)) == len(group.values)
    assert 2 <= group.count[0] <= group.count[1] <= len(group.values)
    assert all("{}" in phrase for phrase in group.says)


def test_products_are_complete(thousand: Catalogue) -> None:
    for place in range(len(thousand)):
        found = thousand.product(place)
        assert found.title
        assert 2 <= len(found.attributes) <= 5
        assert len(found.bullets) >= len(found.attributes)
        assert found.category.count(" › ") >= 2
        assert found.price_low <= found.price <= (found.price_high or found.price_low)
        assert found.rating is None or 1 <= found.rating <= 5
        assert len(found.nouns) >= 2
        assert found.options
        for values in found.options.values():
            assert len(set(values)) == len(values) >= 2


def test_the_shop_has_odd_products_too(thousand: Catalogue) -> None:
    every = [thousand.product(place) for place in range(len(thousand))]
    collide = [
        p for p in every if any(set(a) & set(b) for a, b in combinations(p.options.values(), 2))
    ]
    assert len(collide) > 10, "values that are in two groups"
    assert any(p.price_high for p in every)
    assert any(p.rating is None for p in every)
    assert any(not p.reviews for p in every)
    assert len({p.category for p in every}) == len(kinds())


def test_members_of_a_family_depart_in_their_own_respects() -> None:
    for family in range(0, 1600, 23):
        first, attribute, options, price, brand, name = (
            blueprint(10_000, family * FAMILY + place) for place in range(FAMILY)
        )
        assert len(set(first.attributes) - set(attribute.attributes)) == 1
        assert attribute.options == first.options
        assert options.attributes == first.attributes
        assert options.options.keys() == first.options.keys()
        assert price.cents > first.cents * 1.2
        assert (price.attributes, price.options) == (first.attributes, first.options)
        assert len(set(brand.attributes)) == len(first.attributes) - 1
        assert len(set(first.attributes) - set(name.attributes)) <= 2
        assert name.options == first.options
