"""The BFCL environment through its protocol: turns, calls in both forms, limits, hostile calls."""

import asyncio
import pickle
from decimal import getcontext
from importlib import import_module

import pytest

from agentgym import Action, Task, Transition, call, load_tasks
from agentgym.evaluation.conformance import check_environment
from agentgym.tasks import TaskSet
from agentgym_tools.bfcl import SPEC
from agentgym_tools.bfcl.env import LAST, MORE, BfclEnvironment
from agentgym_tools.bfcl.oracle import oracle
from agentgym_tools.bfcl.schemas import parameters
from agentgym_tools.bfcl.syntax import parse_gold
from agentgym_tools.bfcl.tasks import STEPS, BfclPrivate, BfclPublic
from agentgym_tools.bfcl.wheel import entries

BfclTask = Task[BfclPublic, BfclPrivate]
DONE = Action(text="Done.")


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return load_tasks(SPEC)


def one(tasks: TaskSet, task_id: str) -> BfclTask:
    return tasks.select(ids=[task_id]).tasks[0]


def with_api(tasks: TaskSet, api: str, category: str = "base") -> BfclTask:
    """Return the first task of a category that has all functions of an API class."""
    found = ((task, entries()[task.public.entry]) for task in tasks)
    return next(
        task
        for task, entry in found
        if entry.category == category and api in entry.classes and not entry.excluded
    )


async def begun(task: BfclTask) -> BfclEnvironment:
    env = BfclEnvironment()
    await env.reset(task, seed=0)
    return env


def fault(transition: Transition) -> str | None:
    return transition.observation.messages[-1].fault


async def test_words_move_on_to_the_next_request(tasks: TaskSet) -> None:
    task = one(tasks, "multi_turn_base_0")
    env = BfclEnvironment()
    opening = await env.reset(task, seed=0)
    assert opening.messages[-1].text == task.public.requests[0]
    for request in (*task.public.requests[1:], LAST):
        transition = await env.step(DONE)
        assert transition.observation.text == request
    assert transition.terminated
    assert transition.reward.value == 0
    assert transition.reward.labels == {"outcome": "no_call"}


async def test_a_turn_may_take_several_steps(tasks: TaskSet) -> None:
    env = await begun(one(tasks, "multi_turn_base_0"))
    first = await env.step(call("cd", folder="document"))
    assert first.observation.messages[0].role == "tool"
    assert first.observation.text == '{"current_working_directory": "document"}'
    await env.step(call("mkdir", dir_name="temp"))
    await env.step(call("mv", source="final_report.pdf", destination="temp"))
    await env.step(DONE)
    assert (await env.grade()).components == {"state": 0.25, "responses": 0.25, "progress": 0.25}


async def test_calls_written_as_text_do_the_same(tasks: TaskSet) -> None:
    task = one(tasks, "multi_turn_base_0")
    native, written = await begun(task), await begun(task)
    await native.step(call("cd", folder="document"))
    transition = await written.step(Action(text="[cd(folder='document')]"))
    message = transition.observation.messages[0]
    assert (message.role, message.text) == ("user", 'cd: {"current_working_directory": "document"}')
    assert await native.fingerprint() == await written.fingerprint()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[no_such_function(a=1)]", "unknown_tool"),
        ("[__init__(a=1)]", "unknown_tool"),
        ("[_load_scenario(scenario={})]", "unknown_tool"),
        ("[cd(folder=1)]", "bad_arguments"),
        ("[cd(path='a')]", "bad_arguments"),
        ("[cd('document')]", "no_call"),
        ("[cd(folder=open('/etc/passwd').read())]", "no_call"),
    ],
)
async def test_wrong_calls_as_text_are_mistakes_and_change_nothing(
    tasks: TaskSet, text: str, kind: str
) -> None:
    env = await begun(one(tasks, "multi_turn_base_0"))
    transition = await env.step(Action(text=text))
    assert fault(transition) == kind
    assert not transition.over
    ls = await env.step(call("ls"))
    assert ls.observation.text == '{"current_directory_content": ["document", "archive"]}'


async def test_withheld_functions_come_at_their_turn_and_excluded_ones_never(
    tasks: TaskSet,
) -> None:
    env = BfclEnvironment()
    observation = await env.reset(one(tasks, "multi_turn_miss_func_0"), seed=0)
    assert fault(await env.step(call("sort", file_name="a"))) == "unknown_tool"
    for _ in range(3):
        assert "sort" not in {tool.name for tool in observation.tools}
        observation = (await env.step(DONE)).observation
    assert observation.text == MORE
    offered = {tool.name for tool in observation.tools}
    assert "sort" in offered
    assert "cp" not in offered


