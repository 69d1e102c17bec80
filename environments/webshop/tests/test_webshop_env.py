"""Episodes: tools, mistakes, grades, states."""

import asyncio
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentgym.errors import UnknownNameError, UsageError
from agentgym.types import Action, Snapshot, Task, Transition, call
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.env import WebShopEnvironment
from agentgym_webshop.render import MODES

MakeTask = Callable[..., Task[Any, Any]]
ASKED = {"color": "red", "size": "large"}
SEARCH = call("search", query="dress 1")
OPEN = call("click", element="B000000001")
TO_ITEM = (SEARCH, OPEN)


def click(*elements: str) -> list[Action]:
    return [call("click", element=element) for element in elements]


async def play(environment: WebShopEnvironment, *actions: Action) -> list[Transition]:
    return [await environment.step(action) for action in actions]


async def begun(task: Task[Any, Any], *actions: Action, **options: Any) -> WebShopEnvironment:
    environment = WebShopEnvironment(**options)
    await environment.reset(task, seed=0)
    await play(environment, *actions)
    return environment


async def test_buying_as_asked_scores_one_and_ends(make_task: MakeTask) -> None:
    environment = await begun(make_task(ASKED), *TO_ITEM)
    red, large, bought = await play(environment, *click("red", "large", "Buy Now"))
    assert (red.reward.value, red.terminated, large.terminated) == (0.0, False, False)
    assert bought.terminated
    assert bought.reward.value == 1.0
    assert bought.reward.components == dict.fromkeys(
        ("type", "title", "attributes", "options", "price"), 1.0
    )
    assert bought.reward.labels == {
        "outcome": "bought", "tagger": "by-hand 1", "bought": "B000000001"
    }  # fmt: skip
    assert "1" not in bought.observation.text  # the customer is not told a grade
    assert "Thank you for shopping" in bought.observation.text


async def test_buying_without_options_scores_less(make_task: MakeTask) -> None:
    environment = await begun(make_task(ASKED), *TO_ITEM)
    (bought,) = await play(environment, *click("Buy Now"))
    assert bought.reward.value == 2 / 4
    assert bought.reward.feedback == (
        "Bought B000000001. Type 1; 1 of 1 attributes and 0 of 2 options as asked; the price is "
        "within the limit."
    )


async def test_nothing_bought_scores_nothing(make_task: MakeTask) -> None:
    environment = await begun(make_task(ASKED), *TO_ITEM, *click("red", "large"))
    grade = await environment.grade()
    assert grade.value == 0.0
    assert grade.labels["outcome"] == "nothing_bought"


async def test_the_opening_is_rules_and_the_search_page(make_task: MakeTask) -> None:
    environment = WebShopEnvironment(observation="text")
    opening = await environment.reset(make_task(), seed=0)
    rules, page = opening.messages
    assert rules.role == "system"
    assert page.text == (
        "WebShop [SEP] Instruction: [SEP] i want a light <summer> dress [SEP] Search"
    )
    assert [tool.name for tool in opening.tools] == ["search", "click"]


@pytest.mark.parametrize(
    ("actions", "mistake", "message"),
    [
        ((), call("search", query=" "), "The query is empty"),
        ((), call("search", query="x" * 100_000), "100,000 characters; 1,000 are the most"),
        ((), call("search", query="\u0130" * 501), "1,002 characters; 1,000 are the most"),
        ((), call("click", element="Search"), "Nothing here can be clicked"),
        ((SEARCH,), call("search", query="lamp"), "Click 'Back to Search' first"),
        ((SEARCH,), call("click", element="B0LAMPLAMP"), "There is no 'B0LAMPLAMP'"),
        ((SEARCH,), call("click", element="Buy Now"), "There is no 'Buy Now'"),
        ((SEARCH,), call("click", element="red"), "There is no 'red'"),
        ((SEARCH,), call("click", element="< Prev"), "There is no '< Prev'"),
        ((SEARCH,), call("click", element="Page 999999999"), "There is no 'Page 999999999'"),
        (TO_ITEM, call("click", element="Next >"), "There is no 'Next >'"),
        (TO_ITEM, call("click", element="green"), "You can click: Back to Search, < Prev, navy"),
    ],
)
async def test_a_mistake_changes_nothing_and_shows_the_page_again(
    make_task: MakeTask, actions: tuple[Action, ...], mistake: Action, message: str
) -> None:
    environment = await begun(make_task(), *actions, observation="text")
    before = await environment.fingerprint()
    (answer,) = await play(environment, mistake)
    assert answer.observation.faults == ("failed",)
    assert message in answer.observation.text
    assert "Instruction: [SEP] i want a light <summer> dress [SEP] " in answer.observation.text
    assert len(answer.observation.text) < 2000
    assert await environment.fingerprint() == before
    assert not answer.terminated


