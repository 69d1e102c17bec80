"""A group of clinics: who treats whom, what for, with which drugs, and who still owes money.

Planted on purpose: patients entered twice, doctors of one name, bookings that overlap,
diagnoses written down twice or with no (or two) main ones, invoices settled without a date,
departments without doctors, drugs nobody prescribes, and a code tree of four levels with a
chapter (G) that is never used.
"""

import random
import sqlite3
from collections.abc import Iterator, Sequence

from agentgym_sql.databases.clinic_reference import (
    CLINICS,
    CODES,
    DEPARTMENTS,
    DRUGS,
    SCHEMA,
    TESTS,
)
from agentgym_sql.databases.generate import (
    CITIES,
    Row,
    day,
    insert,
    later,
    maybe,
    person,
    skewed,
    weighted,
)

__all__ = ["SCHEMA", "build"]

DOCTORS = 48
PATIENTS = 300
APPOINTMENTS = 1500
FIRST_DAY = "2022-01-03"
LAST_DAY = "2024-12-20"
STATUSES = {"completed": 76.0, "cancelled": 13.0, "no_show": 11.0}


def build(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Create and fill the clinic database.

    Args:
        connection: An empty database.
        rng: The only source of chance.
    """
    connection.executescript(SCHEMA)
    departments = _departments(rng)
    doctors = _doctors(rng, departments)
    patients = _patients(rng)
    appointments = _appointments(rng, doctors, patients)
    insert(connection, "clinics", CLINICS)
    insert(connection, "departments", departments)
    insert(connection, "doctors", doctors)
    insert(connection, "patients", patients)
    insert(connection, "diagnosis_codes", CODES)
    insert(connection, "appointments", appointments)
    insert(connection, "diagnoses", _numbered(_diagnoses(rng, appointments)))
    insert(connection, "drugs", DRUGS)
    insert(connection, "prescriptions", _numbered(_prescriptions(rng, appointments)))
    insert(connection, "lab_results", _numbered(_lab_results(rng, patients)))
    insert(connection, "invoices", _numbered(_invoices(rng, appointments)))


def _numbered(rows: Iterator[Row]) -> list[Row]:
    return [(number, *row) for number, row in enumerate(rows, start=1)]


def _departments(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    unfunded = rng.sample(range(1, 4 * len(CLINICS) + 1), 5)
    for clinic_id, *_ in CLINICS:
        others = rng.sample(DEPARTMENTS[1:], 3)
        for number, name in enumerate((DEPARTMENTS[0], *sorted(others)), start=len(rows) + 1):
            budget = None if number in unfunded else rng.randrange(4, 21) * 10_000_000
            rows.append((number, clinic_id, name, budget))
    return rows


def _doctors(rng: random.Random, departments: Sequence[Row]) -> list[Row]:
    """Doctor 1 directs the group; a second root stands for visiting consultants."""
    staffed = [row for row in departments if row[2] == DEPARTMENTS[0] or rng.random() < 0.85]
    staffed = [row for row in staffed if row[1] != CLINICS[-1][0] or row[2] == DEPARTMENTS[0]]
    rows: list[Row] = []
    chiefs: dict[int, list[int]] = {}
    for number in range(1, DOCTORS + 1):
        department = staffed[number - 1] if number <= len(staffed) else skewed(rng, staffed, 1.4)
        team = chiefs.setdefault(department[1], [])
        supervisor = rng.choice(team[:4]) if team else 1
        root = number in (1, DOCTORS - 1)
        salary = maybe(rng, 0.88, rng.randrange(16, 40) * 500_000)
        name = rows[3][3] if number == DOCTORS else person(rng)
        hired = day(rng, "2006-01-01", "2021-12-31")
        rows.append((number, department[0], None if root else supervisor, name, hired, salary))
        team.append(number)
    return rows


def _patients(rng: random.Random) -> list[Row]:
    rows = [_patient(rng, number) for number in range(1, PATIENTS + 1)]
    for original in (*rng.sample(rows, 10), rows[4], rows[4]):
        number = len(rows) + 1
        registered = later(original[7], days=rng.randint(40, 500))
        city, plan, phone = _patient(rng, number)[4:7]
        rows.append((number, *original[1:4], city, plan, phone, registered))
    for original in rng.sample(rows[:PATIENTS], 8):
        stranger = _patient(rng, len(rows) + 1)
        rows.append((stranger[0], original[1], *stranger[2:]))
    return rows


def _patient(rng: random.Random, number: int) -> Row:
    return (
        number,
        person(rng),
        day(rng, "1938-01-01", "2021-06-30"),
        weighted(rng, {"F": 48, "M": 46, None: 6}),
        maybe(rng, 0.94, skewed(rng, CITIES[:8], 1.3)),
        weighted(rng, {"basic": 45, "plus": 25, "premium": 12, None: 18}),
        maybe(rng, 0.8, f"555-{rng.randint(0, 9999):04d}"),
        day(rng, "2019-01-01", "2021-12-31")
        if rng.random() < 0.7
        else day(rng, FIRST_DAY, "2024-06-30"),
    )


def _appointments(rng: random.Random, doctors: Sequence[Row], patients: Sequence[Row]) -> list[Row]:
    """Half of the patients come often, most others once or twice; four doctors see nobody."""
    visiting = rng.sample(patients, len(patients) * 9 // 10)
    regulars = visiting[: len(visiting) // 2]
    working = rng.sample(doctors, len(doctors) - 4)
    rows: list[Row] = []
    while len(rows) < APPOINTMENTS:
        patient = skewed(rng, regulars, 1.6) if rng.random() < 0.85 else rng.choice(visiting)
        doctor = skewed(rng, working, 1.3)
        if rng.random() < 0.05:
            status, on = "booked", day(rng, "2025-01-02", "2025-03-31")
        else:
            first = max(FIRST_DAY, patient[7])
            status, on = weighted(rng, STATUSES), day(rng, min(first, LAST_DAY), LAST_DAY)
        minutes = maybe(rng, 0.96, rng.choice((15, 20, 30, 30, 45, 60)))
        if status in ("cancelled", "no_show"):
            minutes = None
        rows.append((len(rows) + 1, patient[0], doctor[0], _slot(rng, on), minutes, status))
        rows.extend(_clash(rng, rows, visiting))
    return rows[:APPOINTMENTS]


def _slot(rng: random.Random, on: str) -> str:
    return later(f"{on} 08:00:00", minutes=15 * rng.randrange(38))


def _clash(rng: random.Random, rows: Sequence[Row], visiting: Sequence[Row]) -> Iterator[Row]:
    """Now and then the same doctor has another patient a little later in the same hour."""
    _number, patient_id, doctor_id, at, minutes, status = rows[-1]
    if status == "completed" and minutes is not None and rng.random() < 0.03:
        other = rng.choice(visiting)
        if other[0] != patient_id and other[7] < FIRST_DAY:
            start = later(at, minutes=rng.choice((0, 15, 15, 30)))
            yield len(rows) + 1, other[0], doctor_id, start, 30, "completed"


def _completed(appointments: Sequence[Row]) -> Iterator[tuple[int, str]]:
    for number, _patient_id, _doctor_id, at, _minutes, status in appointments:
        if status == "completed":
            yield number, at[:10]


def _diagnoses(rng: random.Random, appointments: Sequence[Row]) -> Iterator[Row]:
    codes = [code for code, parent, _title in CODES if parent not in (None, "G")]
    common = rng.sample(codes, len(codes) - 4)
    for number, _on in _completed(appointments):
        found = {skewed(rng, common, 1.5) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3)))}
        slip = rng.random()
        for position, code in enumerate(sorted(found)):
            main = slip > 0.03 if position == 0 else slip > 0.97 and position == 1
            yield number, code, int(main)
            if rng.random() < 0.012:
                yield number, code, 0


def _prescriptions(rng: random.Random, appointments: Sequence[Row]) -> Iterator[Row]:
    usual = rng.sample(DRUGS, len(DRUGS) - 3)
    for number, _on in _completed(appointments):
        for _ in range(rng.choice((0, 0, 1, 1, 1, 2))):
            drug = skewed(rng, usual, 1.4)
            quantity = rng.choice((1, 1, 2, 3)) * drug[3]
            supply = maybe(rng, 0.9, rng.choice((7, 14, 30, 30, 60, 90)))
            yield number, drug[0], quantity, supply, rng.choice((0, 0, 1, 2, 3))


def _lab_results(rng: random.Random, patients: Sequence[Row]) -> Iterator[Row]:
    for patient in rng.sample(patients, 110):
        for name in rng.sample(sorted(TESTS), rng.choice((1, 2, 2, 3))):
            low, high = TESTS[name]
            on = day(rng, FIRST_DAY, "2023-06-30")
            value = rng.randint(low, high)
            for _ in range(rng.choice((1, 2, 4, 5, 7))):
                yield patient[0], name, on, maybe(rng, 0.93, value)
                on = later(on, days=rng.choice((14, 30, 30, 60, 91)))
                drift = (high - low) // 8
                value = min(high, max(low, value + rng.randint(-drift, drift)))


def _invoices(rng: random.Random, appointments: Sequence[Row]) -> Iterator[Row]:
    for number, on in _completed(appointments):
        for _ in range(rng.choices((0, 1, 2), weights=(7, 86, 7))[0]):
            yield _invoice(rng, number, on, rng.randrange(8, 90) * 500)
    for appointment_id, _patient_id, _doctor_id, at, _minutes, status in appointments:
        if status == "no_show" and rng.random() < 0.6:
            yield _invoice(rng, appointment_id, at[:10], 2500)


def _invoice(rng: random.Random, appointment_id: int, on: str, amount: int) -> Row:
    issued = later(on, days=rng.randint(0, 14))
    due = later(issued, days=30)
    state = weighted(rng, {"full": 62, "part": 14, "open": 20, "undated": 2, "over": 2})
    paid_on = later(issued, days=rng.randint(0, 75))
    if state == "open":
        return appointment_id, issued, due, amount, 0, None
    if state == "part":
        return appointment_id, issued, due, amount, amount // 1000 * 500, paid_on
    if state == "over":
        return appointment_id, issued, due, amount, amount + 1000, paid_on
    return appointment_id, issued, due, amount, amount, None if state == "undated" else paid_on
