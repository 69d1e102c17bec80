"""The clinic's tools: what they answer, what they change, what they refuse."""

import json
from typing import Any

import pytest

from agentgym.errors import ToolError
from agentgym_tools.clinic import domain
from agentgym_tools.clinic.lookups import MOST_SLOTS
from agentgym_tools.domain import Desk
from agentgym_tools.toolkit import Effect

CHILD, ADULT = "P1048", "P1104"
GP, GP_SLOT = "gp-consultation", "S30005"


@pytest.fixture
def desk() -> Desk:
    return domain().open()


def ask(desk: Desk, name: str, /, **arguments: Any) -> Any:
    answer = desk.agent.call(name, arguments)
    return json.loads(answer) if answer[0] in "[{" else answer


def record(desk: Desk, collection: str, key: str) -> Any:
    return desk.state.get(collection, key)


# Looking up.


@pytest.mark.parametrize("name", ["Beatrice Lange", "lange beatrice", " BEATRICE  lange"])
def test_namesakes_are_all_found_with_their_birthdays_only(desk: Desk, name: str) -> None:
    found = ask(desk, "find_patients", name=name)
    assert [part["id"] for part in found] == ["P1015", "P1040", "P1168"]
    assert set(found[0]) == {"id", "name", "date_of_birth"}


@pytest.mark.parametrize("name", ["Nobody Here", "", "Beatr"])
def test_an_unknown_name_is_an_error(desk: Desk, name: str) -> None:
    with pytest.raises(ToolError, match="No patient is called"):
        ask(desk, "find_patients", name=name)


def test_a_patients_own_records_are_listed_with_names_and_in_order(desk: Desk) -> None:
    visits = ask(desk, "list_appointments", patient_id="P1017")
    assert [part["start"] for part in visits] == sorted(part["start"] for part in visits)
    booked = [part for part in visits if part["status"] == "booked"]
    assert {part["patient"] for part in visits} == {"P1017"}
    assert booked[0]["service_name"] == "Eye test"
    assert booked[0]["practitioner_name"] == "Rafael Ibarra"
    assert booked[0]["department"] == "eye-care"


@pytest.mark.parametrize(
    "tool", ["list_appointments", "list_referrals", "list_invoices", "list_prescriptions"]
)
def test_lists_of_an_unknown_patient_are_an_error(desk: Desk, tool: str) -> None:
    with pytest.raises(ToolError, match="no patient 'P9'"):
        ask(desk, tool, patient_id="P9")


def test_a_department_is_shown_with_services_and_staff(desk: Desk) -> None:
    shown = ask(desk, "get_department", department_id="eye-care")
    assert [part["id"] for part in shown["services"]] == [
        "eye-test",
        "pressure-screening",
        "retina-exam",
    ]
    assert [part["name"] for part in shown["practitioners"]] == ["Yuki Tanabe", "Rafael Ibarra"]
    assert shown["complaints_officer"] == "Henrik Dahl"


def test_open_slots_are_free_offered_and_in_time(desk: Desk) -> None:
    found = ask(
        desk, "find_open_slots", service_id="ecg", from_date="2026-03-02", to_date="2026-03-09"
    )
    starts = [slot["start"] for slot in found["slots"]]
    assert found["found"] == len(starts) == 8
    assert starts == sorted(starts)
    assert starts[0] > "2026-03-02 09:00"
    for slot in found["slots"]:
        assert not record(desk, "slots", slot["slot"])["taken"]
        assert "ecg" in record(desk, "practitioners", slot["practitioner"])["services"]


def test_only_the_first_of_many_slots_are_shown(desk: Desk) -> None:
    days = {"from_date": "2026-03-02", "to_date": "2026-04-10"}
    found = ask(desk, "find_open_slots", service_id=GP, **days)
    assert len(found["slots"]) == MOST_SLOTS < found["found"]
    fewer = ask(desk, "find_open_slots", service_id=GP, practitioner_id="D05", **days)
    assert {slot["practitioner"] for slot in fewer["slots"]} == {"D05"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"service_id": "surgery"}, "no service 'surgery'"),
        ({"from_date": "next week"}, "'next week' is no date"),
        ({"practitioner_id": "D99"}, "no practitioner 'D99'"),
        ({"practitioner_id": "D03"}, "Wen Zhao does not offer"),
    ],
)
def test_a_wrong_search_says_why(desk: Desk, changed: dict[str, str], message: str) -> None:
    wanted = {"service_id": GP, "from_date": "2026-03-02", "to_date": "2026-03-09", **changed}
    with pytest.raises(ToolError, match=message):
        ask(desk, "find_open_slots", **wanted)


