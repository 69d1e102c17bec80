"""The clinic's tasks: as shipped, solvable, and not to be solved without work."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from agentgym.content import content_path
from agentgym_tools.checking import check_task
from agentgym_tools.clinic import domain
from agentgym_tools.clinic.rules import reasons
from agentgym_tools.clinic.scenarios import tasks
from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call
from agentgym_tools.replay import replay
from agentgym_tools.tasks import ToolsTask
from agentgym_tools.words import holds_all, tokens

TASKS = tuple(tasks())
EMERGENCIES = {"clinic-danger-chest", "clinic-danger-child"}
STRANGERS = ("stranger", "flatmate", "former-husband", "aunt", "son-of", "teacher")


def test_the_shipped_set_has_what_the_scenarios_yield() -> None:
    file: Path = content_path("tasks", "tools") / "core" / "tasks.jsonl"
    shipped = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    mine = [task for task in shipped if task["public"]["domain"] == "clinic"]
    for task in mine:
        task.pop("canary")
    assert mine == [task.model_dump(mode="json", exclude_defaults=True) for task in TASKS]


def test_there_are_many_of_each_outcome_in_both_splits() -> None:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for task in TASKS:
        counts[task.split, task.tags["outcome"]] += 1
    assert len({task.id for task in TASKS}) == len(TASKS) >= 70
    for split in ("train", "test"):
        assert counts[split, "refuse"] >= 20
        assert counts[split, "change"] >= 20
        assert all(counts[split, kind] for kind in ("mixed", "inform", "handover"))


def test_the_splits_share_no_patient() -> None:
    splits: dict[str, set[str]] = defaultdict(set)
    for task in TASKS:
        for patient in task.private.rules.subjects:
            splits[patient].add(task.split)
    assert [patient for patient, found in splits.items() if len(found) > 1] == []


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_gold_calls_are_carried_out_and_the_user_can_end(task: ToolsTask) -> None:
    check_task(domain(), task)
    end = replay(domain(), task.private.gold)
    assert [answer.text for answer in end.answers if answer.error] == []
    rules = task.private.rules
    assert (rules.handover == "must") == bool(end.desk.state.changes().get("handovers"))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_change_of_the_gold_is_one_the_policy_allows(task: ToolsTask) -> None:
    clinic = domain()
    desk = clinic.open()
    for step in task.private.gold:
        if step.name in clinic.consent:
            assert reasons(desk.state, step) == []
        desk.agent.call(step.name, step.arguments)


def test_a_refusal_changes_nothing_but_an_alert_about_a_stranger() -> None:
    for task in TASKS:
        if task.tags["outcome"] == "refuse":
            changes = replay(domain(), task.private.gold).desk.state.changes()
            stranger = task.id.removeprefix("clinic-").startswith(STRANGERS)
            assert list(changes) == (["identity_alerts"] if stranger else [])


def test_what_has_to_be_told_takes_a_lookup() -> None:
    """It is in no word of the user's, and something has to be found out for it."""
    for task in TASKS:
        if task.tags["outcome"] == "change":
            continue
        script = task.private.script
        said = [*script.opening, *script.details]
        said += [text for fact in script.facts for text in fact.says]
        said += [text for wish in script.wishes for text in wish.says]
        said += [text for wish in script.wishes for part in wish.insists for text in part]
        words = tokens(" ".join(said))
        assert [told.name for told in script.told if holds_all(words, told.parts)] == []
        assert task.private.rules.lookups or task.id in EMERGENCIES


def test_a_scenario_that_the_policy_forbids_is_not_built() -> None:
    talk = Conversation("x", "train", Caller("P1093"))
    with pytest.raises(ValueError, match="lapsed referral"):
        talk.book("heart-consultation", "S30502", ("Book me.",))
    with pytest.raises(ValueError, match="no slot"):
        talk.first("heart-consultation")
    with pytest.raises(ValueError, match="not one reason"):
        talk.refuse(call("update_contact", patient_id="P1093"), ("Change it.",))
    with pytest.raises(ValueError, match="no P9 in patients"):
        talk.record("patients", "P9")