async def test_several_calls_in_a_turn_are_done_in_order(make_task: MakeTask) -> None:
    environment = await begun(make_task(ASKED))
    calls = [*TO_ITEM, *click("red", "large", "Buy Now", "Back to Search")]
    (bought,) = await play(environment, Action(tool_calls=tuple(a.tool_calls[0] for a in calls)))
    assert (bought.reward.value, bought.terminated) == (1.0, True)
    assert bought.observation.faults == ("over",)


# --- states --------------------------------------------------------------------------------


async def test_equal_pages_are_equal_states_however_they_were_reached(make_task: MakeTask) -> None:
    task = make_task()
    one = await begun(task, *TO_ITEM, *click("large", "red"))
    other = await begun(
        task, *TO_ITEM, *click("navy blue", "Reviews", "< Prev", "red", "small", "large")
    )
    assert await one.fingerprint() == await other.fingerprint()
    await play(other, *click("small"))
    assert await one.fingerprint() != await other.fingerprint()


async def test_a_page_remembers_where_it_leads_back_to(make_task: MakeTask) -> None:
    task = make_task()
    one = await begun(task, *TO_ITEM)
    other = await begun(task, call("search", query="summer dress 1"), OPEN)
    assert await one.fingerprint() != await other.fingerprint()


async def test_visited_products_count_only_where_they_are_marked(make_task: MakeTask) -> None:
    for mode in MODES:
        fresh = await begun(make_task(), SEARCH, observation=mode)
        back = await begun(make_task(), *TO_ITEM, *click("< Prev"), observation=mode)
        same = await fresh.fingerprint() == await back.fingerprint()
        assert same == (mode != "text_rich")


async def test_every_task_has_states_of_its_own(make_task: MakeTask) -> None:
    one, other = await begun(make_task()), await begun(make_task(task_id="other"))
    assert await one.fingerprint() != await other.fingerprint()


@pytest.mark.parametrize("turns", range(6))
async def test_a_snapshot_goes_on_in_another_instance(make_task: MakeTask, turns: int) -> None:
    actions = [*TO_ITEM, *click("red", "Features", "< Prev", "large", "Buy Now")]
    one = await begun(make_task(ASKED), *actions[:turns], history=3, observation="text")
    snapshot: Snapshot = pickle.loads(pickle.dumps(await one.snapshot()))
    expected = await play(one, *actions[turns:])
    other = WebShopEnvironment(history=3, observation="text")
    await other.restore(snapshot)
    assert await play(other, *actions[turns:]) == expected
    assert expected[-1].reward.value == 1.0


# --- options -------------------------------------------------------------------------------


async def test_history_puts_pages_and_actions_before_the_page(make_task: MakeTask) -> None:
    task = make_task()
    environment = WebShopEnvironment(observation="text", history=2)
    plain = WebShopEnvironment(observation="text")
    await environment.reset(task, seed=0)
    pages = [(await plain.reset(task, seed=0)).messages[-1].text]
    shown = []
    for action in [*TO_ITEM, *click("red")]:
        shown.append((await environment.step(action)).observation.text)
        pages.append((await plain.step(action)).observation.text)
    said = ["search[dress 1]", "click[B000000001]", "click[red]"]
    assert shown[0] == " [SEP] ".join([pages[0], said[0], pages[1]])
    assert shown[1] == " [SEP] ".join([pages[0], said[0], pages[1], said[1], pages[2]])
    assert shown[2] == " [SEP] ".join([pages[1], said[1], pages[2], said[2], pages[3]])


async def test_shaping_rewards_each_turn_with_what_it_brought(make_task: MakeTask) -> None:
    environment = await begun(make_task(ASKED), shaping=True)
    turns = await play(
        environment, *TO_ITEM, *click("red", "Reviews", "< Prev", "< Prev"), OPEN,
        *click("large", "red", "Buy Now"),
    )  # fmt: skip
    values = [turn.reward.value for turn in turns]
    assert values == [0.0, 0.5, 0.25, 0.0, 0.0, -0.75, 0.5, 0.25, 0.25, 1.0]
    assert turns[2].reward.components["options"] == 0.5
    assert turns[2].reward.components["type"] == 0.0
    assert sum(values[:-1]) == values[-1]


