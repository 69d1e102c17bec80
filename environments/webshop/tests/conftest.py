from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.types import Task
from agentgym_webshop.building import build_catalogue
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.generator.generation import products as generated
from agentgym_webshop.products import Product, Review
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

DRESS = Product(
    asin="B000000001",
    title="Summer Dress for Women",
    category="Clothing › Women › Dresses",
    query="women's dresses",
    description="A light dress of cotton.",
    bullets=("100% cotton", "machine wash <cold>"),
    options={"color": ("navy blue", "red"), "size": ("small", "large")},
    attributes=("cotton", "machine washable"),
    price=19.5,
    price_low=19.5,
    price_high=None,
    rating=4.5,
    reviews=(Review("Lovely", 5.0, "Fits well."), Review("So so", 3.0, "Too long.")),
    main_image="",
    nouns=("summer", "dress", "women"),
)


def _built(folder: Path, products: list[Product]) -> Catalogue:
    build_catalogue(folder, products, facts={"tagger": "by-hand 1"})
    return Catalogue.open(folder)


def _product(number: int, **changes: object) -> Product:
    asin = f"B{number:09d}"
    title = f"{DRESS.title} {number}"
    return replace(DRESS, asin=asin, title=title, **changes)  # type: ignore[arg-type]


def products() -> list[Product]:
    """60 dresses, of which the second, third and fourth are odd, and one lamp."""
    dresses = [_product(number) for number in range(1, 61)]
    dresses[1] = _product(2, options={"color": ("red", "blue"), "strap": ("red", "Buy Now")})
    dresses[2] = _product(3, options={}, price=12.0, price_low=10.0, price_high=15.0)
    dresses[3] = _product(4, rating=None, reviews=(), bullets=(), description="")
    lamp = replace(
        DRESS,
        asin="B0LAMPLAMP",
        title="Floor Lamp",
        category="Home › Lighting › Lamps",
        query="lamps",
        nouns=("floor", "lamp"),
        options={},
    )
    return [*dresses, lamp]


WebShopTask = Task[WebShopPublic, WebShopPrivate]
MakeTask = Callable[..., WebShopTask]


@pytest.fixture(scope="session")
def dresses(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """Return the catalogue of `products`."""
    return _built(tmp_path_factory.mktemp("catalogues") / "dresses", products())


@pytest.fixture
def catalogue_with(tmp_path: Path) -> Callable[..., Catalogue]:
    """Return a function that makes a catalogue of the dress alone, changed as asked."""
    return lambda **changes: _built(tmp_path / "one", [replace(DRESS, **changes)])


@pytest.fixture(scope="session")
def dress() -> Product:
    return DRESS


@pytest.fixture(scope="session")
def make_task(dresses: Catalogue) -> MakeTask:
    """Return a function that makes a task for the dress, in the catalogue of `products`."""

    def make(
        options: Mapping[str, str] | tuple[str, ...] = (),
        *,
        task_id: str = "dress",
        catalogue: Catalogue = dresses,
        **changes: object,
    ) -> WebShopTask:
        public = WebShopPublic(instruction="i want a light <summer> dress", products=61)
        private = {
            "asin": DRESS.asin,
            "title": DRESS.title,
            "query": DRESS.query,
            "category": DRESS.category,
            "nouns": DRESS.nouns,
            "attributes": ("cotton",),
            "options": options,
            "price_upper": 30.0,
            "oracle_query": "dress 1",
            "catalogue": catalogue.path,
            "catalogue_digest": catalogue.digest,
            **changes,
        }
        goal = WebShopPrivate.model_validate(private)
        return Task[WebShopPublic, WebShopPrivate](id=task_id, public=public, private=goal)

    return make


@pytest.fixture(scope="session")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """Return the generated catalogue of 1,000 products."""
    folder = tmp_path_factory.mktemp("catalogues") / "thousand"
    build_catalogue(folder, generated(1000), facts={"tagger": "lexicon 1"})
    return Catalogue.open(folder)