# Booking, moving, cancelling.


def test_a_booking_takes_the_slot_and_a_visit_of_the_referral(desk: Desk) -> None:
    arguments = {"service_id": "heart-consultation", "slot_id": "S30529"}
    booked = ask(desk, "book_appointment", patient_id="P1195", referral_id="R4210", **arguments)
    assert (booked["id"], booked["start"]) == ("A2507", "2026-03-03 11:30")
    assert record(desk, "slots", "S30529")["taken"]
    assert record(desk, "referrals", "R4210")["used"] == 1
    assert record(desk, "appointments", "A2507")["status"] == "booked"
    assert set(desk.state.changes()) == {"slots", "referrals", "appointments"}


def test_the_tools_leave_the_policy_to_the_agent(desk: Desk) -> None:
    """A child with the GP, no referral at all, a practitioner who takes nobody new."""
    ask(desk, "book_appointment", patient_id=CHILD, service_id=GP, slot_id=GP_SLOT)
    slot = ask(
        desk,
        "find_open_slots",
        service_id="heart-consultation",
        practitioner_id="D15",
        from_date="2026-03-04",
        to_date="2026-04-10",
    )["slots"][0]["slot"]
    wanted = {"service_id": "heart-consultation", "slot_id": slot}
    ask(desk, "book_appointment", patient_id=ADULT, **wanted)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"patient_id": "P9"}, "no patient 'P9'"),
        ({"service_id": "x"}, "no service 'x'"),
        ({"slot_id": "S1"}, "no slot 'S1'"),
        ({"slot_id": "S30001"}, "is taken"),
        ({"service_id": "eye-test"}, "Peter Vance does not offer"),
        ({"referral_id": "R4210"}, "is not one of"),
        ({"referral_id": "R1"}, "no referral 'R1'"),
    ],
)
def test_an_impossible_booking_changes_nothing(
    desk: Desk, changed: dict[str, str], message: str
) -> None:
    wanted = {"patient_id": ADULT, "service_id": GP, "slot_id": GP_SLOT, **changed}
    with pytest.raises(ToolError, match=message):
        ask(desk, "book_appointment", **wanted)
    assert not desk.state.changes()


def test_nobody_is_in_two_places_at_once(desk: Desk) -> None:
    ask(desk, "book_appointment", patient_id=ADULT, service_id=GP, slot_id="S30002")
    days = {"from_date": "2026-03-02", "to_date": "2026-03-02"}
    slots = ask(desk, "find_open_slots", service_id="pressure-monitor", **days)["slots"]
    same = next(slot["slot"] for slot in slots if slot["start"].endswith("10:30"))
    with pytest.raises(ToolError, match="A2507 is at that time"):
        ask(
            desk,
            "book_appointment",
            patient_id=ADULT,
            service_id="pressure-monitor",
            slot_id=same,
        )


def test_a_move_changes_places_and_counts(desk: Desk) -> None:
    before = record(desk, "appointments", "A2482")
    ask(desk, "move_appointment", appointment_id="A2482", slot_id="S30168")
    after = record(desk, "appointments", "A2482")
    assert after["moves"] == before["moves"] + 1
    assert after["start"] == record(desk, "slots", "S30168")["start"]
    assert not record(desk, "slots", before["slot"])["taken"]
    assert record(desk, "slots", "S30168")["taken"]


@pytest.mark.parametrize("tool", ["move_appointment", "cancel_appointment"])
def test_what_is_past_or_cancelled_stays(desk: Desk, tool: str) -> None:
    done = next(
        key for key, part in desk.state.items("appointments") if part["status"] == "attended"
    )
    more = {"slot_id": GP_SLOT} if tool == "move_appointment" else {"charge_late_fee": False}
    with pytest.raises(ToolError, match="not booked, but attended"):
        ask(desk, tool, appointment_id=done, **more)
    with pytest.raises(ToolError, match="no appointment 'A1'"):
        ask(desk, tool, appointment_id="A1", **more)


