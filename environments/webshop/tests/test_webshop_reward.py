"""The reward against a literal transcription of its formula, which shares no code with it."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_webshop.colours import COLOURS
from agentgym_webshop.products import Product
from agentgym_webshop.reward import score
from agentgym_webshop.tasks import WebShopPrivate

# --- the formula, transcribed: ratios by the longest common subsequence in plain Python -------


def common_subsequence(one: str, other: str) -> int:
    lengths = [0] * (len(other) + 1)
    for letter in one:
        diagonal = 0
        for place, compared in enumerate(other, start=1):
            kept = lengths[place]
            longer = max(kept, lengths[place - 1])
            lengths[place] = diagonal + 1 if letter == compared else longer
            diagonal = kept
    return lengths[-1]


def ratio(one: str, other: str) -> float:
    total = len(one) + len(other)
    return 100 * 2 * common_subsequence(one, other) / total if total else 100.0


def cleaned(text: str) -> str:
    kept = "".join(letter for letter in text if not 128 <= ord(letter) <= 255)
    return "".join(c if c.isalnum() or c == "_" else " " for c in kept).lower().strip()


def token_set_ratio(one: str, other: str) -> int:
    first, second = cleaned(one), cleaned(other)
    if not first or not second:
        return 0
    tokens, others = set(first.split()), set(second.split())
    both = " ".join(sorted(tokens & others))
    mine = f"{both} {' '.join(sorted(tokens - others))}".strip()
    theirs = f"{both} {' '.join(sorted(others - tokens))}".strip()
    pairs = ((both, mine), (both, theirs), (mine, theirs))
    return max(round(ratio(a, b)) if a and b else 0 for a, b in pairs)


def type_factor(product: Product, goal: WebShopPrivate) -> float:
    shared = {c.strip() for c in product.category.split("›")} & {
        c.strip() for c in goal.category.split("›")
    }
    if len(goal.nouns) == 0:
        title = 0.2
    else:
        title = len(set(product.nouns) & set(goal.nouns)) / len(goal.nouns)
    factor = 1.0
    if not (product.query == goal.query or len(shared) >= 2 or title > 0.2):
        factor = 0.5
    if title < 0.1:
        factor = 0.1
    if title == 0.0:
        factor = 0.0
    return factor


def attributes_met(product: Product, asked: Sequence[str]) -> int:
    met = 0
    for attribute in asked:
        listed = any(token_set_ratio(has, attribute) > 85 for has in product.attributes)
        in_title = attribute in product.title.lower()
        in_features = attribute in " ".join(product.bullets).lower()
        if listed or in_title or in_features or attribute in product.description.lower():
            met += 1
    return met


def colour(value: str) -> str:
    for word in COLOURS:
        if word in value:
            return word
    return value


def options_met(chosen: Sequence[str], asked: Sequence[str]) -> int:
    met = 0
    for want in map(colour, asked):
        for value in map(colour, chosen):
            if token_set_ratio(value, want) > 85:
                met += 1
                break
    return met


def transcribed(product: Product, chosen: Sequence[str], goal: WebShopPrivate) -> float:
    asked = list(goal.options.values()) if isinstance(goal.options, dict) else goal.options
    met = attributes_met(product, goal.attributes) + options_met(chosen, asked)
    total = (met + (product.price <= goal.price_upper)) / (len(goal.attributes) + len(asked) + 1)
    total *= type_factor(product, goal)
    return total


# --- generated cases -------------------------------------------------------------------------

WORDS = (
    "long", "sleeve", "machine", "wash", "slim", "fit", "gluten", "free", "red", "wine",
    "dark-blue", "x-large", "5.5", "wide", "12", "oz", "café", "women's", "high", "quality",
    "easy", "to", "use", "closure", "naïve", "64gb", "memory", "foam", "king", "steel", "navy",
    "|", "white", "½", "Ünder", "A", "b", "—", "尺寸", "a_b",
)  # fmt: skip
NOUNS = ("dress", "lamp", "women", "summer", "cable", "shoe")
PATHS = ("A › B › C", "A › B › D", "A › X", "Y", "B›A", "")


def phrase(rng: random.Random, most: int = 4) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def misspelt(rng: random.Random, text: str) -> str:
    letters = list(text)
    for _ in range(rng.randint(0, 4)):
        place = rng.randrange(len(letters) + 1)
        letters[place : place + rng.randint(0, 1)] = rng.choice(["", "x", " ", "é", "-"])
    tokens = "".join(letters).split()
    rng.shuffle(tokens)
    return " ".join(tokens) or "x"


def generated(rng: random.Random, dress: Product) -> tuple[Product, list[str], WebShopPrivate]:
    attributes = [phrase(rng) for _ in range(rng.randint(0, 4))]
    nouns = tuple(rng.choice(NOUNS) for _ in range(rng.randint(0, 12)))
    chosen = [phrase(rng) for _ in range(rng.randint(0, 3))]
    asked = [
        misspelt(rng, rng.choice([*attributes, phrase(rng)])) for _ in range(rng.randint(1, 4))
    ]
    options = [misspelt(rng, rng.choice([*chosen, phrase(rng)])) for _ in range(rng.randint(0, 3))]
    product = Product(
        asin="B000000009",
        title=phrase(rng).title(),
        category=rng.choice(PATHS),
        query=rng.choice(["q1", "q2"]),
        description=rng.choice(["", phrase(rng, 8).upper(), asked[0]]),
        bullets=tuple(phrase(rng) for _ in range(rng.randint(0, 2))),
        options=dress.options,
        attributes=tuple(attributes),
        price=float(rng.randint(5, 40)),
        price_low=5.0,
        price_high=None,
        rating=None,
        reviews=(),
        main_image="",
        nouns=nouns,
    )
    goal = WebShopPrivate(
        asin="B000000001",
        title="",
        query=rng.choice(["q1", "q2"]),
        category=rng.choice(PATHS),
        nouns=tuple(rng.choice(NOUNS[:4]) for _ in range(rng.randint(0, 12))),
        attributes=tuple(asked),
        options=dict(enumerate_options(options)) if rng.random() < 0.5 else tuple(options),
        price_upper=rng.choice([10.0, 20.0, 30.0, 1_000_000.0]),
    )
    return product, chosen, goal


def enumerate_options(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"group {number}", value) for number, value in enumerate(values)]


def test_4000_generated_purchases_score_exactly_as_the_formula(dress: Product) -> None:
    rng = random.Random(6)
    values = set()
    for _ in range(4000):
        product, chosen, goal = generated(rng, dress)
        expected = transcribed(product, chosen, goal)
        found = score(product, chosen, goal)
        assert found.value == expected, (product, chosen, goal)
        values.add(expected)
    assert len(values) > 40
    assert {0.0, 1.0} <= values


TEXTS = st.text(st.sampled_from("ab éx½_-'Ü|9  ") | st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=500)
@given(TEXTS, TEXTS)
def test_any_option_matches_as_the_formula_has_it(dress: Product, one: str, other: str) -> None:
    goal = WebShopPrivate(
        asin="B", title="", query="", category="", nouns=("dress",), attributes=("cotton",),
        options=(other,), price_upper=1.0,
    )  # fmt: skip
    assert score(dress, [one], goal).options == options_met([one], [other])


# --- cases by hand ---------------------------------------------------------------------------


def goal_of(dress: Product, **changes: object) -> WebShopPrivate:
    fields: dict[str, object] = {
        "asin": dress.asin,
        "title": dress.title,
        "query": dress.query,
        "category": dress.category,
        "nouns": dress.nouns,
        "attributes": ("cotton", "machine washable"),
        "options": {"color": "navy blue", "size": "small"},
        "price_upper": 20.0,
        **changes,
    }
    return WebShopPrivate.model_validate(fields)


def test_the_goal_bought_as_asked_scores_one(dress: Product) -> None:
    found = score(dress, ["navy blue", "small"], goal_of(dress))
    assert found.value == 1.0
    assert found.components == {
        "type": 1.0, "title": 1.0, "attributes": 1.0, "options": 1.0, "price": 1.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "changes", "value"),
    [
        ([], {}, 3 / 5),
        (["navy blue"], {}, 4 / 5),
        (["blue", "small"], {}, 1.0),  # "navy blue" is compared as "blue", the first word found
        (["light blue denim", "small"], {"options": {"color": "blue"}}, 1.0),
        (["small"], {"options": ("small",)}, 1.0),
        (["navy blue", "small"], {"price_upper": 19.49}, 4 / 5),
        (["navy blue", "small"], {"attributes": ("silk",)}, 3 / 4),
        (["navy blue", "small"], {"attributes": ("machine wash <cold>",)}, 1.0),  # a bullet has it
        (["navy blue", "small"], {"nouns": ("lamp",)}, 0.0),
        (["navy blue", "small"], {"nouns": ("dress", *"abcdefghijk")}, 0.1),
        (
            ["navy blue", "small"],
            {"nouns": ("dress", *"abcdefg"), "query": "x", "category": "x"},
            0.5,
        ),
        (["navy blue", "small"], {"nouns": (), "query": "x", "category": "x"}, 0.5),
    ],
)
def test_what_is_missed_costs_its_share(
    dress: Product, chosen: list[str], changes: dict[str, object], value: float
) -> None:
    goal = goal_of(dress, **changes)
    assert score(dress, chosen, goal).value == transcribed(dress, chosen, goal)
    assert score(dress, chosen, goal).value == pytest.approx(value)


def test_a_ratio_is_rounded_before_it_is_compared(dress: Product) -> None:
    close = ("x-large long slip a easy", "x-large long s ip acasy")  # 85.1, which rounds to 85
    goal = goal_of(dress, options=(close[1],))
    assert score(dress, [close[0]], goal).options == 0


def test_nouns_of_another_tagger_take_the_place_of_the_catalogues(dress: Product) -> None:
    goal = goal_of(dress)
    assert score(dress, [], goal, nouns=(("dress",), ("lamp",))).value == 0.0
    assert score(dress, [], goal, nouns=(("lamp",), ("lamp",))).title == 1.0
