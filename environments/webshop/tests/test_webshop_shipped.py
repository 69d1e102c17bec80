"""The shipped goals: sound, solved by the oracle, and not given away."""

import json
from collections.abc import Callable

import pytest

from agentgym.agents.baselines import NullAgent
from agentgym.agents.factory import make_agent
from agentgym.agents.formats import BracketsFormat
from agentgym.clients import Completion
from agentgym.content import content_path
from agentgym.evaluation.conformance import Report
from agentgym.registry import spec
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.tasks import TaskSet, load_tasks
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Action
from agentgym_webshop.env import WebShopEnvironment
from agentgym_webshop.render import MODES

BASELINES = content_path("evaluation") / "baselines" / "webshop-core.json"


@pytest.fixture(scope="module")
def core() -> TaskSet:
    return load_tasks(spec("webshop"))


@pytest.mark.parametrize(
    "mode", ["markdown", *(pytest.param(m, marks=pytest.mark.slow) for m in MODES)]
)
def test_conformance(mode: str, conformance: Callable[..., Report]) -> None:
    conformance("webshop", sample=3, observation=mode, history=1)


async def rewards(core: TaskSet, name: str, every: int, store: TrajectoryStore) -> list[float]:
    env_spec = spec("webshop")
    agent = NullAgent() if name == "null" else make_agent(name, env_spec)
    chosen = TaskSet(core.info, core.tasks[::every], core.source)
    plan = Plan(env_spec=env_spec, tasks=chosen, agent=agent, concurrency=50)
    engine = Engine(plan, store)
    engine.open()
    await engine.run()
    values = [summary.score for summary in store.summaries(plan.run_id)]
    assert len(values) == len(chosen)
    return [value for value in values if value is not None]


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.slow)])
async def test_the_oracle_solves_every_goal(
    core: TaskSet, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with TrajectoryStore.open(tmp_path_factory.mktemp("runs") / "runs.db") as store:
        assert set(await rewards(core, "oracle", every, store)) == {1.0}


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
async def test_buying_the_first_product_seldom_solves_one(
    core: TaskSet, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with TrajectoryStore.open(tmp_path_factory.mktemp("runs") / "runs.db") as store:
        found = await rewards(core, "rule", every, store)
        assert found.count(1.0) / len(found) < 0.2
        assert set(await rewards(core, "null", every * 5, store)) == {0.0}


def test_the_published_baselines_are_those_of_the_shipped_goals(core: TaskSet) -> None:
    published = json.loads(BASELINES.read_text())
    assert published["task_set"] == {"name": "core", "version": 1, "hash": core.hash}
    rates = {item["agent"]: item["success_rate"] for item in published["results"]}
    assert rates["oracle"] == 1.0
    assert rates["rule"] < 0.2
    assert rates["null"] == rates["random"] == 0.0


async def test_the_original_grammar_plays_through_the_action_format(core: TaskSet) -> None:
    task = core.tasks[0]
    environment = WebShopEnvironment(observation="text")
    observation = await environment.reset(task, seed=0)

    def read(text: str) -> Action:
        return BracketsFormat().parse(Completion(text=text, model="m"), observation.tools)

    found = await environment.step(read(f"search[{task.private.oracle_query}]"))
    assert "Page 1 (Total results: " in found.observation.text
    last = await environment.step(read("Thought: back.\nAction: click[back to search]"))
    assert last.observation.text == observation.messages[-1].text
    wrong = await environment.step(read("buy[now]"))
    assert wrong.observation.faults == ("unknown_tool",)
    words = await environment.step(read("I am not sure."))
    assert words.observation.faults == ("no_call",)
