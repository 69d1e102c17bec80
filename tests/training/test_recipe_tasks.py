"""Which tasks are played, how long, and with what help."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym import call
from agentgym.errors import UsageError
from agentgym.training.recipes.base import Recipe, Result
from agentgym.training.recipes.curriculum import Difficulty, Horizon
from agentgym.training.recipes.guidance import Guidance
from agentgym.training.recipes.sampler import TaskSampler
from agentgym.training.recipes.selection import Selection, SuccessRates
from tests.environments import CounterEnvironment, counter_task
from tests.training.corridor import Corridor, make_trainer

torch.set_num_threads(1)


def group(task_id: str, wins: int, size: int = 4, unscored: int = 0) -> list[Result]:
    scored = [Result(task_id, float(at < wins), at < wins) for at in range(size - unscored)]
    return [*scored, *[Result(task_id, None, False)] * unscored]


class Weighs(Recipe):
    def __init__(self, **weights: float) -> None:
        self.of = weights

    def weights(self, task_ids: Sequence[str]) -> list[float]:
        return [self.of[task_id] for task_id in task_ids]


def sampler(*recipes: Recipe, tasks: str = "abcd", groups: int = 2) -> TaskSampler:
    return TaskSampler(list(tasks), recipes, group_size=3, groups=groups, repeats=2, seed=5)


def test_a_batch_is_laid_out_as_trl_does() -> None:
    drawn = list(sampler())
    assert len(drawn) == len(sampler()) == 2 * 2 * 3 * 2
    for at in range(0, len(drawn), 12):
        batch = drawn[at : at + 12]
        assert batch[:6] == batch[6:]
        assert batch[0] == batch[1] == batch[2] != batch[3] == batch[4] == batch[5]


def test_tasks_are_drawn_by_the_product_of_weights() -> None:
    recipes = (Weighs(a=3.0, b=1.0, c=1.0, d=0.0), Weighs(a=1.0, b=1.0, c=0.0, d=5.0))
    drawing = sampler(*recipes, groups=1)
    counts = Counter(number for _ in range(300) for number in drawing)
    assert counts[2] == counts[3] == 0
    assert 0.7 < counts[0] / sum(counts.values()) < 0.8
    few = sampler(*recipes, groups=3)  # a batch is filled all the same
    assert {0, 1} < set(islice(few, 18))


def test_every_rank_draws_the_same() -> None:
    assert list(sampler(Weighs(a=1, b=2, c=3, d=4))) == list(sampler(Weighs(a=1, b=2, c=3, d=4)))


def test_a_batch_needs_enough_tasks() -> None:
    with pytest.raises(UsageError, match="needs 5 tasks, and there are 4"):
        sampler(groups=5)


def test_the_trainer_draws_by_the_recipes(tmp_path: Path) -> None:
    corridor = Corridor()
    recipes = [Weighs(a=0.0, b=1.0, c=0.0)]
    make_trainer(tmp_path, corridor, tasks=("a", "b", "c"), recipes=recipes, max_steps=5).train()
    assert set(corridor.played) == {"b"}


def test_a_success_rate_decays() -> None:
    rates = SuccessRates(decay=0.5)
    assert rates["a"] == 0.5
    rates.add("a", 4, 4)
    assert rates["a"] == 4.5 / 5
    rates.add("a", 0, 4)
    assert rates["a"] == 2.25 / 6.5
    assert rates["b"] == 0.5


@given(st.lists(st.integers(0, 8), min_size=30, max_size=30), st.floats(0.1, 0.9))
def test_a_success_rate_follows_what_is_played(wins: list[int], decay: float) -> None:
    rates = SuccessRates(decay=decay)
    for count in wins:
        rates.add("a", count, 8)
        assert 0 < rates["a"] < 1
    for _ in range(200):
        rates.add("a", 8, 8)
    assert rates["a"] > 0.99


def test_tasks_between_success_and_failure_are_preferred() -> None:
    selection = Selection(floor=0.05)
    assert selection.weights(["hard"]) is None
    for _ in range(20):
        selection.results([group("easy", 4), group("hard", 0), group("half", 2)])
    selection.results([group("broken", 0, unscored=4)])
    easy, hard, half, broken = selection.weights(["easy", "hard", "half", "broken"]) or []
    assert easy < 0.5 > hard
    assert half == pytest.approx(1 - 2 * 0.5**4, abs=0.01)
    assert broken == half  # what could not be scored tells nothing
    sure = Selection(decay=0.99, floor=0.2)
    for _ in range(400):
        sure.results([group("easy", 4)])
    assert sure.weights(["easy"]) == [0.2]


@pytest.mark.parametrize(
    ("growth", "expected"), [("double", [2, 2, 4, 8, 10, 10]), ("add", [2, 2, 4, 6, 8, 10])]
)
def test_the_horizon_grows(growth: str, expected: list[int]) -> None:
    horizon = Horizon(first=2, last=10, every=5, growth=growth)  # type: ignore[arg-type]
    found = []
    for step in (0, 4, 5, 10, 15, 20):
        horizon.begin(step)
        found.append(horizon.turns)
    assert found == expected
    with pytest.raises(UsageError, match="from 3 to 2 turns"):
        Horizon(first=3, last=2, every=1)


async def test_the_horizon_cuts_episodes_with_their_grade() -> None:
    horizon = Horizon(first=2, last=4, every=1)
    environment = horizon.wrap(CounterEnvironment())
    await environment.reset(counter_task(3), seed=0)
    assert not (await environment.step(call("add", amount=1))).over
    cut = await environment.step(call("add", amount=2))
    assert (cut.terminated, cut.truncated, cut.reward.value) == (False, True, 1.0)
    horizon.begin(1)
    await environment.reset(counter_task(3), seed=0)
    for _ in range(3):
        assert not (await environment.step(call("add", amount=0))).over
    done = await environment.step(call("submit"))
    assert (done.terminated, done.truncated) == (True, False)
    await environment.close()


async def test_a_wrapper_goes_back_with_what_it_wraps() -> None:
    environment = Horizon(first=3, last=3, every=1).wrap(CounterEnvironment())
    first = await environment.reset(counter_task(3), seed=0)
    before, state = await environment.snapshot(), await environment.fingerprint()
    for _ in range(2):
        await environment.step(call("add", amount=1))
    assert await environment.restore(before) == first
    assert await environment.fingerprint() == state
    over = [(await environment.step(call("add", amount=1))).over for _ in range(3)]
    assert over == [False, False, True]


def levelled() -> Difficulty:
    levels = ("easy", "easy", "medium", "hard")
    tasks = [counter_task(n, tags={"difficulty": one}) for n, one in enumerate(levels, start=1)]
    return Difficulty(tasks, "difficulty", ["easy", "medium", "hard"], review=0.3)


def test_a_level_opens_when_the_one_below_is_mastered() -> None:
    difficulty = levelled()
    ids = ["count-1", "count-2", "count-3", "count-4"]
    assert difficulty.weights(ids) == [1.0, 1.0, 0.0, 0.0]
    difficulty.results([group("count-1", 0), group("count-2", 4)])
    assert difficulty.open == 0
    for _ in range(10):
        difficulty.results([group("count-1", 4), group("count-2", 4)])
    assert difficulty.weights(ids) == [0.3, 0.3, 1.0, 0.0]
    for _ in range(10):
        difficulty.results([group("count-1", 0), group("count-3", 4)])
    assert difficulty.weights(ids) == [0.3, 0.3, 0.3, 1.0]
    difficulty.results([group("count-4", 4)] * 20)
    assert difficulty.open == 2


def test_every_task_needs_a_level() -> None:
    with pytest.raises(UsageError, match="'count-1' has difficulty 'odd'"):
        Difficulty([counter_task(tags={"difficulty": "odd"})], "difficulty", ["easy"])
    with pytest.raises(UsageError, match="'count-1' has difficulty ''"):
        Difficulty([counter_task()], "difficulty", ["easy"])


async def test_guidance_comes_after_failure_and_goes_after_success() -> None:
    guidance = Guidance(lambda task: f"Add {task.public.target}.", patience=2)
    environment = guidance.wrap(CounterEnvironment())
    task = counter_task(3)

    async def first() -> str:
        return (await environment.reset(task, seed=0)).messages[-1].text

    assert await first() == "Count to 3."
    guidance.results([group(task.id, 0)])
    assert await first() == "Count to 3."
    guidance.results([group(task.id, 0), group("other", 1)])
    assert await first() == "Add 3."
    assert not guidance.guides("other")
    guidance.results([group(task.id, 0, unscored=4)])
    assert await first() == "Add 3."
    guidance.results([group(task.id, 1)])
    assert await first() == "Count to 3."
    guidance.results([group(task.id, 0)])
    assert await first() == "Count to 3."


def test_guidance_that_does_not_help_is_given_up_for_a_while() -> None:
    guidance = Guidance(lambda task: "", patience=1, limit=2)
    seen = []
    for _ in range(6):
        guidance.results([group("a", 0)])
        seen.append(guidance.guides("a"))
    assert seen == [True, True, False, True, True, False]
