"""Agents that know the goal: the oracle, and the paper's choice oracle."""

from collections.abc import Generator, Iterable
from typing import TypeAlias

from agentgym.types import Action, Observation, call
from agentgym_webshop.choice import best_options
from agentgym_webshop.elements import Element
from agentgym_webshop.opening import WebShopTask, catalogue_of
from agentgym_webshop.reward import score
from agentgym_webshop.session import Session
from agentgym_webshop.shop import LONGEST_QUERY, Shop

Plan: TypeAlias = Generator[Action, Observation, None]


def oracle(task: WebShopTask, observation: Observation) -> Plan:
    """Search until the goal's product is found, choose its options and buy it."""
    shop = Shop(catalogue_of(task))
    place = shop.catalogue.find(task.private.asin)
    for query in _queries(task):
        found = shop.search(Session(), query)
        if place in found.hits:
            yield from _buy(shop, task, query, place)
            return


def choice_oracle(task: WebShopTask, observation: Observation) -> Plan:
    """Search for the instruction, then buy what scores most of everything found.

    It tells what is lost by searching from what is lost by choosing (Yao et al., 2022, section
    5.2).
    """
    shop = Shop(catalogue_of(task))
    query = task.public.instruction[:LONGEST_QUERY]
    hits = shop.search(Session(), query).hits
    if hits:
        yield from _buy(shop, task, query, max(hits, key=lambda place: _best(shop, task, place)))


def _queries(task: WebShopTask) -> Iterable[str]:
    private = task.private
    for query in (private.oracle_query, private.title, task.public.instruction, private.query):
        if query and query.strip():
            yield query[:LONGEST_QUERY]


def _best(shop: Shop, task: WebShopTask, place: int) -> float:
    product = shop.catalogue.product(place)
    options = [value for _, value in best_options(product, task.private)]
    return score(product, options, task.private).value


def _buy(shop: Shop, task: WebShopTask, query: str, place: int) -> Plan:
    """Yield the turns from the search page to the purchase."""
    yield call("search", query=query)
    session = shop.search(Session(), query)
    wanted = dict(best_options(shop.catalogue.product(place), task.private))
    while session.page != "done":
        element = _next(shop.view(session).elements, place, wanted)
        yield call("click", element=element.name)
        session = shop.click(session, element)


def _next(elements: Iterable[Element], place: int, wanted: dict[str, str]) -> Element:
    """Return what leads on: the product or a missing option, else the next page or buying."""
    for element in elements:
        if element.kind == "product" and element.place == place:
            return element
        if element.kind == "option" and _missing(element, wanted):
            return element
    by_kind = {element.kind: element for element in elements}
    return by_kind["next"] if "next" in by_kind else by_kind["buy"]


def _missing(option: Element, wanted: dict[str, str]) -> bool:
    return not option.chosen and wanted.get(str(option.group)) == option.label
