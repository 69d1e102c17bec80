import json
from typing import Any

import pytest

from agentgym.errors import ToolError
from agentgym_tools.broadband import CONSENT, domain
from agentgym_tools.domain import Desk
from agentgym_tools.toolkit import Effect


@pytest.fixture
def desk() -> Desk:
    return domain().open()


def call(desk: Desk, tool: str, /, **arguments: object) -> Any:
    text = desk.agent.call(tool, arguments)
    return json.loads(text) if text[0] in "[{" else text


def record(desk: Desk, collection: str, key: str) -> Any:
    found = desk.state.get(collection, key)
    assert found is not None
    return found


def test_consent_is_asked_for_what_binds_the_customer() -> None:
    tools = domain().toolkit.declared()
    assert {tools[name].effect for name in CONSENT} == {Effect.WRITE}


@pytest.mark.parametrize("text", ["Malik Ferro", " malik ferro ", "555-3525"])
def test_customers_are_found_by_name_and_phone(desk: Desk, text: str) -> None:
    found = call(desk, "find_customer", text=text)
    assert found == [{"customer_id": "C1105", "name": "Malik Ferro", "area": "Southfield"}]
    assert call(desk, "find_customer", text="Malik") == []


@pytest.mark.parametrize(
    ("name", "pin", "answer"),
    [
        ("Malik Ferro", "3243", {"verified": True, "role": "holder"}),
        ("malik  FERRO", " 3243 ", {"verified": True, "role": "holder"}),
        ("Kemal Novak", "3243", {"verified": True, "role": "authorised person"}),
        ("Malik Ferro", "3244", {"verified": False, "reason": "the PIN is wrong"}),
        ("Eve Stone", "3243", {"verified": False, "reason": "this name is not on the account"}),
    ],
)
def test_callers_are_checked(desk: Desk, name: str, pin: str, answer: object) -> None:
    assert call(desk, "check_caller", customer_id="C1105", name=name, pin=pin) == answer


def test_an_account_shows_plan_contract_and_visits_but_no_secrets(desk: Desk) -> None:
    text = desk.agent.call("get_account", {"customer_id": "C1001"})
    account = json.loads(text)
    assert account["plan"]["plan_id"] == "F200"
    assert account["contract"]["minimum_until"] == "2026-05-12"
    assert [visit["date"] for visit in account["visits"]] == ["2026-03-04"]
    line = desk.agent.call("get_line", {"customer_id": "C1001"})
    assert record(desk, "customers", "C1001")["pin"] not in text
    assert record(desk, "lines", "L1001")["login"]["password"] not in text + line
    assert json.loads(line)["down"] == 200


def test_lists(desk: Desk) -> None:
    invoices = call(desk, "list_invoices", customer_id="C1003")
    assert [part["status"] for part in invoices] == ["paid", "overdue"]
    assert {part["technology"] for part in call(desk, "list_plans", technology="dsl")} == {"dsl"}
    assert [part["outage_id"] for part in call(desk, "list_outages", area="Quarry")] == ["OUT-211"]
    slots = call(desk, "list_visit_slots", area="Mill Lane")
    assert "MIL-0303-P" not in [slot["slot_id"] for slot in slots]  # taken
    assert len(slots) == 4
    assert call(desk, "list_outages", area="Nowhere") == []


def test_a_plan_changes_line_and_term_but_not_the_router(desk: Desk) -> None:
    done = call(desk, "change_plan", customer_id="C1136", plan_id="F300")
    assert done == {"plan_id": "F300", "price": 41.7, "minimum_until": "2027-03-02"}
    line = record(desk, "lines", "L1136")
    assert (line["plan"], line["provisioned"]) == ("F300", {"down": 300, "up": 100})
    assert record(desk, "customers", "C1136")["plan_changed"] == "2026-03-02"
    assert record(desk, "homes", "H1136")["router"]["lease"]["down"] == 100


