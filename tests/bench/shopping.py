"""Shopping trips through the web shop, the same in every run, for the bench."""

from collections.abc import Iterator

from agentgym.types import Action, Task, call
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.elements import Element
from agentgym_webshop.session import Session
from agentgym_webshop.shop import Shop
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

TRIPS = 100
WORDS = 5

Trip = list[Action]


def trips(catalogue: Catalogue) -> list[Trip]:
    """Return visits of about ten turns: two products are looked at, the second is bought."""
    shop = Shop(catalogue)
    step = max(1, len(catalogue) // TRIPS)
    products = (catalogue.product(place) for place in range(0, len(catalogue), step))
    queries = (" ".join(product.title.split()[:WORDS]) for product in products)
    found = (list(_trip(shop, query)) for query in queries)
    return [trip for trip in found if len(trip) > 1][:TRIPS]


def task(catalogue: Catalogue) -> Task[WebShopPublic, WebShopPrivate]:
    """Return a task for the catalogue's first product."""
    product = catalogue.product(0)
    goal = WebShopPrivate(
        asin=product.asin,
        title=product.title,
        query=product.query,
        category=product.category,
        nouns=product.nouns,
        attributes=product.attributes[:2] or ("any",),
        options={group: values[0] for group, values in product.options.items()},
        price_upper=product.price + 10,
    )
    instruction = f"i am looking for {product.title}, and price lower than {goal.price_upper}"
    public = WebShopPublic(instruction=instruction, products=len(catalogue))
    return Task[WebShopPublic, WebShopPrivate](id="bench", public=public, private=goal)


def _trip(shop: Shop, query: str) -> Iterator[Action]:
    session = shop.search(Session(), query)
    yield call("search", query=query)
    if not session.hits:
        return
    for kinds in ("next", "product", "option", "option", "sub_page", "prev", "prev", "product"):
        element = _last(shop, session, kinds)
        if element is not None:
            session = shop.click(session, element)
            yield call("click", element=element.name)
    yield call("click", element="Buy Now")


def _last(shop: Shop, session: Session, kind: str) -> Element | None:
    found = shop.view(session).of_kind(kind)
    return next((element for element in reversed(found) if not element.chosen), None)
