"""The shipped goals: all of them can be met, and few by who does not look closely."""

from collections import Counter
from collections.abc import Sequence

import pytest

from agentgym.registry import spec
from agentgym.tasks import load_tasks
from agentgym.types import Task
from agentgym_webshop.catalogue import Catalogue, shipped
from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import FAMILY, blueprint
from agentgym_webshop.goals.phrases import phrases
from agentgym_webshop.goals.task_set import COUNTS, PRODUCTS, core_tasks
from agentgym_webshop.limits import NO_LIMIT, price_limit
from agentgym_webshop.reward import score
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

WebShopTask = Task[WebShopPublic, WebShopPrivate]


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    return shipped(PRODUCTS)


@pytest.fixture(scope="module")
def tasks() -> Sequence[WebShopTask]:
    return load_tasks(spec("webshop")).tasks


def place_of(shop: Catalogue, task: WebShopTask) -> int:
    place = shop.find(task.private.asin)
    assert place is not None
    return place


def chosen(task: WebShopTask) -> list[str]:
    assert isinstance(task.private.options, dict)
    return list(task.private.options.values())


def test_there_are_as_many_goals_as_promised(tasks: Sequence[WebShopTask]) -> None:
    assert Counter(task.split for task in tasks) == COUNTS
    assert COUNTS["test"] >= 500
    assert COUNTS["validation"] >= 500
    assert COUNTS["train"] >= 3000
    assert {task.public.products for task in tasks} == {PRODUCTS}


def test_splits_share_no_product_no_family_and_no_words(
    shop: Catalogue, tasks: Sequence[WebShopTask]
) -> None:
    assert len({task.private.asin for task in tasks}) == len(tasks)
    assert len({task.public.instruction for task in tasks}) == len(tasks)
    owner: dict[int, str] = {}
    for task in tasks:
        assert owner.setdefault(place_of(shop, task) // FAMILY, task.split) == task.split


def test_every_goal_is_found_by_search_and_met_by_its_product(
    shop: Catalogue, tasks: Sequence[WebShopTask]
) -> None:
    for task in tasks:
        place = place_of(shop, task)
        assert task.private.oracle_query is not None
        assert place in shop.search(task.private.oracle_query, 50), task.id
        product = shop.product(place)
        assert score(product, chosen(task), task.private).value == 1.0, task.id
        assert isinstance(task.private.options, dict)
        assert all(value in product.options[g] for g, value in task.private.options.items())


def test_goals_ask_for_one_to_five_things(tasks: Sequence[WebShopTask]) -> None:
    sizes = Counter(len(t.private.attributes) + len(t.private.options) for t in tasks)
    assert set(sizes) == {2, 3, 4, 5}
    assert min(sizes.values()) > 500
    assert {len(task.private.attributes) for task in tasks} == {1, 2, 3, 4}
    assert {len(task.private.options) for task in tasks} == {0, 1, 2, 3}


def test_instructions_say_all_that_is_asked_and_no_more(
    shop: Catalogue, tasks: Sequence[WebShopTask]
) -> None:
    paraphrases = phrases().paraphrases
    paraphrased = 0
    for task in tasks:
        said, private = task.public.instruction, task.private
        for attribute in private.attributes:
            others = paraphrases.get(attribute, ())
            assert attribute in said or any(other in said for other in others), task.id
            paraphrased += attribute not in said
        assert all(value in said for value in chosen(task)), task.id
        assert (private.price_upper == NO_LIMIT) != (f"{private.price_upper:.2f}" in said)
        plan = blueprint(PRODUCTS, place_of(shop, task))
        assert plan.brand.lower() not in said.lower()
        assert private.asin.lower() not in said.lower()
        assert "{" not in said
        assert "  " not in said
    assert paraphrased > 1000


def test_instructions_vary_in_wording(tasks: Sequence[WebShopTask]) -> None:
    begins = Counter(" ".join(task.public.instruction.split()[:3]) for task in tasks)
    assert len(begins) > 50
    assert begins.most_common(1)[0][1] < len(tasks) / 8


def test_first_hits_are_often_wrong(shop: Catalogue, tasks: Sequence[WebShopTask]) -> None:
    right = 0
    for task in tasks[:500]:
        first = shop.product(shop.search(task.public.instruction, 1)[0])
        offered = {value for values in first.options.values() for value in values}
        having = [value for value in chosen(task) if value in offered]
        right += score(first, having, task.private).value == 1.0
    assert 0.3 < right / 500 < 0.6, "even with all options chosen as asked"


def test_near_misses_score_less_and_stand_near(
    shop: Catalogue, tasks: Sequence[WebShopTask]
) -> None:
    """Most goals have relatives that almost meet them and do not."""
    tempting = 0
    for task in tasks[:300]:
        place = place_of(shop, task)
        first = place - place % FAMILY
        others = [p for p in range(first, min(first + FAMILY, len(shop))) if p != place]
        values = [score(shop.product(p), chosen(task), task.private).value for p in others]
        tempting += any(0.5 <= value < 1 for value in values)
    assert tempting > 150


@pytest.mark.parametrize(
    ("price", "limits"),
    [
        (5.0, {20.0, 30.0, 40.0}),
        (10.0, {30.0, 40.0, 50.0}),
        (10.01, {30.0, 40.0, 50.0}),
        (9.99, {20.0, 30.0, 40.0}),
        (955.0, {970.0, 980.0, 990.0}),
        (965.0, {980.0, 990.0}),
        (970.0, {990.0}),
        (979.99, {990.0}),
        (980.0, {NO_LIMIT}),
        (2500.0, {NO_LIMIT}),
    ],
)
def test_price_limits_follow_the_rule(price: float, limits: set[float]) -> None:
    draws = Draws("limits", str(price))
    assert {price_limit(price, draws.sample) for _ in range(200)} == limits


@pytest.mark.slow
def test_the_shipped_file_is_what_the_grammar_makes(
    shop: Catalogue, tasks: Sequence[WebShopTask]
) -> None:
    assert list(core_tasks(shop)) == list(tasks)