def test_a_contract_ends_on_a_day(desk: Desk) -> None:
    call(desk, "cancel_contract", customer_id="C1107", last_day="2026-04-01")
    assert record(desk, "lines", "L1107")["contract"]["last_day"] == "2026-04-01"
    with pytest.raises(ToolError, match="ends on 2026-04-01 already"):
        call(desk, "cancel_contract", customer_id="C1107", last_day="2026-05-01")


def test_a_credit_is_kept(desk: Desk) -> None:
    call(desk, "give_credit", customer_id="C1062", amount=3.664, outage_id="OUT-207")
    credit = {"date": "2026-03-02", "amount": 3.66, "outage": "OUT-207"}
    assert record(desk, "customers", "C1062")["credits"] == [credit]


def test_a_visit_takes_its_slot_and_gives_it_back(desk: Desk) -> None:
    wanted = {"slot_id": "NOR-0304-P", "reason": "network fault", "fee": 0}
    made = call(desk, "book_visit", customer_id="C1082", **wanted)
    assert (made["visit_id"], made["date"]) == ("V-NOR-0304-P", "2026-03-04")
    with pytest.raises(ToolError, match="NOR-0304-P is taken"):
        call(desk, "book_visit", customer_id="C1020", **wanted)
    call(desk, "cancel_visit", visit_id="V-NOR-0304-P")
    assert record(desk, "slots", "NOR-0304-P")["visit"] is None
    with pytest.raises(ToolError, match="no booked visit"):
        call(desk, "cancel_visit", visit_id="V-NOR-0304-P")


def test_handing_over_leaves_a_trace(desk: Desk) -> None:
    call(desk, "hand_over", department="billing", summary=" Wants more than the limit. ")
    trace = {"department": "billing", "summary": "Wants more than the limit."}
    assert record(desk, "handovers", "HO-1") == trace


@pytest.mark.parametrize(
    ("customer", "part", "value"),
    [
        ("C1014", "optical_box", "no answer; its last message was: power lost"),
        ("C1067", "optical_box", "no answer; the light ends at the home"),
        ("C1038", "optical_box", "another box than the registered one answers"),
        ("C1082", "fault_on_the_way", "line broken 887 m from the exchange"),
        ("C1033", "fault_on_the_way", "the whole segment is dark"),
        ("C1033", "optical_box", "no answer"),
        ("C1010", "login", "no login attempt arrives"),
        ("C1047", "modem", "no modem answers; the line is whole up to the home"),
        ("C1025", "modem", "no modem answers"),
        ("C1105", "modem", "answers, but the signal drops every few minutes"),
        ("C1105", "margin_db", 7.6),
        ("C1015", "margin_db", 4.2),  # 11.2 without the filter
        ("C1020", "login", "rejected: wrong login name or password"),
        ("C1035", "login", "refused: the port is locked"),
        ("C1061", "login", "refused: the service is suspended"),
        ("C1048", "speed_set", {"down": 50, "up": 10}),
        ("C1048", "settings_in_use", {"down": 50, "up": 10, "profile": None}),
    ],
)
def test_a_line_test_sees_what_a_provider_can(
    desk: Desk, customer: str, part: str, value: object
) -> None:
    assert call(desk, "test_line", customer_id=customer)[part] == value


def test_a_line_test_does_not_see_what_only_the_home_shows(desk: Desk) -> None:
    """A hanging router, and one that is cut off, look the same from the exchange."""
    parts = ("optical_box", "login", "fault_on_the_way")
    hanging, cut = (call(desk, "test_line", customer_id=key) for key in ("C1139", "C1010"))
    assert [hanging[part] for part in parts] == [cut[part] for part in parts]


def test_repairs_of_a_line(desk: Desk) -> None:
    call(desk, "unlock_port", customer_id="C1022")
    line = record(desk, "lines", "L1022")
    assert (line["locked"], line["failed_logins"]) == (None, 0)

    assert call(desk, "reprovision_line", customer_id="C1048") == {"down": 600, "up": 200}
    call(desk, "set_profile", customer_id="C1105", profile="stable")
    assert record(desk, "lines", "L1105")["profile"] == "stable"
    call(desk, "restore_service", customer_id="C1003")
    assert record(desk, "lines", "L1003")["standing"] == "active"
    call(desk, "register_box", customer_id="C1038", kind="optical box", serial=" ob-123456 ")
    assert record(desk, "lines", "L1038")["box_serial"] == "OB-123456"
    call(desk, "register_box", customer_id="C1012", kind="set-top box", serial="TV-12345")
    assert record(desk, "lines", "L1012")["tv_serial"] == "TV-12345"


