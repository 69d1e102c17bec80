"""The environment under turns that no agent of good will takes."""

from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.env import Environment
from agentgym.errors import UsageError
from agentgym.tasks import load_tasks
from agentgym.types import Action, Task, call


async def begun(task: Task[Any, Any], **options: Any) -> Environment:
    environment = agentgym.make("tools", **options)
    await environment.reset(task, seed=0)
    return environment


def own_task(task_id: str) -> Task[Any, Any]:
    return next(iter(load_tasks(agentgym.spec("tools")).select(ids=[task_id])))


@pytest.mark.parametrize("task_id", ["clinic-book-checkup-morning", "broadband-fibre-cat"])
@pytest.mark.parametrize(
    "text",
    [
        "7" * 5000,
        "#" * 300_000,
        "wait" + " " * 300_000 + "and",
        "wait, " * 100_000,
        "\ud800 is it?",
    ],
    ids=["digits", "hashes", "blanks", "commas", "surrogate"],
)
async def test_any_words_are_answered(task_id: str, text: str) -> None:
    environment = await begun(own_task(task_id))
    transition = await environment.step(Action(text=text))
    assert transition.observation.text
    assert not transition.over
    assert (await environment.grade()).value == 0


async def test_what_was_said_before_is_part_of_the_state() -> None:
    task = own_task("clinic-book-checkup-morning")
    prints = []
    for first in ("The fee is 10.", "The fee is 20."):
        environment = await begun(task)
        for text in (first, "One moment."):
            await environment.step(Action(text=text))
        prints.append(await environment.fingerprint())
    assert prints[0] != prints[1]


@pytest.mark.parametrize("bags", [10**4299, 10**400, 10**299, -(10**299)])
async def test_no_number_of_bags_breaks_the_airline(small_tau2: Path, bags: int) -> None:
    tasks = load_tasks(agentgym.spec("tools"), str(small_tau2 / "airline"))
    environment = await begun(next(iter(tasks)))
    change = {"total_baggages": bags, "nonfree_baggages": bags, "payment_id": "card"}
    await environment.step(call("update_reservation_baggages", reservation_id="R1", **change))
    assert await environment.fingerprint()
    assert (await environment.grade()).components


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user_temperature": "warm"}, "temperature of the model 'm' is 'warm'"),
        ({"user_model": 5}, "is 5"),
        ({"user_base_url": ["x"]}, "base_url"),
        ({"user_seed": "x"}, "user_seed is 'x'. Give a whole number"),
        ({"judge_model": ["j"]}, "valid string"),
    ],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        agentgym.make("tools", **{"user": "llm", "user_model": "m", **options})
