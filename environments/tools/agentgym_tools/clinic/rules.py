"""The policy's rules as functions: why a call would be wrong, and what the person has to be told.

The scenarios are made with them, so that each task's right end and its values follow from the
records. The tools do not use them: keeping to the policy is the agent's part.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from agentgym_tools.clinic.calendar import (
    TODAY,
    age_on,
    hours_ahead,
    moment,
    plus_days,
    said_date,
    said_time,
    written,
)
from agentgym_tools.clinic.toolkit import LATE_HOURS
from agentgym_tools.domain import Call
from agentgym_tools.script import Parts
from agentgym_tools.state import Record, State

LAST_DAY = "2026-03-30"
LAST_WAITING_DAY = "2026-03-16"
LEAD_HOURS = 2
MOST_MOVES = 2
MOST_BOOKED = 3
MOST_PLACES = 2
MISSED_LIMIT, MISSED_DAYS = 3, 180
DEBT_LIMIT = 100
DEBT_EXEMPT = ("general", "paediatrics")
REFILL_DAYS = 7
WAIVER_DAYS, YEAR_DAYS = 30, 365


class Reason(NamedTuple):
    """Why something is not allowed.

    Attributes:
        rule: The rule's name, such as "referral".
        parts: What the person has to be told; see `script.Told`.
    """

    rule: str
    parts: Parts


def reasons(state: State, call: Call) -> list[Reason]:
    """Return every rule that a writing call would break, none where it is allowed."""
    return list(_CHECKS[call.name](state, call.arguments))


# Booking and moving.


def _booking(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    patient, service, slot = wanted["patient_id"], wanted["service_id"], wanted["slot_id"]
    yield from _visit(state, patient, service, slot, referral=wanted.get("referral_id"))
    yield from _number(state, patient, service)
    yield from _missed(state, patient)
    yield from _debt(state, patient, service)


def _moving(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    visit = _get(state, "appointments", wanted["appointment_id"])
    if hours_ahead(visit["start"]) < LATE_HOURS:
        yield Reason("late move", _number_part(_service(state, visit)["late_fee"]))
    if visit["moves"] >= MOST_MOVES:
        until = written(moment(visit["start"]) - timedelta(hours=LATE_HOURS))
        yield Reason("moves", (("2", "twice", "second"), *_moment_parts(until)))
    if "slot_id" not in wanted:
        return
    yield from _visit(
        state,
        visit["patient"],
        visit["service"],
        wanted["slot_id"],
        referral=visit["referral"],
        used=0,
    )


def _visit(
    state: State, patient: str, service: str, slot: str, *, referral: str | None, used: int = 1
) -> Iterator[Reason]:
    """What booking and moving share; `used` is how many visits of the referral it takes."""
    start, practitioner = (_get(state, "slots", slot)[key] for key in ("start", "practitioner"))
    if hours_ahead(start) < LEAD_HOURS:
        yield Reason("too soon", (("2 hours", "11:00"),))
    if start[:10] > LAST_DAY:
        yield Reason("too far", ((said_date(LAST_DAY),),))
    yield from _age(state, patient, service, start)
    best = best_referral(state, patient, service, start, used=used, held=referral)
    if best is None and referral is not None and not used:
        yield Reason("lapsed referral", ((_last_day(state, referral),),))
    elif best is None and _get(state, "services", service)["referral"]:
        yield _no_referral(state, patient, service)
    elif best != referral:
        yield Reason("other referral", ((str(best),),))
    yield from _new_patient(state, patient, service, practitioner)


def best_referral(
    state: State,
    patient: str,
    service: str,
    when: str,
    *,
    used: int = 1,
    held: str | None = None,
) -> str | None:
    """Return the referral to book with; None where none is needed or none is good.

    Args:
        state: The state.
        patient: The patient's id.
        service: The service's id.
        when: The day of the visit.
        used: How many visits are taken; 0 for an appointment that has its referral.
        held: The referral it has.
    """
    needed = _get(state, "services", service)
    if not needed["referral"]:
        return None
    good = [
        part
        for part in _of(state, "referrals", patient)
        if part["department"] == needed["department"]
        and part["issued_on"] <= when[:10] <= part["valid_until"]
        and part["used"] + used <= part["visits"]
        and (used or part["id"] == held)
    ]
    good.sort(key=lambda part: (part["valid_until"], part["id"]))
    return good[0]["id"] if good else None


def _no_referral(state: State, patient: str, service: str) -> Reason:
    department = _get(state, "services", service)["department"]
    mine = [part for part in _of(state, "referrals", patient) if part["department"] == department]
    if not mine:
        fee = _get(state, "services", "gp-consultation")["fee"]
        return Reason("no referral", _number_part(fee))
    newest = max(mine, key=lambda part: (part["issued_on"], part["id"]))
    if newest["used"] >= newest["visits"]:
        return Reason("used referral", (_said_visits(newest["visits"]),))
    return Reason("lapsed referral", ((_last_day(state, newest["id"]),),))


def _said_visits(visits: int) -> tuple[str, ...]:
    """Return the ways to say how many visits; a lone "one" may mean anything."""
    if visits > 1:
        return (str(visits),)
    return ("1 visit", "single visit", "good for 1", "1 of 1", "1 out of 1", "visits 1")


def _last_day(state: State, referral: str) -> str:
    return said_date(_get(state, "referrals", referral)["valid_until"])


def _age(state: State, patient: str, service: str, when: str) -> Iterator[Reason]:
    offered = _get(state, "services", service)
    age = age_on(_get(state, "patients", patient)["date_of_birth"], when[:10])
    low, high = offered["min_age"], offered["max_age"]
    if low is not None and age < low:
        yield Reason("too young", _number_part(low))
    if high is not None and age > high:
        yield Reason("too old", ((str(high), f"under {high + 1}", f"younger than {high + 1}"),))


def _new_patient(state: State, patient: str, service: str, who: str) -> Iterator[Reason]:
    if _get(state, "practitioners", who)["takes_new_patients"]:
        return
    visits = _of(state, "appointments", patient)
    if any((v["practitioner"], v["status"]) == (who, "attended") for v in visits):
        return
    others = [
        last_name(part)
        for _, part in state.items("practitioners")
        if part["takes_new_patients"] and service in part["services"]
    ]
    yield Reason("new patient", (tuple(others),))


def _number(state: State, patient: str, service: str) -> Iterator[Reason]:
    booked = [v for v in _of(state, "appointments", patient) if v["status"] == "booked"]
    booked.sort(key=lambda visit: visit["start"])
    department = _get(state, "services", service)["department"]
    same = [visit for visit in booked if _service(state, visit)["department"] == department]
    if same:
        yield Reason("one a department", _moment_parts(same[0]["start"]))
    elif len(booked) >= MOST_BOOKED:
        yield Reason("three in all", _moment_parts(booked[0]["start"]))


def _missed(state: State, patient: str) -> Iterator[Reason]:
    since = plus_days(TODAY, -MISSED_DAYS)
    visits = [v for v in _of(state, "appointments", patient) if v["status"] == "missed"]
    starts = [visit["start"] for visit in visits if visit["start"] >= since]
    if len(starts) >= MISSED_LIMIT:
        yield Reason("missed", ((str(len(starts)),), (said_date(max(starts)),)))


def _debt(state: State, patient: str, service: str) -> Iterator[Reason]:
    if _get(state, "services", service)["department"] in DEBT_EXEMPT:
        return
    owed = [part for part in open_invoices(state, patient) if part["due_on"] < TODAY]
    total = sum(part["amount"] for part in owed)
    if total > DEBT_LIMIT:
        yield Reason("debt", _number_part(total))


# Cancelling, prescriptions, invoices, waiting lists.


def late_fee_due(state: State, appointment: str) -> bool:
    """Whether cancelling an appointment now costs its late fee."""
    visit = _get(state, "appointments", appointment)
    if hours_ahead(visit["start"]) >= LATE_HOURS:
        return False
    earlier = _of(state, "appointments", visit["patient"])
    before = any(part["late"] and part["start"][:4] == TODAY[:4] for part in earlier)
    return before or _get(state, "patients", visit["patient"])["plan"] != "plus"


def _cancelling(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    due = late_fee_due(state, wanted["appointment_id"])
    if due != wanted["charge_late_fee"]:
        visit = _get(state, "appointments", wanted["appointment_id"])
        yield Reason("late fee", _number_part(_service(state, visit)["late_fee"]))


def _renewing(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    part = _get(state, "prescriptions", wanted["prescription_id"])
    first = plus_days(part["last_issued_on"], part["days"] - REFILL_DAYS)
    if part["status"] != "active":
        yield Reason("ended", _number_part(advice_fee(state, part["patient"])))
    if part["controlled"]:
        prescriber = _get(state, "practitioners", part["prescriber"])
        yield Reason("controlled", ((last_name(prescriber),),))
    if part["renewals_used"] >= part["renewals"]:
        yield Reason("no renewals", _number_part(part["renewals"]))
    if part["review_by"] < TODAY:
        yield Reason("review", ((said_date(part["review_by"]),),))
    if first > TODAY:
        yield Reason("too early", ((said_date(first),),))


def _waiving(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    invoice = _get(state, "invoices", wanted["invoice_id"])
    if invoice["kind"] == "visit":
        due = (said_date(invoice["due_on"]),)
        yield Reason("visit invoice", (*_number_part(invoice["amount"]), due))
        return
    if invoice["issued_on"] < plus_days(TODAY, -WAIVER_DAYS):
        yield Reason("old invoice", ((said_date(invoice["issued_on"]),),))
    waived = [part["waived_on"] or "" for part in _of(state, "invoices", invoice["patient"])]
    if max(waived) >= plus_days(TODAY, -YEAR_DAYS):
        yield Reason("waived before", ((said_date(max(waived)),),))


def _waiting(state: State, wanted: Mapping[str, Any]) -> Iterator[Reason]:
    patient, service = wanted["patient_id"], wanted["service_id"]
    who = wanted.get("practitioner_id")
    free = [slot for slot in open_slots(state, service, who) if slot["start"] <= _END_OF_WAITING]
    if free:
        yield Reason("free slot", _moment_parts(free[0]["start"]))
    yield from _age(state, patient, service, TODAY)
    needed = _get(state, "services", service)["referral"]
    if needed and best_referral(state, patient, service, TODAY) is None:
        yield _no_referral(state, patient, service)
    places = _of(state, "waiting", patient)
    if len(places) >= MOST_PLACES:
        names = [_get(state, "services", part["service"])["name"] for part in places]
        yield Reason("places", tuple((name,) for name in names))


def _always(_state: State, _wanted: Mapping[str, Any]) -> Iterator[Reason]:
    yield from ()


_CHECKS: Mapping[str, Callable[[State, Mapping[str, Any]], Iterator[Reason]]] = {
    "book_appointment": _booking,
    "move_appointment": _moving,
    "cancel_appointment": _cancelling,
    "renew_prescription": _renewing,
    "waive_invoice": _waiving,
    "join_waiting_list": _waiting,
    "leave_waiting_list": _always,
    "update_contact": _always,
}


# What the rules share.

_END_OF_WAITING = f"{LAST_WAITING_DAY} 24:00"


def open_slots(state: State, service: str, practitioner: str | None = None) -> list[Record]:
    """Return the free slots for a service, the earliest first."""
    found = []
    for _, slot in state.items("slots"):
        offers = service in _get(state, "practitioners", slot["practitioner"])["services"]
        wanted = practitioner in (None, slot["practitioner"])
        if offers and wanted and not slot["taken"]:
            found.append(slot)
    return sorted(found, key=lambda slot: (slot["start"], slot["id"]))


def open_invoices(state: State, patient: str) -> list[Record]:
    """Return a patient's invoices that are open, due or not."""
    return [part for part in _of(state, "invoices", patient) if part["status"] == "open"]


def advice_fee(state: State, patient: str) -> int:
    """Return what a consultation costs that a patient of this age can have."""
    child = age_on(_get(state, "patients", patient)["date_of_birth"], TODAY) < 16
    service = _get(state, "services", "child-consultation" if child else "gp-consultation")
    fee: int = service["fee"]
    return fee


def last_name(person: Record) -> str:
    """Return a person's last name."""
    name: str = person["name"]
    return name.rpartition(" ")[2]


def _of(state: State, collection: str, patient: str) -> list[Record]:
    return [part for _, part in state.items(collection) if part["patient"] == patient]


def _get(state: State, collection: str, key: str) -> Record:
    found = state.get(collection, key)
    if found is None:
        raise KeyError(key)
    return found


def _service(state: State, visit: Record) -> Record:
    return _get(state, "services", visit["service"])


def _number_part(value: int) -> Parts:
    return ((str(value),),)


def _moment_parts(when: str) -> Parts:
    return ((said_date(when),), (said_time(when),))
