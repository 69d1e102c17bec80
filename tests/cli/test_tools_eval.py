"""`agentgym eval tools`: an agent's model and a person in turns, the person's a model too."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.trajectories.record import Trajectory
from tests.cli.conftest import Command
from tests.cli.serving import serving
from tests.fake_openai import Body, FakeOpenAI, Reply

CANCEL = {"order_id": "#W1", "reason": "no longer needed"}
ADDRESS = {"address1": "1 Elm Street", "address2": "", "city": "Denver", "country": "USA",
           "state": "CO", "zip": "80201"}  # fmt: skip
SHOP: dict[str, Any] = {
    "products": {},
    "users": {
        "ann_lee_1": {
            "user_id": "ann_lee_1",
            "name": {"first_name": "Ann", "last_name": "Lee"},
            "address": ADDRESS,
            "email": "ann@example.com",
            "payment_methods": {"paypal": {"source": "paypal", "id": "paypal"}},
            "orders": ["#W1"],
        }
    },
    "orders": {
        "#W1": {
            "order_id": "#W1",
            "user_id": "ann_lee_1",
            "address": ADDRESS,
            "items": [{"name": "Mug", "product_id": "p", "item_id": "m", "price": 10.0,
                       "options": {}}],
            "status": "pending",
            "fulfillments": [],
            "payment_history": [{"transaction_type": "payment", "amount": 10.0,
                                 "payment_method_id": "paypal"}],
        }
    },
}  # fmt: skip
TASK: dict[str, Any] = {
    "id": "0",
    "user_scenario": {
        "instructions": {
            "domain": "retail",
            "reason_for_call": "You want to cancel your order #W1.",
            "known_info": "You are Ann Lee, ann@example.com.",
            "task_instructions": "You no longer need it.",
        }
    },
    "evaluation_criteria": {
        "actions": [{"action_id": "0", "name": "cancel_pending_order", "arguments": CANCEL}],
        "nl_assertions": ["The agent tells the customer where the money goes."],
        "reward_basis": ["DB"],
    },
}

AGENT = (
    Reply("Hello! Could you tell me your email?"),
    Reply(calls=[("find_user_id_by_email", {"email": "ann@example.com"})]),
    Reply(calls=[("get_order_details", {"order_id": "#W1"})]),
    Reply("Why do you want to cancel it?"),
    Reply("I would cancel #W1 and give you 10 dollars back to PayPal. Do you confirm, yes or no?"),
    Reply(calls=[("cancel_pending_order", CANCEL)]),
    Reply("It is cancelled. The money goes back to your PayPal account. ###STOP###"),
    Reply("Is there anything else?"),
)
PERSON = (
    Reply("<think>Just the wish.</think>I want to cancel my order."),
    Reply("It is ann@example.com.", message={"reasoning_content": "secret thought"}),
    Reply("I no longer need it."),
    Reply("Yes, please do that. ###STOP###"),  # too early: the agent has to have its turn
    Reply("<think>All done.</think>Thanks, goodbye! ###STOP###"),
)


@pytest.fixture
def shop(agentgym: Command) -> Path:
    """A tau2 folder with one small shop and one task."""
    folder = agentgym.folder / "retail"
    folder.mkdir()
    (folder / "db.json").write_text(json.dumps(SHOP))
    (folder / "policy.md").write_text("# Policy\n")
    (folder / "tasks.json").write_text(json.dumps([TASK]))
    return folder


def options(shop: Path, agent: FakeOpenAI, *more: str) -> tuple[str, ...]:
    model = ("--model", "fake", "--base-url", agent.base_url)
    return ("eval", "tools", "--tasks", str(shop), *model, "--run-id", "r", *more)


def llm_user(person: FakeOpenAI) -> tuple[str, ...]:
    return ("-E", "user=llm", "-E", "user_model=person", "-E", f"user_base_url={person.base_url}",
            "-E", "user_seed=7")  # fmt: skip


def only(agentgym: Command) -> Trajectory:
    [trajectory] = agentgym.trajectories("r")
    return trajectory


def grade_of(trajectory: Trajectory) -> Any:
    assert trajectory.grade is not None
    return trajectory.grade


def words(trajectory: Trajectory) -> list[str]:
    """What the person said, answer by answer."""
    assert trajectory.first is not None
    shown = [trajectory.first, *(turn.observation for turn in trajectory.turns)]
    return [m.text for observation in shown for m in observation.messages if m.role == "user"]


def test_an_agent_and_a_scripted_user_take_turns_and_replay_equal(
    agentgym: Command, shop: Path
) -> None:
    with serving(AGENT) as agent:
        result = agentgym(*options(shop, agent), "--json").json
    assert (result["scored"], result["mean_reward"], result["errors"]) == (1, 1.0, {})
    trajectory = only(agentgym)
    assert len(trajectory.turns) >= 6
    assert grade_of(trajectory).labels["user"] == "scripted"
    assert grade_of(trajectory).labels["judge"] == "not judged"
    assert "checklist" not in grade_of(trajectory).components
    replayed = agentgym("replay", "r", "--json").json
    assert (replayed["equal"], replayed["episodes"], replayed["turns"]) == (
        True, 1, len(trajectory.turns),
    )  # fmt: skip


def test_two_models_take_turns_and_replay_equal_without_either(
    agentgym: Command, shop: Path
) -> None:
    with serving(AGENT) as agent, serving(PERSON) as person:
        result = agentgym(*options(shop, agent, *llm_user(person)), "--json").json
    assert (result["scored"], result["mean_reward"], result["errors"]) == (1, 1.0, {})
    trajectory = only(agentgym)
    assert len(trajectory.turns) == 7
    assert words(trajectory) == [
        "I want to cancel my order.", "It is ann@example.com.", "I no longer need it.",
        "Yes, please do that.", "Thanks, goodbye!",
    ]  # fmt: skip
    labels = grade_of(trajectory).labels
    kind, model, prompt, seed = labels["user"].split(":")
    assert (kind, model, len(prompt), seed) == ("llm", "person", 12, "7")
    assert (labels["failed_by"], labels["end"]) == ("nobody", "satisfied")
    assert labels["user_tokens"] == "50+25"
    replayed = agentgym("replay", "r", "--json").json  # both servers are gone
    assert (replayed["equal"], replayed["episodes"], replayed["turns"]) == (True, 1, 7)

    asked = agent.requests[-1]["messages"]
    for hidden in ("Just the wish", "All done", "secret thought", "think", "STOP"):
        assert hidden not in str([message for message in asked if message["role"] != "assistant"])
    heard = [m["content"] for m in person.requests[-1]["messages"] if m["role"] == "user"]
    assert heard[-1] == "It is cancelled. The money goes back to your PayPal account. STOP"
    assert "#W1" in person.requests[0]["messages"][0]["content"]
    assert [(body["seed"], body["temperature"]) for body in person.requests] == [(7, 0.0)] * 5


def test_a_key_the_persons_server_refuses_stops_the_run_in_one_line(
    agentgym: Command, shop: Path
) -> None:
    key = "sk-person-0123456789abcdef"
    with serving(AGENT) as agent, serving(PERSON, key="sk-another-0123456789") as person:
        done = agentgym(*options(shop, agent, *llm_user(person)), code=2,
                        env={"OPENAI_API_KEY": key})  # fmt: skip
    assert done.err.count("\n") == 1
    assert "agentgym: The user model 'person' answered 401: " in done.err
    assert done.err.endswith(" Check the API key.\n")
    assert key not in done.err


def test_a_judges_verdict_counts_and_is_replayed_from_the_record(
    agentgym: Command, shop: Path
) -> None:
    def says(body: Body) -> Reply:
        statement = json.loads(body["messages"][1]["content"].splitlines()[1])
        evidence = "The money goes back to your PayPal account"
        entry = {"id": statement["id"], "evidence": evidence, "met": True}
        return Reply(json.dumps({"verdicts": [entry]}))

    with serving(AGENT) as agent, serving(says) as server:
        more = ("-E", "judge_model=judge", "-E", f"judge_base_url={server.base_url}", "--json")
        result = agentgym(*options(shop, agent, *more)).json
    assert (result["scored"], result["mean_reward"]) == (1, 1.0)
    grade = grade_of(only(agentgym))
    assert grade.components["checklist"] == 1.0
    assert grade.labels["judge"].startswith("judge:")
    assert len(server.requests) == 1
    assert agentgym("replay", "r", "--json").json["equal"]
