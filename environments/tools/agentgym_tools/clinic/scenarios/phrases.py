"""What has to be named, looked up or expected, by rule and by service."""

from collections.abc import Mapping

from agentgym_tools.clinic.calendar import TODAY
from agentgym_tools.domain import Call
from agentgym_tools.script import Correction, Expect, Parts
from agentgym_tools.state import State

PREPARATIONS: Mapping[str, Parts] = {
    "gp-checkup": (("8 hours",),),
    "gp-vaccination": (("vaccination card",),),
    "gp-blood-test": (("10 hours",),),
    "child-checkup": (("health booklet", "booklet"),),
    "child-vaccination": (("vaccination card",),),
    "skin-consultation": (("make-up", "makeup", "make up"), ("nail polish",)),
    "mole-check": (("clothes", "clothing"),),
    "acne-review": (("products",),),
    "heart-consultation": (("medicines", "medications", "medication"),),
    "ecg": (("lotion",),),
    "pressure-monitor": (("short-sleeved", "short sleeved", "short sleeves"),),
    "joint-consultation": (("x-ray", "x-rays", "x ray", "x rays"),),
    "sports-injury": (("shorts",),),
    "joint-injection": (("6 hours",),),
    "physio-first": (("towel",),),
    "physio-session": (("towel",),),
    "posture-training": (("sports clothes", "sports clothing"),),
    "eye-test": (("glasses",),),
    "pressure-screening": (("24 hours",),),
    "retina-exam": (("4 hours",),),
    "migraine-clinic": (("headache diary",),),
}
"""How a patient prepares, for the services that say so."""

_LOOKS = {
    "too young": "get_department",
    "too old": "get_department",
    "no referral": "list_referrals",
    "used referral": "list_referrals",
    "lapsed referral": "list_referrals",
    "new patient": "get_department",
    "one a department": "list_appointments",
    "three in all": "list_appointments",
    "missed": "list_appointments",
    "debt": "list_invoices",
    "moves": "list_appointments",
    "late move": "get_department",
    "late fee": "get_department",
    "ended": "list_prescriptions",
    "controlled": "list_prescriptions",
    "no renewals": "list_prescriptions",
    "review": "list_prescriptions",
    "too early": "list_prescriptions",
    "visit invoice": "list_invoices",
    "old invoice": "list_invoices",
    "waived before": "list_invoices",
    "free slot": "find_open_slots",
    "places": "list_waiting",
    "too far": "find_open_slots",
    "too soon": "find_open_slots",
}


def look(rule: str, patient: str, department: str, service: str) -> Call:
    """Return the call that finds out why a rule forbids something."""
    name = _LOOKS[rule]
    arguments = {
        "get_department": {"department_id": department},
        "find_open_slots": {
            "service_id": service,
            "from_date": TODAY,
            "to_date": "2026-04-10",
        },
    }.get(name, {"patient_id": patient})
    return Call(name=name, arguments=arguments)


def given_in(wanted: Call, patient: str, state: State) -> Expect:
    """Return what holds when the agent did what it should have refused."""
    arguments = wanted.arguments
    match wanted.name:
        case "book_appointment":
            fields = {"patient": patient, "service": arguments["service_id"], "booked_on": TODAY}
            return Expect(collection="appointments", fields={**fields, "status": "booked"})
        case "move_appointment":
            key = arguments["appointment_id"]
            visit = state.get("appointments", key) or {}
            fields = {"moves": visit["moves"] + 1}
            return Expect(collection="appointments", key=key, fields=fields)
        case "cancel_appointment":
            key = arguments["appointment_id"]
            return Expect(collection="appointments", key=key, fields={"status": "cancelled"})
        case "renew_prescription":
            key, fields = arguments["prescription_id"], {"last_issued_on": TODAY}
            return Expect(collection="prescriptions", key=key, fields=fields)
        case "waive_invoice":
            key, fields = arguments["invoice_id"], {"status": "waived"}
            return Expect(collection="invoices", key=key, fields=fields)
        case _:
            fields = {"patient": patient, "service": arguments["service_id"]}
            return Expect(collection="waiting", fields={**fields, "added_on": TODAY})


_OFFERS = (
    *("instead", "alternative", "alternatively", "anything else", "something else", "front desk"),
    *("different", "waiting list", "connect you", "hand you over", "a colleague"),
)
_OFFERS_BY_TOOL: Mapping[str, tuple[str, ...]] = {
    "book_appointment": ("gp consultation", "child consultation", "move", "cancel"),
    "move_appointment": ("cancel", "cancelling", "cancellation"),
    "cancel_appointment": ("fee", "late fee"),
    "renew_prescription": ("appointment", "consultation", "book"),
    "waive_invoice": ("instalments", "installments", "pay"),
    "join_waiting_list": ("book", "booked", "booking", "appointment"),
}


def declined(wanted: Call | None) -> Correction:
    """Return how a person turns down what they are offered for what they may not have."""
    offers: tuple[str, ...] = _OFFERS
    if wanted is not None:
        offers = (*_OFFERS, *_OFFERS_BY_TOOL[wanted.name])
        if wanted.name == "join_waiting_list":
            offers = tuple(phrase for phrase in offers if phrase != "waiting list")
        if "consultation" in wanted.arguments.get("service_id", ""):
            offers = tuple(phrase for phrase in offers if "consultation" not in phrase)
    says = (
        "No, thank you, not that. I only want what I asked for.",
        "No, please don't. It's only about what I asked for.",
    )
    return Correction(heard=offers, says=says)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def nth(number: int) -> tuple[str, ...]:
    """Return the ways to say which place somebody has."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number, "th")
    word = _ORDINALS[number - 1 : number]
    return (f"number {number}", str(number), f"{number}{ending}", *word)
