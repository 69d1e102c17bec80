"""The clinic's content: made by its generator, and without contradictions."""

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import resources

import pytest

from agentgym_tools.clinic.calendar import NOW, TODAY, age_on
from agentgym_tools.clinic.generator.content import file_text, generate
from agentgym_tools.clinic.records import Appointment, ClinicContent

FILE = resources.files("agentgym_tools.clinic").joinpath("content.json")


@pytest.fixture(scope="module")
def shipped() -> ClinicContent:
    return ClinicContent.model_validate_json(FILE.read_bytes())


def booked(content: ClinicContent) -> Iterator[Appointment]:
    return (part for part in content.appointments.values() if part.status == "booked")


def test_the_generator_makes_the_shipped_file() -> None:
    assert file_text(generate()) == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_content_has_no_contradictions_whatever_the_seed(
    shipped: ClinicContent, seed: int | None
) -> None:
    content = shipped if seed is None else generate(seed)
    check_references(content)
    check_slots(content)
    check_visits(content)
    check_people(content)
    check_accounts(content)


def check_references(content: ClinicContent) -> None:
    collections: Mapping[str, Mapping[str, object]] = {
        "patient": content.patients,
        "practitioner": content.practitioners,
        "service": content.services,
        "slot": content.slots,
        "referral": content.referrals,
        "appointment": content.appointments,
        "department": content.departments,
        "issued_by": content.practitioners,
        "prescriber": content.practitioners,
    }
    for name in type(content).model_fields:
        for key, part in getattr(content, name).items():
            assert part.id == key
            for field, value in part:
                if field in collections and isinstance(value, str):
                    assert value in collections[field]


def check_slots(content: ClinicContent) -> None:
    slots = content.slots
    assert len({(part.practitioner, part.start) for part in slots.values()}) == len(slots)
    assert all(part.start > NOW for part in slots.values())
    taken = [part.slot for part in booked(content)]
    assert sorted(filter(None, taken)) == sorted(key for key, part in slots.items() if part.taken)
    assert len(set(taken)) == len(taken)
    for part in slots.values():
        leave = content.practitioners[part.practitioner].leave
        assert not any(days.first <= part.start[:10] <= days.last for days in leave)


def check_visits(content: ClinicContent) -> None:
    for part in content.appointments.values():
        service, patient = content.services[part.service], content.patients[part.patient]
        age = age_on(patient.date_of_birth, part.start)
        assert (service.min_age or 0) <= age <= (service.max_age or 200)
        assert part.service in content.practitioners[part.practitioner].services
        assert (part.status == "booked") == (part.start > NOW) == (part.slot is not None)
        assert part.booked_on <= TODAY
        assert service.referral == (part.referral is not None)
        if part.referral is not None:
            referral = content.referrals[part.referral]
            assert (referral.patient, referral.department) == (part.patient, service.department)
            assert referral.issued_on <= part.start[:10] <= referral.valid_until
    days = Counter((part.patient, part.start[:10]) for part in booked(content))
    departments = Counter(
        (part.patient, content.services[part.service].department) for part in booked(content)
    )
    assert set(days.values()) == set(departments.values()) == {1}
    assert max(Counter(part.patient for part in booked(content)).values()) <= 3


def check_people(content: ClinicContent) -> None:
    people = content.patients.values()
    names = {part.name for part in people}
    assert len({part.phone for part in people}) == len({part.email for part in people}) == 200
    assert len({(part.name, part.date_of_birth) for part in people}) == 200
    assert len(names) < 200
    for part in people:
        child = age_on(part.date_of_birth, TODAY) < 16
        assert {guardian.name for guardian in part.guardians} <= names
        assert part.guardians or not child
        assert not (child and part.representatives)


def check_accounts(content: ClinicContent) -> None:
    assert all(part.used <= part.visits for part in content.referrals.values())
    assert all(part.renewals_used <= part.renewals for part in content.prescriptions.values())
    for part in content.invoices.values():
        visit = content.appointments[part.appointment]
        service = content.services[visit.service]
        assert part.patient == visit.patient
        assert part.amount == (service.fee if part.kind == "visit" else service.late_fee)
        assert (part.waived_on is not None) == (part.status == "waived")
        expected = {"visit": "attended", "missed": "missed", "late": "cancelled"}
        assert visit.status == expected[part.kind]
