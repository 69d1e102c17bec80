import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym import load_tasks, spec
from agentgym.errors import TaskSetError, UnknownNameError, UsageError
from agentgym_tools.replay import replay
from agentgym_tools.tau2.loading import CONTENT_FILE, find_domains, load_domain


def test_domains_are_found_in_a_checkout_in_its_data_and_in_one_folder(
    small_tau2: Path, tmp_path: Path
) -> None:
    both = {"retail": small_tau2 / "retail", "airline": small_tau2 / "airline"}
    assert find_domains(small_tau2) == both
    assert find_domains(small_tau2 / "retail") == {"retail": small_tau2 / "retail"}
    checkout = tmp_path / "tau2-bench"
    (checkout / "data" / "tau2").mkdir(parents=True)
    small_tau2.rename(checkout / "data" / "tau2" / "domains")
    domains = checkout / "data" / "tau2" / "domains"
    for path in (checkout, checkout / "data", checkout / "data" / "tau2", domains):
        found = {name: at.resolve() for name, at in find_domains(path).items()}
        assert found == {"retail": domains / "retail", "airline": domains / "airline"}


def test_a_domain_is_loaded_with_its_tasks_and_splits(small_tau2: Path) -> None:
    domain = load_domain(small_tau2 / "retail")
    assert domain.policy == "# Policy\n"
    assert {key: task.model_dump()["split"] for key, task in domain.tasks.items()} == {
        "0": "train",
        "1": None,
    }
    end = replay(domain, domain.tasks["0"].gold).desk.state
    assert set(end.changes()) == {"orders", "users"}
    assert not replay(domain, domain.tasks["1"].gold).desk.state.changes()


def test_fields_that_a_file_leaves_out_are_filled_in(small_tau2: Path) -> None:
    order = load_domain(small_tau2, "retail").open().state.get("orders", "#W1")
    assert order is not None
    assert order["return_items"] is None
    assert list(order)[-1] == "return_payment_method_id"


def test_content_is_read_once_unless_the_file_changes(small_tau2: Path) -> None:
    first = load_domain(small_tau2, "retail")
    assert load_domain(small_tau2 / "retail").base is first.base
    path = small_tau2 / "retail" / "db.json"
    content = json.loads(path.read_text())
    del content["orders"]["#W3"]
    path.write_text(json.dumps(content))
    assert load_domain(small_tau2, "retail").open().state.get("orders", "#W3") is None


@pytest.mark.parametrize("name", ["absent", "domains/retail/db.json", "."])
def test_a_path_without_domains_is_refused(small_tau2: Path, name: str) -> None:
    with pytest.raises(UsageError, match="tau2-bench checkout"):
        load_domain(small_tau2.parent / name / "deeper")


def test_a_domain_has_to_be_named_where_there_are_two(small_tau2: Path) -> None:
    with pytest.raises(UsageError, match="Name one"):
        load_domain(small_tau2)
    with pytest.raises(UnknownNameError, match="'retail'"):
        load_domain(small_tau2, "retial")


def _break(change: Callable[[Any], object]) -> Callable[[Path], object]:
    def broken(path: Path) -> None:
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return broken


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("db.json", lambda path: path.write_text("{"), "is not JSON"),
        ("db.json", lambda path: path.write_bytes(b"\xff"), "not text in UTF-8"),
        ("db.json", lambda path: path.write_text("[" * 100_000), "is not JSON"),
        ("db.json", lambda path: path.write_text("[]"), "valid dictionary"),
        ("db.json", _break(lambda db: db.pop("users")), "field 'users': Field required"),
        (
            "db.json",
            _break(lambda db: db["orders"]["#W1"].update(items=3)),
            "field 'orders.#W1.items'",
        ),
        ("policy.md", lambda path: path.unlink(), "cannot be read"),
        ("tasks.json", lambda path: path.unlink(), "cannot be read"),
        ("tasks.json", lambda path: path.write_text("{}"), "no JSON array"),
        ("tasks.json", _break(lambda tasks: tasks[0].pop("id")), "entry 0, field 'id'"),
        ("tasks.json", _break(lambda tasks: tasks[1].update(id="0")), "entry 1.*taken already"),
        ("tasks.json", _break(lambda tasks: tasks.append(7)), "entry 2"),
        (
            "tasks.json",
            _break(lambda tasks: tasks[0].update(initial_state={"message_history": [{}]})),
            "entry 0: task '0' has an initial state",
        ),
        ("split_tasks.json", lambda path: path.write_text("[]"), "split 'train'"),
        ("split_tasks.json", lambda path: path.write_text('{"test": 1}'), "split 'test'"),
    ],
)
def test_a_damaged_file_is_named(
    small_tau2: Path, file: str, damage: Callable[[Path], object], message: str
) -> None:
    path = small_tau2 / "retail" / file
    damage(path)
    with pytest.raises(UsageError, match=message) as raised:
        load_domain(small_tau2, "retail")
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_domain_without_its_data_is_told_as_a_task_set_too(small_tau2: Path) -> None:
    (small_tau2 / "retail" / CONTENT_FILE).unlink()
    with pytest.raises(UsageError, match=r"has no domain of tau2-bench.*with its db\.json"):
        load_tasks(spec("tools"), str(small_tau2 / "retail"))


def test_a_task_that_names_an_unknown_tool_is_refused(small_tau2: Path) -> None:
    path = small_tau2 / "retail" / "tasks.json"
    path.write_text(path.read_text().replace("cancel_pending_order", "cancel_pending_orders"))
    expected = "task '0': Unknown tool 'cancel_pending_orders'.*'cancel_pending_order'"
    with pytest.raises(TaskSetError, match=expected):
        load_domain(small_tau2, "retail")
