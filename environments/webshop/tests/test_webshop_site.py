"""The web site by its protocol: pages, visits, and what stays out of a browser's reach."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from html import unescape
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from agentgym.errors import EnvironmentFailedError, EnvironmentLostError, UsageError
from agentgym.types import Task
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.site import Visit, Visits, create_app, serve

MakeTask = Callable[..., Task[Any, Any]]
ASKED = {"color": "red", "size": "large"}
ITEM = "/item/B000000001?q=dress+1&page=1"


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def visits() -> Visits:
    return Visits()


@pytest.fixture(scope="module")
def address(visits: Visits) -> Iterator[str]:
    with serve(create_app(visits)) as served:
        yield served


@pytest.fixture
def visit(visits: Visits, make_task: MakeTask) -> Iterator[Visit]:
    opened = visits.open(make_task(ASKED))
    yield opened
    visits.close(opened)


@pytest.fixture
def browser(address: str, visit: Visit) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, follow_redirects=True) as client:
        assert client.get(visit.path).url.path == "/"
        yield client


def test_pages_lead_to_a_purchase_with_the_text_environments_reward(
    browser: httpx.Client, visit: Visit
) -> None:
    assert "B000000001" in browser.get("/results", params={"q": "Dress 1"}).text
    assert visit.session.page == "results"
    browser.get(ITEM)
    browser.get(f"{ITEM}&option=0-1&option=1-1")
    assert visit.session.options == (("color", "red"), ("size", "large"))
    assert visit.grade().value == 0.0
    thanks = browser.post("/buy/B000000001?q=dress+1&page=1&option=0-1&option=1-1")
    assert thanks.url.path == "/done"
    assert visit.grade().value == 1.0


def test_the_first_purchase_counts(browser: httpx.Client, visit: Visit) -> None:
    browser.post("/buy/B000000001?q=dress+1")
    before = visit.grade()
    assert before.value == 1 / 2
    assert browser.post("/buy/B000000001?q=dress+1&option=0-1&option=1-1").url.path == "/done"
    assert browser.get(ITEM).url.path == "/done"
    assert visit.grade() == before


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/results?q=dress&page=0",
        "/results?q=dress&page=6",
        "/results?q=dress&page=99999999999999999999",
        "/results?q=dress&page=-1",
        "/results?q=dress&page=one",
        "/item/B000000001?q=lamp",  # not among what was found
        "/item/B0NOTTHERE?q=dress",
        "/item/B000000001",
        f"{ITEM}&option=9-9",
        f"{ITEM}&option=0",
        f"{ITEM}&option=0-1%00",
        "/item/B000000001/attributes?q=dress+1",
        "/item/B000000001/results?q=dress+1",
        "/item/B000000001/next?q=dress+1",
        "/item/B000000001/buy-now?q=dress+1",
    ],
)
def test_an_address_that_no_click_leads_to_is_not_found(
    browser: httpx.Client, visit: Visit, path: str
) -> None:
    before = visit.session
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert visit.session == before


@pytest.mark.parametrize("query", ["", "%20", "x" * 1001])
def test_a_query_that_cannot_be_is_said_on_the_search_page(
    browser: httpx.Client, visit: Visit, query: str
) -> None:
    answer = browser.get(f"/results?q={query}")
    assert answer.status_code == 400
    assert 'role="alert">The query' in answer.text
    assert visit.session.page == "search"


def test_every_link_of_the_longest_query_leads_on(browser: httpx.Client) -> None:
    query = "\u0130" * 497 + " dress"  # lower case takes two characters for each
    found = browser.get("/results", params={"q": query})
    assert found.status_code == 200
    links = re.findall(r'href="(/(?:item|results)[^"]*)"', found.text)
    assert len(links) > 10
    for link in links:
        assert browser.get(unescape(link)).status_code == 200
    assert browser.get("/results", params={"q": f"\u0130{query}"}).status_code == 400


@pytest.mark.parametrize("length", [60_000, 100_000, 1_000_000])
def test_an_address_without_measure_is_refused(
    browser: httpx.Client, visit: Visit, length: int
) -> None:
    with closing(HTTPConnection(str(browser.base_url.host), browser.base_url.port)) as connection:
        connection.putrequest("GET", f"/results?q={'x' * length}")
        connection.putheader("Cookie", f"visit={visit.key}")
        with suppress(BrokenPipeError, ConnectionResetError):  # it hung up before all was sent
            connection.endheaders()
            assert connection.getresponse().status == 400
    assert browser.get("/").status_code == 200
    assert visit.session.page == "search"


def test_without_a_visit_the_shop_is_closed(address: str) -> None:
    with httpx.Client(base_url=address) as stranger:
        for path in ("/", "/results?q=dress", ITEM, "/done", "/visit/guess"):
            answer = stranger.get(path)
            assert answer.status_code == 403
            assert "The shop is closed" in answer.text
        assert stranger.post("/buy/B000000001?q=dress+1").status_code == 403
        assert stranger.get("/", headers={"cookie": "visit=guess"}).status_code == 403


def test_two_visits_do_not_mix(address: str, visits: Visits, make_task: MakeTask) -> None:
    one, other = visits.open(make_task(ASKED)), visits.open(make_task(ASKED))
    with httpx.Client(base_url=address, follow_redirects=True) as first:
        first.get(one.path)
        first.post("/buy/B000000001?q=dress+1")
    assert one.over
    assert not other.over
    assert one.key != other.key
    visits.close(one)
    visits.close(other)


def test_pages_tell_nothing_private_and_load_nothing_from_elsewhere(
    browser: httpx.Client, visit: Visit
) -> None:
    private = visit.task.private
    secrets = [private.query, private.category, "cotton</", "30.0", visit.key]
    for path in ("/", "/results?q=lamp", ITEM, f"{ITEM}&option=0-1", "/nothing"):
        answer = browser.get(path)
        assert not [secret for secret in secrets if secret in answer.text], path
        assert "<script" not in answer.text
        assert "://" not in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
    done = browser.post("/buy/B000000001?q=dress+1").text
    assert "0.5" not in done
    assert "reward" not in done.lower()


def test_the_cookie_is_out_of_reach_of_pages(address: str, visit: Visit) -> None:
    cookie = httpx.get(f"{address}{visit.path}").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_what_customers_write_is_shown_and_never_markup(browser: httpx.Client) -> None:
    page = browser.get("/results", params={"q": "<b>dress</b>"}).text
    assert "&lt;b&gt;dress&lt;/b&gt;" in page
    assert "i want a light &lt;summer&gt; dress" in page


# --- visits ----------------------------------------------------------------------------------


def test_visits_are_bounded_and_idle_ones_make_room(make_task: MakeTask) -> None:
    clock = Clock()
    visits = Visits(capacity=2, idle_s=60.0, clock=clock)
    first, second = visits.open(make_task()), visits.open(make_task())
    clock.now = 50.0
    with pytest.raises(UsageError, match="2 visits are open, all in use"):
        visits.open(make_task())
    assert visits.find(first.key) is first
    clock.now = 90.0
    third = visits.open(make_task())
    assert visits.find(second.key) is None
    assert visits.find(first.key) is first
    with pytest.raises(EnvironmentLostError, match="given up for another"):
        second.grade()
    visits.close(third)
    visits.close(third)
    assert len(visits) == 1


def test_an_idle_visit_is_kept_as_long_as_there_is_room(make_task: MakeTask) -> None:
    clock = Clock()
    visits = Visits(capacity=2, idle_s=60.0, clock=clock)
    first = visits.open(make_task())
    clock.now = 90.0
    visits.open(make_task())
    assert visits.find(first.key) is first


def test_a_product_list_redirects_to_no_other_host(visit: Visit, address: str) -> None:
    answer = httpx.get(f"{address}/results/", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 404


def test_a_closed_visit_is_graded_and_not_served(visit: Visit, visits: Visits) -> None:
    visits.close(visit)
    assert visits.find(visit.key) is None
    assert visit.grade().labels["outcome"] == "nothing_bought"


def test_a_shop_that_breaks_is_no_score(
    address: str, visits: Visits, make_task: MakeTask, catalogue_with: Callable[..., Catalogue]
) -> None:
    catalogue = catalogue_with()
    visit = visits.open(make_task(catalogue=catalogue))
    with (catalogue.path / "products.bin").open("r+b") as record:
        record.seek(40)
        record.write(b"\xff")
    with httpx.Client(base_url=address, follow_redirects=True) as browser:
        browser.get(visit.path)
        answer = browser.get("/item/B000000001?q=summer")
        assert answer.status_code == 500
        assert "The shop is out of order" in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert browser.get("/").status_code == 200
    with pytest.raises(EnvironmentFailedError, match="checksum"):
        visit.grade()
    visits.close(visit)


def test_visits_are_opened_from_many_threads(make_task: MakeTask) -> None:
    visits = Visits(capacity=400)
    task = make_task()

    def open_some() -> None:
        for _ in range(100):
            visits.open(task)

    threads = [threading.Thread(target=open_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(visits) == 400


def test_a_server_that_stopped_has_freed_its_port(visits: Visits) -> None:
    with serve(create_app(visits)) as served:
        port = int(served.rpartition(":")[2])
        assert httpx.get(served).status_code == 403
    with pytest.raises(httpx.ConnectError):
        httpx.get(served)
    with serve(create_app(visits), port=port) as again:
        assert again == served
