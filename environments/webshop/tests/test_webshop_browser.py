"""A real browser in the shop: by what is visible alone it earns what the text episode earns."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from agentgym.agents.base import Agent, Brief
from agentgym.agents.factory import make_agent
from agentgym.registry import spec
from agentgym.types import Action, Limits, Reward, Task
from agentgym_webshop.elements import find
from agentgym_webshop.env import WebShopEnvironment
from agentgym_webshop.products import Product
from agentgym_webshop.site import Visit, Visits, create_app, serve

WebShopTask = Task[Any, Any]
MakeTask = Callable[..., WebShopTask]
PROGRAM = "chromium-headless-shell"
PATIENCE_MS = 10_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which(PROGRAM)
    if program is None:
        reason = f"{PROGRAM} is not installed: apt-get install {PROGRAM}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def visits() -> Visits:
    return Visits()


@pytest.fixture(scope="module")
def address(visits: Visits) -> Iterator[str]:
    with serve(create_app(visits)) as served:
        yield served


def press(page: Page, target: Locator) -> None:
    """Click and wait for the page that it leads to; a click alone does not."""
    with page.expect_navigation():
        target.click()


class Customer:
    """Carries out a text agent's actions by labels and roles, as a person reads them."""

    def __init__(self, page: Page, visit: Visit) -> None:
        self._page = page
        self._visit = visit
        page.set_default_timeout(PATIENCE_MS)

    def carry_out(self, action: Action) -> None:
        (call,) = action.tool_calls
        assert isinstance(call.arguments, dict)
        if call.name == "search":
            self._page.get_by_label("What are you looking for?").fill(call.arguments["query"])
            press(self._page, self._page.get_by_role("button", name="Search"))
            return
        press(self._page, self._named(call.arguments["element"]))

    def _named(self, name: str) -> Locator:
        shop, session = self._visit.shop, self._visit.session
        element = find(shop.view(session).elements, name)
        if element.kind == "product":
            return self._page.get_by_role("link", name=element.label)
        if element.kind == "option":
            group = self._page.get_by_role("group", name=str(element.group), exact=True)
            return group.get_by_role("button", name=element.label, exact=True)
        if element.kind == "buy":  # the last: an option may be called so, too
            return self._page.get_by_role("button", name=element.label, exact=True).last
        return self._page.get_by_role("link", name=element.label, exact=True)


async def text_episode(agent: Agent, task: WebShopTask) -> tuple[list[Action], Reward]:
    environment = WebShopEnvironment()
    observation = await environment.reset(task, seed=0)
    told = task if agent.privileged else None
    player = await agent.begin(
        Brief(env="webshop-v1", task_id=task.id, seed=0, limits=Limits(), task=told)
    )
    actions = []
    while True:
        actions.append((await player.act(observation)).action)
        transition = await environment.step(actions[-1])
        if transition.terminated:
            return actions, transition.reward
        observation = transition.observation


def played(agent: Agent, task: WebShopTask) -> tuple[list[Action], Reward]:
    """Play in a thread: the browser's own event loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(text_episode(agent, task))).result()


OPTIONS: list[Any] = [{"color": "red", "size": "small"}, {"size": "large"}, ("blue",), ()]


@pytest.fixture(scope="module")
def tasks(make_task: MakeTask) -> list[WebShopTask]:
    """24 goals: products found on the first page and on the fifth, with and without options."""
    found = []
    for number in range(24):
        asin = f"B{[1, 2, 12, 22, 32, 45][number % 6]:09d}"
        options = {"color": "red", "strap": "red"} if number % 6 == 1 else OPTIONS[number % 4]
        task = make_task(
            options,
            asin=asin,
            oracle_query="summer dress",
            price_upper=10.0 if number % 5 == 0 else 30.0,
            task_id=f"goal-{number}",
        )
        found.append(task)
    return found


@pytest.mark.parametrize(
    ("javascript", "goals"),
    [
        (False, 4),
        pytest.param(False, 24, marks=pytest.mark.slow),
        pytest.param(True, 24, marks=pytest.mark.slow),
    ],
)
def test_goals_earn_in_a_browser_what_they_earn_in_text(
    browser: Browser,
    address: str,
    visits: Visits,
    tasks: list[WebShopTask],
    javascript: bool,
    goals: int,
) -> None:
    agents = [make_agent(name, spec("webshop")) for name in ("oracle", "rule")]
    context = browser.new_context(java_script_enabled=javascript)
    page = context.new_page()
    rewards = []
    for number, task in enumerate(tasks[:goals]):
        actions, expected = played(agents[number % 4 == 3], task)
        visit = visits.open(task)
        page.goto(f"{address}{visit.path}")
        customer = Customer(page, visit)
        for action in actions:
            customer.carry_out(action)
        assert page.get_by_role("heading", level=1).inner_text().startswith("Thank you")
        assert visit.grade() == expected
        rewards.append(expected.value)
        visits.close(visit)
    context.close()
    assert 1.0 in rewards
    assert len(set(rewards)) > 1


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    context.close()


def test_going_back_in_the_browser_goes_back_in_the_shop(
    page: Page, address: str, visits: Visits, make_task: MakeTask
) -> None:
    visit = visits.open(make_task())
    page.goto(f"{address}{visit.path}")
    page.get_by_label("What are you looking for?").fill("dress 1")
    press(page, page.get_by_role("button", name="Search"))
    press(page, page.get_by_role("link", name="B000000001"))
    for name in ("red", "large"):
        press(page, page.get_by_role("button", name=name, exact=True))
    assert visit.session.chosen == {"color": "red", "size": "large"}
    page.go_back()
    assert visit.session.chosen == {"color": "red"}
    pressed = page.get_by_role("button", pressed=True)
    assert pressed.all_inner_texts() == ["red"]
    press(page, page.get_by_role("link", name="Reviews"))
    press(page, page.get_by_role("link", name="< Prev"))
    press(page, page.get_by_role("button", name="Buy Now"))
    assert visit.session.chosen == {"color": "red"}
    page.go_back()
    assert page.url == f"{address}/done"


def test_pages_are_told_to_those_who_cannot_see_them(
    page: Page, address: str, visits: Visits, make_task: MakeTask, dress: Product
) -> None:
    visit = visits.open(make_task())
    page.goto(f"{address}{visit.path}")
    for path in ("/", "/results?q=dress+1", "/item/B000000001?q=dress+1"):
        page.goto(f"{address}{path}")
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.get_by_role("heading", level=1).count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("banner").count() == 1
        assert page.get_by_role("region", name="Instruction").is_visible()
    for group, values in dress.options.items():
        shown = page.get_by_role("group", name=group).get_by_role("button").all_inner_texts()
        assert shown == list(values)
    assert page.get_by_role("navigation", name="Shop").is_visible()
    page.goto(f"{address}/")
    assert page.get_by_role("search").get_by_role("searchbox").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("dress 1")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Results for").wait_for()
    assert visit.session.query == "dress 1"


def test_nothing_is_asked_of_any_other_host(
    page: Page, address: str, visits: Visits, make_task: MakeTask
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}{visits.open(make_task()).path}")
    page.goto(f"{address}/item/B000000001?q=dress+1")
    assert len(asked) >= 4
    assert all(url.startswith(f"{address}/") for url in asked)