async def test_too_many_steps_in_a_turn_end_the_conversation(tasks: TaskSet) -> None:
    env = await begun(one(tasks, "multi_turn_base_0"))
    for _ in range(STEPS):
        transition = await env.step(call("pwd"))
        assert not transition.over
    transition = await env.step(call("cd", folder="document"))
    assert transition.terminated
    assert fault(transition) == "over"
    assert transition.reward.value == 0
    assert transition.reward.labels == {"outcome": "unfinished"}


async def test_malformed_text_counts_as_a_step_too(tasks: TaskSet) -> None:
    env = await begun(one(tasks, "multi_turn_base_0"))
    for _ in range(STEPS):
        assert not (await env.step(Action(text="[cd('document')]"))).over
    assert (await env.step(Action(text="[pwd()]"))).terminated


async def test_a_snapshot_forks_an_episode(tasks: TaskSet) -> None:
    task = one(tasks, "multi_turn_long_context_0")
    env = await begun(task)
    await env.step(call("cd", folder="document"))
    snapshot = pickle.loads(pickle.dumps(await env.snapshot()))
    before = await env.fingerprint()
    await env.step(call("rm", file_name="final_report.pdf"))
    assert await env.fingerprint() != before
    fork = BfclEnvironment()
    await fork.restore(snapshot)
    assert await fork.fingerprint() == before
    answer = await fork.step(call("pwd"))
    assert "document" in answer.observation.text


async def test_fingerprints_tell_a_shared_file_from_an_equal_one(tasks: TaskSet) -> None:
    # cp of a directory shares its files with the original, so that a later write shows in both.
    made = []
    for copied in (True, False):
        env = await begun(with_api(tasks, "GorillaFileSystem", "long_context"))
        await env.step(call("mkdir", dir_name="a"))
        await env.step(call("cd", folder="a"))
        await env.step(call("touch", file_name="f"))
        await env.step(call("cd", folder=".."))
        if copied:
            await env.step(call("cp", source="a", destination="b"))
        else:
            await env.step(call("mkdir", dir_name="b"))
            await env.step(call("cd", folder="b"))
            await env.step(call("touch", file_name="f"))
            await env.step(call("cd", folder=".."))
        made.append(env._apis.state())
    assert made[0] != made[1]


async def test_fingerprints_tell_when_a_turn_went_wrong(tasks: TaskSet) -> None:
    task = one(tasks, "multi_turn_base_199")
    calls = [[parse_gold(source, parameters()) for source in turn] for turn in task.private.gold]
    in_time = [*calls[0], None, *calls[1], None]
    late = [None, *calls[0], *calls[1], None]
    prints, shares = [], []
    for moves in (in_time, late):
        env = await begun(task)
        for move in moves:
            await env.step(DONE if move is None else call(move[0], **move[1]))
        prints.append(await env.fingerprint())
        shares.append((await env.grade()).components["state"])
    assert shares[0] > shares[1]
    assert prints[0] != prints[1]


async def test_lists_that_are_defaults_are_not_shared(tasks: TaskSet) -> None:
    task = with_api(tasks, "TwitterAPI")
    for _ in range(2):
        env = await begun(task)
        login = env._apis.instances["TwitterAPI"]
        await env.step(
            call("authenticate_twitter", username=login.username, password=login.password)
        )
        posted = await env.step(call("post_tweet", content="x"))
        assert '"mentions": []' in posted.observation.text
        number = login.tweet_counter - 1
        await env.step(call("mention", tweet_id=number, mentioned_usernames=["@a"]))
        assert login.tweets[number]["mentions"] == ["@a"]


async def test_long_context_records_are_not_shared(tasks: TaskSet) -> None:
    task = with_api(tasks, "TravelAPI", "long_context")
    first, second = await begun(task), await begun(task)
    cards = first._apis.instances["TravelAPI"].credit_card_list
    number = next(reversed(cards))
    first._apis.instances["TravelAPI"]._set_card_balance(number, -1)
    assert second._apis.instances["TravelAPI"].credit_card_list[number]["balance"] != -1
    assert (await begun(task))._apis.instances["TravelAPI"].credit_card_list[number][
        "balance"
    ] != -1


HOSTILE_SUMS = [
    ("power", {"base": 10, "exponent": 10**9}),
    ("power", {"base": 10**99, "exponent": 10**9}),
    ("logarithm", {"value": 2, "base": 3, "precision": 10**9}),
    ("square_root", {"number": 2, "precision": 10**9}),
    ("round_number", {"number": 5, "decimal_places": -(10**9)}),
    ("add", {"a": 10**200, "b": 1}),
]