def test_a_second_reset_gives_the_same_new_password(desk: Desk) -> None:
    before = record(desk, "lines", "L1020")["login"]["password"]
    login = call(desk, "reset_login", customer_id="C1020")
    assert login["password"] != before
    assert call(desk, "reset_login", customer_id="C1020") == login
    assert call(desk, "reset_login", customer_id="C1004")["password"] != login["password"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get_account", {"customer_id": "C9"}, "no customer 'C9'"),
        ("test_line", {"customer_id": "C9"}, "no customer 'C9'"),
        ("list_plans", {"technology": "cable"}, "technology: input should be 'dsl' or 'fibre'"),
        ("change_plan", {"customer_id": "C1136", "plan_id": "D50"}, "not available on a fibre"),
        ("change_plan", {"customer_id": "C1136", "plan_id": "F100"}, "on F100 already"),
        ("change_plan", {"customer_id": "C1136", "plan_id": "F1"}, "no plan 'F1'"),
        ("cancel_contract", {"customer_id": "C1107", "last_day": "soon"}, "is not a date"),
        ("cancel_contract", {"customer_id": "C1107", "last_day": "2026-03-01"}, "in the past"),
        ("give_credit", {"customer_id": "C1062", "amount": 0, "outage_id": "OUT-207"}, "more than"),
        ("give_credit", {"customer_id": "C1062", "amount": 1, "outage_id": "OUT-1"}, "no outage"),
        (
            "book_visit",
            {"customer_id": "C1082", "slot_id": "HAR-0303-P", "reason": "installation", "fee": 1},
            "no slot 'HAR-0303-P' in Northgate",
        ),
        (
            "book_visit",
            {"customer_id": "C1082", "slot_id": "NOR-0304-P", "reason": "installation", "fee": -1},
            "A fee is between",
        ),
        ("cancel_visit", {"visit_id": "V-1"}, "no booked visit"),
        ("hand_over", {"department": "billing", "summary": " "}, "a summary"),
        ("hand_over", {"department": "sales", "summary": "x"}, "department: input should be"),
        ("unlock_port", {"customer_id": "C1001"}, "not locked"),
        ("set_profile", {"customer_id": "C1001", "profile": "fast"}, "Only copper lines"),
        ("set_profile", {"customer_id": "C1105", "profile": "fast"}, "is fast already"),
        (
            "register_box",
            {"customer_id": "C1105", "kind": "optical box", "serial": "OB-123456"},
            "Copper lines have no optical box",
        ),
        (
            "register_box",
            {"customer_id": "C1038", "kind": "optical box", "serial": "TV-12345"},
            "starts with OB-",
        ),
        ("restore_service", {"customer_id": "C1001"}, "not suspended"),
    ],
)
def test_a_wrong_call_says_so_and_changes_nothing(
    desk: Desk, name: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        desk.agent.call(name, arguments)
    assert not desk.state.changes()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unlock_port", {"customer_id": "C1035"}),  # locked for security
        ("restore_service", {"customer_id": "C1061"}),  # suspended for abuse
        ("restore_service", {"customer_id": "C1003"}),  # unpaid
        ("change_plan", {"customer_id": "C1007", "plan_id": "D16"}),  # within the minimum term
        ("change_plan", {"customer_id": "C1136", "plan_id": "F200"}),  # not on sale
        ("cancel_visit", {"visit_id": "V-MIL-0303-P"}),  # within 48 hours
        ("give_credit", {"customer_id": "C1053", "amount": 40, "outage_id": "OUT-209"}),
    ],
)
def test_what_only_the_policy_forbids_is_left_to_the_agents_judgement(
    desk: Desk, name: str, arguments: dict[str, object]
) -> None:
    desk.agent.call(name, arguments)
    assert desk.state.changes()
