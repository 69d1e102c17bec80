"""What visits left behind: invoices, prescriptions and places on waiting lists."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Literal

from agentgym_tools.clinic.calendar import TODAY, age_on, plus_days
from agentgym_tools.clinic.generator.catalogue import MEDICINES, SERVICES
from agentgym_tools.clinic.generator.diary import fits
from agentgym_tools.clinic.records import (
    Appointment,
    Invoice,
    Patient,
    Practitioner,
    Prescription,
    Waiting,
)

DAYS_TO_PAY = 30
_SERVICES = {part.id: part for part in SERVICES}
_Kind = Literal["visit", "missed", "late"]


def invoices(
    rng: Random, patients: Sequence[Patient], appointments: Sequence[Appointment]
) -> list[Invoice]:
    """Return an invoice for each visit that was attended, missed or cancelled late.

    A plus member's first late cancellation of a calendar year costs nothing.
    """
    plus = {part.id for part in patients if part.plan == "plus"}
    debtors = {part.id for part in patients if rng.random() < 0.2}
    free: Counter[tuple[str, str]] = Counter()
    found: list[Invoice] = []
    for visit in sorted(appointments, key=lambda part: (part.start, part.id)):
        kind = _kind(visit)
        if kind == "late" and visit.patient in plus:
            free[visit.patient, visit.start[:4]] += 1
            if free[visit.patient, visit.start[:4]] == 1:
                continue
        if kind is not None:
            number = 5001 + len(found)
            found.append(_invoice(rng, f"I{number}", visit, kind, owing=visit.patient in debtors))
    return found


def _kind(visit: Appointment) -> _Kind | None:
    if visit.status == "attended":
        return "visit"
    if visit.status == "missed":
        return "missed"
    return "late" if visit.late else None


def _invoice(rng: Random, key: str, visit: Appointment, kind: _Kind, *, owing: bool) -> Invoice:
    service, issued = _SERVICES[visit.service], visit.start[:10]
    fresh = plus_days(issued, DAYS_TO_PAY) >= TODAY
    unpaid = rng.random() < (0.92 if owing else 0.6 if fresh else 0.06)
    waived = not unpaid and kind != "visit" and rng.random() < 0.3
    return Invoice(
        id=key,
        patient=visit.patient,
        appointment=visit.id,
        kind=kind,
        amount=service.fee if kind == "visit" else service.late_fee,
        issued_on=issued,
        due_on=plus_days(issued, DAYS_TO_PAY),
        status="open" if unpaid else "waived" if waived else "paid",
        waived_on=min(TODAY, plus_days(issued, rng.randint(3, 20))) if waived else None,
    )


def prescriptions(
    rng: Random, patients: Sequence[Patient], staff: Sequence[Practitioner]
) -> list[Prescription]:
    """Return what patients take; no one takes a medicine twice."""
    found: list[Prescription] = []
    for patient in patients:
        age = age_on(patient.date_of_birth, TODAY)
        suitable = [part for part in MEDICINES if age >= part[2]]
        count = rng.choice((0, 0, 1, 1, 2, 2))
        home = "paediatrics" if age < 16 else "general"
        doctors = [part.id for part in staff if part.department == home]
        for medicine, controlled, _ in rng.sample(suitable, min(count, len(suitable))):
            days, renewals = rng.choice((28, 30, 56, 60, 90)), rng.choice((2, 3, 4, 6))
            found.append(
                Prescription(
                    id=f"X{6001 + len(found)}",
                    patient=patient.id,
                    medicine=medicine,
                    controlled=controlled,
                    prescriber=rng.choice(doctors),
                    days=days,
                    renewals=renewals,
                    renewals_used=rng.randint(0, renewals),
                    last_issued_on=plus_days(TODAY, -rng.randint(days - 20, days + 12)),
                    review_by=plus_days(TODAY, rng.randint(-30, 260)),
                    status="ended" if rng.random() < 0.08 else "active",
                )
            )
    return found


def waiting(
    rng: Random, patients: Sequence[Patient], staff: Sequence[Practitioner]
) -> list[Waiting]:
    """Return the places on waiting lists, in the order they were taken in."""
    found: list[Waiting] = []
    days_ago = sorted((rng.randint(2, 60) for _ in range(30)), reverse=True)
    for patient, ago in zip(rng.sample(list(patients), 30), days_ago, strict=True):
        wanted = ("neurology", "cardiology", "dermatology", "general", "paediatrics")
        services = [
            part for part in SERVICES if part.department in wanted and fits(patient, part, TODAY)
        ]
        scarce = [part for part in services if part.department == "neurology"]
        service = rng.choice(scarce if scarce and rng.random() < 0.6 else services)
        able = [part.id for part in staff if service.id in part.services]
        found.append(
            Waiting(
                id=f"W{7001 + len(found)}",
                patient=patient.id,
                service=service.id,
                practitioner=rng.choice(able) if rng.random() < 0.4 else None,
                added_on=plus_days(TODAY, -ago),
            )
        )
    return found