@pytest.mark.parametrize(("name", "arguments"), HOSTILE_SUMS)
async def test_numbers_without_measure_are_refused(
    tasks: TaskSet, name: str, arguments: dict[str, int]
) -> None:
    env = await begun(with_api(tasks, "MathAPI"))
    async with asyncio.timeout(10):
        transition = await env.step(call(name, **arguments))
    assert fault(transition) == "failed"


async def test_precision_stays_inside_a_call(tasks: TaskSet) -> None:
    mpmath = import_module("mpmath")
    before = (getcontext().prec, mpmath.mp.dps)
    env = await begun(with_api(tasks, "MathAPI"))
    await env.step(call("square_root", number=2, precision=50))
    await env.step(call("logarithm", value=2, base=10, precision=50))
    assert (getcontext().prec, mpmath.mp.dps) == before


def written(*calls: tuple[str, str]) -> Action:
    """Return calls of one argument each, as text."""
    argument = {"mkdir": "dir_name", "cd": "folder"}
    return Action(
        text="[" + ", ".join(f"{name}({argument[name]}='{to}')" for name, to in calls) + "]"
    )


async def test_a_directory_never_contains_itself(tasks: TaskSet) -> None:
    env = await begun(with_api(tasks, "GorillaFileSystem", "long_context"))
    await env.step(call("mkdir", dir_name="d"))
    before = env._apis.state()
    assert fault(await env.step(call("cp", source="d", destination="d"))) == "failed"
    assert env._apis.state() == before
    assert fault(await env.step(call("du"))) is None


async def test_directories_nest_to_a_measure(tasks: TaskSet) -> None:
    env = await begun(with_api(tasks, "GorillaFileSystem", "long_context"))
    steps = [(name, f"d{level}") for level in range(100) for name in ("mkdir", "cd")]
    transition = await env.step(written(*steps))
    assert transition.observation.faults[0] == "failed"
    assert fault(await env.step(call("find", path="/"))) is None
    await env.snapshot()


async def test_doubling_directories_ends(tasks: TaskSet) -> None:
    env = await begun(with_api(tasks, "GorillaFileSystem", "long_context"))
    await env.step(written(("mkdir", "n0")))
    faults: list[str] = []
    for level in range(1, STEPS - 3):
        old, copy, new = f"n{level - 1}", f"m{level - 1}", f"n{level}"
        calls = (
            f"[mkdir(dir_name='{new}'), cp(source='{old}', destination='{copy}'), "
            f"mv(source='{old}', destination='{new}'), mv(source='{copy}', destination='{new}')]"
        )
        faults += (await env.step(Action(text=calls))).observation.faults
    assert set(faults) == {"failed"}
    async with asyncio.timeout(10):
        found = await env.step(call("find"))
    assert len(found.observation.text) < 2_000_000


async def test_an_age_does_not_depend_on_the_day_of_the_run(tasks: TaskSet) -> None:
    env = await begun(with_api(tasks, "TravelAPI"))
    instance = env._apis.instances["TravelAPI"]
    instance.user_first_name, instance.user_last_name = "A", "B"
    asked = {"first_name": "A", "last_name": "B", "passport_number": "US1"}
    answers = []
    for born in ("2006-09-01", "2006-09-02", "1 Sept"):
        given = call("verify_traveler_information", **asked, date_of_birth=born)
        answers.append((await env.step(given)).observation.text)
    assert answers[0] == '{"verification_status": true}'
    assert "at least 18" in answers[1]
    assert "format" in answers[2]


async def test_what_a_class_raises_is_an_answer(tasks: TaskSet) -> None:
    env = await begun(with_api(tasks, "GorillaFileSystem", "base"))
    await env.step(call("mkdir", dir_name="d"))
    transition = await env.step(call("echo", content="x", file_name="d"))
    assert fault(transition) == "failed"
    assert "_write" in transition.observation.text


async def test_only_the_gold_earns_the_reward(tasks: TaskSet) -> None:
    task = one(tasks, "multi_turn_base_0")
    env = BfclEnvironment()
    observation = await env.reset(task, seed=0)
    plan = oracle(task, observation)
    action = next(plan)
    for turn in range(1, 9):
        transition = await env.step(action)
        if turn == 1:  # one call more than the gold's, which leaves a trace
            await env.step(call("touch", file_name="extra"))
        if transition.over:
            break
        action = plan.send(transition.observation)
    assert transition.terminated
    assert transition.reward.value == 0
    assert transition.reward.labels == {"outcome": "state"}


async def test_conformance(tasks: TaskSet) -> None:
    report = await check_environment(SPEC, tasks, sample=4, instances=8, openings=40)
    assert [item for item in report.results if item.status == "failed"] == []