def test_a_late_cancellation_can_cost_its_fee(desk: Desk) -> None:
    before = record(desk, "appointments", "A2347")
    answer = ask(desk, "cancel_appointment", appointment_id="A2347", charge_late_fee=True)
    assert answer["invoice"] == {
        "id": "I5303",
        "patient": "P1002",
        "appointment": "A2347",
        "kind": "late",
        "amount": 50,
        "issued_on": "2026-03-02",
        "due_on": "2026-04-01",
        "status": "open",
        "waived_on": None,
    }
    after = record(desk, "appointments", "A2347")
    assert (after["status"], after["slot"], after["late"]) == ("cancelled", None, True)
    assert not record(desk, "slots", before["slot"])["taken"]
    assert record(desk, "referrals", "R4132")["used"] == 0


def test_a_cancellation_in_time_is_not_late_and_can_be_booked_again(desk: Desk) -> None:
    visit = record(desk, "appointments", "A2482")
    ask(desk, "cancel_appointment", appointment_id="A2482", charge_late_fee=False)
    assert not record(desk, "appointments", "A2482")["late"]
    assert "invoices" not in desk.state.changes()
    ask(
        desk,
        "book_appointment",
        patient_id=ADULT,
        service_id=visit["service"],
        slot_id=visit["slot"],
    )


# The rest.


def test_a_renewal_counts_and_dates(desk: Desk) -> None:
    before = record(desk, "prescriptions", "X6021")
    after = ask(desk, "renew_prescription", prescription_id="X6021")
    assert after["renewals_used"] == before["renewals_used"] + 1
    assert after["last_issued_on"] == "2026-03-02"


def test_an_ended_prescription_is_not_renewed(desk: Desk) -> None:
    with pytest.raises(ToolError, match="has ended"):
        ask(desk, "renew_prescription", prescription_id="X6057")


def test_an_open_invoice_is_waived_once(desk: Desk) -> None:
    waived = ask(desk, "waive_invoice", invoice_id="I5281")
    assert (waived["status"], waived["waived_on"]) == ("waived", "2026-03-02")
    with pytest.raises(ToolError, match="not open, but waived"):
        ask(desk, "waive_invoice", invoice_id="I5281")


def test_a_waiting_list_is_joined_once_and_left(desk: Desk) -> None:
    joined = ask(desk, "join_waiting_list", patient_id="P1075", service_id="nerve-consultation")
    assert joined["position"] == 10
    assert ask(desk, "list_waiting", patient_id="P1075")[0]["position"] == 10
    with pytest.raises(ToolError, match="already waits"):
        ask(desk, "join_waiting_list", patient_id="P1075", service_id="nerve-consultation")
    ask(desk, "leave_waiting_list", waiting_id=joined["id"])
    assert not desk.state.changes()
    with pytest.raises(ToolError, match="no place on a waiting list"):
        ask(desk, "leave_waiting_list", waiting_id=joined["id"])


def test_contact_details_change_one_by_one(desk: Desk) -> None:
    before = record(desk, "patients", ADULT)
    ask(desk, "update_contact", patient_id=ADULT, phone=" 07700 900123 ")
    assert record(desk, "patients", ADULT) == {**before, "phone": "07700 900123"}
    for details in ({}, {"email": " "}):
        with pytest.raises(ToolError, match="at least one"):
            ask(desk, "update_contact", patient_id=ADULT, **details)


def test_an_alert_and_a_handover_leave_a_trace(desk: Desk) -> None:
    ask(desk, "report_failed_identification", patient_id=ADULT)
    ask(desk, "hand_over", summary="An angry person.")
    changes = desk.state.changes()
    assert changes["identity_alerts"]["N8001"]["patient"] == ADULT  # type: ignore[index]
    assert changes["handovers"]["H9001"]["summary"] == "An angry person."  # type: ignore[index]


def test_every_change_but_an_alert_needs_consent() -> None:
    clinic = domain()
    tools = clinic.toolkit.declared().values()
    writes = {tool.name for tool in tools if tool.effect is Effect.WRITE}
    assert writes - clinic.consent == {"report_failed_identification"}
    assert clinic.handover == "hand_over"


def test_a_record_belongs_to_its_patient() -> None:
    owner = domain().owner
    assert owner is not None
    base = domain().base.collections
    assert owner("patients", base["patients"][ADULT]) == ADULT
    assert owner("appointments", base["appointments"]["A2347"]) == "P1002"
    assert owner("slots", base["slots"][GP_SLOT]) is None