async def test_shaping_makes_no_way_better_than_buying_as_asked(make_task: MakeTask) -> None:
    ways = [
        [*TO_ITEM, *click("red", "large", "Buy Now")],
        [*TO_ITEM, *click("red", "large")],
        [*TO_ITEM, *click("red", "< Prev"), OPEN, *click("red", "Back to Search"), *TO_ITEM],
        [*TO_ITEM, *click("red", "Buy Now")],
    ]
    totals = []
    for way in ways:
        environment = await begun(make_task(ASKED), shaping=True)
        totals.append(sum(turn.reward.value for turn in await play(environment, *way)))
    assert totals == [2.0, 1.0, 0.5, 1.5]


class OtherTagger:
    """Takes every word for a noun."""

    name = "words"
    version = "7"

    def nouns(self, title: str) -> tuple[str, ...]:
        return tuple(title.lower().split())


async def test_another_tagger_is_used_and_named(make_task: MakeTask) -> None:
    environment = await begun(make_task(), *TO_ITEM, tagger=OtherTagger())
    (bought,) = await play(environment, *click("Buy Now"))
    assert bought.reward.labels["tagger"] == "words 7"
    assert bought.reward.components["title"] == 1.0
    lamp = make_task(title="a b c d e f g h i j k dress", oracle_query=None)
    environment = await begun(lamp, *TO_ITEM, tagger=OtherTagger())
    (bought,) = await play(environment, *click("Buy Now"))
    assert bought.reward.components["title"] == 1 / 12


async def test_a_tagger_may_be_named(make_task: MakeTask) -> None:
    environment = await begun(make_task(), *TO_ITEM, tagger="lexicon")
    (bought,) = await play(environment, *click("Buy Now"))
    assert bought.reward.labels["tagger"].startswith("lexicon ")
    with pytest.raises(UnknownNameError, match="Did you mean 'spacy'"):
        WebShopEnvironment(tagger="spaci")


@pytest.mark.parametrize("history", [-1, 101, 1.5, True, "2"])
def test_a_history_that_cannot_be_is_refused(history: Any) -> None:
    with pytest.raises(UsageError, match="0 to 100"):
        WebShopEnvironment(history=history)


@pytest.mark.parametrize("name", ["shaping", "show_attributes"])
def test_a_switch_is_on_or_off(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is 'False'"):
        WebShopEnvironment(**{name: "False"})  # type: ignore[arg-type]


def test_an_unknown_observation_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'markdown'"):
        WebShopEnvironment(observation="markdwn")  # type: ignore[arg-type]


# --- what is not the model's fault ---------------------------------------------------------


async def test_a_task_of_another_catalogue_is_refused(make_task: MakeTask) -> None:
    with pytest.raises(UsageError, match="was made on the catalogue other"):
        await WebShopEnvironment().reset(make_task(catalogue_digest="other"), seed=0)


async def test_a_catalogue_that_is_not_there_is_said_to_be_missing(
    make_task: MakeTask, tmp_path: Path
) -> None:
    task = make_task(catalogue=SimpleNamespace(path=tmp_path / "none", digest=None))
    with pytest.raises(UsageError, match="no such folder"):
        await WebShopEnvironment().reset(task, seed=0)


async def test_a_damaged_product_is_no_score(
    make_task: MakeTask, catalogue_with: Callable[..., Catalogue]
) -> None:
    catalogue = catalogue_with()
    environment = await begun(make_task(catalogue=catalogue))
    with (catalogue.path / "products.bin").open("r+b") as record:
        record.seek(40)
        record.write(b"\xff")
    with pytest.raises(UsageError, match="checksum"):
        await play(environment, call("search", query="summer"))


async def test_many_at_once_play_as_they_would_alone(make_task: MakeTask) -> None:
    task = make_task(ASKED)
    actions = [*TO_ITEM, *click("red", "large", "Reviews", "nothing", "< Prev", "Buy Now")]
    alone = await play(await begun(task), *actions)

    async def among_others() -> list[Transition]:
        environment = await begun(task)
        found = []
        for action in actions:
            found.append(await environment.step(action))
            await asyncio.sleep(0)
        return found

    for turns in await asyncio.gather(*(among_others() for _ in range(1000))):
        assert turns == alone
