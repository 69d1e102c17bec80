"""The slots of the coming weeks, and who came, stayed away or is to come."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from random import Random

from agentgym_tools.clinic.calendar import (
    NOW,
    TODAY,
    age_on,
    day,
    hours_ahead,
    moment,
    plus_days,
    written,
)
from agentgym_tools.clinic.generator.catalogue import DEPARTMENTS, SCARCE, SERVICES
from agentgym_tools.clinic.records import (
    Appointment,
    Patient,
    Practitioner,
    Referral,
    Service,
    Slot,
)

FIRST_DAY = TODAY
WEEKS = 6
COMING = 160
TODAYS = 26
_MINUTES = {part.id: part.minutes for part in DEPARTMENTS}
_SERVICES = {part.id: part for part in SERVICES}


class Diary:
    """Slots, appointments and the referrals they use.

    Args:
        rng: Where chance comes from.
        staff: Who sees patients.
        patients: Who comes.
    """

    def __init__(
        self, rng: Random, staff: Sequence[Practitioner], patients: Sequence[Patient]
    ) -> None:
        self.rng = rng
        self.staff = staff
        self.patients = patients
        self.slots: list[Slot] = []
        self.appointments: list[Appointment] = []
        self.referrals: list[Referral] = []
        self._busy: set[tuple[str, str]] = set()

    def fill(self) -> None:
        """Make everything, the past first."""
        for patient in self.patients:
            self._past(patient)
        self._open_slots()
        self._coming()
        self._spare_referrals()
        self.slots = [slot for slot in self.slots if slot.taken or self._stays_open(slot)]

    # The past.

    def _past(self, patient: Patient) -> None:
        rng = self.rng
        misser = rng.random() < 0.08
        kinds = ["missed"] * rng.choice((3, 3, 4)) if misser else []
        weights = {"attended": 16, "missed": 3, "cancelled": 5}
        count = rng.choice((0, 0, 1, 1, 1, 2, 2, 3, 4))
        kinds += rng.choices(list(weights), list(weights.values()), k=count)
        for kind in kinds:
            furthest = 170 if misser and kind == "missed" else 420
            start = self._workday(rng.randint(4, furthest))
            if day(start) <= day(patient.registered_on):
                continue
            self._record_past(patient, kind, start)

    def _record_past(self, patient: Patient, status: str, start: str) -> None:
        rng = self.rng
        service, practitioner = self._choice(patient, start)
        if self._is_busy(practitioner.id, patient.id, start):
            return
        late = status == "cancelled" and rng.random() < 0.6
        before = 0 if late else rng.randint(2, 9)
        self._add(
            patient,
            practitioner,
            service,
            start,
            status=status,
            moves=rng.choice((0, 0, 0, 1)),
            booked_on=plus_days(start, -before - rng.randint(2, 30)),
            late=late,
        )

    def _workday(self, days_ago: int) -> str:
        when = moment(NOW) - timedelta(days=days_ago)
        while when.weekday() > 4:
            when -= timedelta(days=1)
        return written(
            when.replace(hour=self.rng.randrange(9, 16), minute=self.rng.choice((0, 20, 40)))
        )

    # The weeks to come.

    def _open_slots(self) -> None:
        for practitioner in self.staff:
            days = self.rng.choice([*combinations(range(5), 3), (0, 1, 2, 3, 4), (0, 2, 3, 4)])
            for start in self._starts(practitioner, days):
                number = 30001 + len(self.slots)
                self.slots.append(
                    Slot(id=f"S{number}", practitioner=practitioner.id, start=start, taken=False)
                )

    def _starts(self, practitioner: Practitioner, days: Sequence[int]) -> Iterator[str]:
        minutes = _MINUTES[practitioner.department]
        opening = datetime.fromisoformat(f"{FIRST_DAY} 09:00")
        for offset in range(7 * WEEKS):
            morning = opening + timedelta(days=offset)
            today = written(morning)[:10]
            away = any(leave.first <= today <= leave.last for leave in practitioner.leave)
            if morning.weekday() not in days or away:
                continue
            grid = [
                morning + timedelta(minutes=minutes * step) for step in range(8 * 60 // minutes)
            ]
            count = self.rng.randint(3, 4) if offset < 2 else self.rng.randint(1, 3)
            for start in sorted(self.rng.sample([part for part in grid if part.hour != 13], count)):
                if written(start) > NOW:
                    yield written(start)

    def _coming(self) -> None:
        soon = [number for number, slot in enumerate(self.slots) if hours_ahead(slot.start) < 24]
        later = [number for number, slot in enumerate(self.slots) if hours_ahead(slot.start) >= 24]
        self._book_some(soon, TODAYS)
        self._book_some(later, COMING - TODAYS)

    def _book_some(self, numbers: list[int], count: int) -> None:
        self.rng.shuffle(numbers)
        staff = {part.id: part for part in self.staff}
        for number in numbers:
            if count == 0:
                return
            slot = self.slots[number]
            practitioner = staff[slot.practitioner]
            for patient in self.rng.sample(list(self.patients), 25):
                if self._book(patient, practitioner, number):
                    count -= 1
                    break

    def _book(self, patient: Patient, practitioner: Practitioner, number: int) -> bool:
        slot, rng = self.slots[number], self.rng
        offered = [_SERVICES[key] for key in practitioner.services]
        fitting = [part for part in offered if fits(patient, part, slot.start)]
        booked = [part for part in self.appointments if part.patient == patient.id and part.slot]
        departments = [_SERVICES[part.service].department for part in booked]
        known = practitioner.takes_new_patients or self._knows(patient, practitioner)
        if not fitting or not known or practitioner.department in departments or len(booked) > 2:
            return False
        if self._is_busy(practitioner.id, patient.id, slot.start):
            return False
        self.slots[number] = slot.model_copy(update={"taken": True})
        self._add(
            patient,
            practitioner,
            rng.choice(fitting),
            slot.start,
            status="booked",
            slot=slot.id,
            moves=rng.choice((0, 0, 0, 1, 1, 2, 2)),
            booked_on=plus_days(TODAY, -rng.randint(3, 40)),
        )
        return True

    def _knows(self, patient: Patient, practitioner: Practitioner) -> bool:
        return any(
            (part.patient, part.practitioner, part.status)
            == (patient.id, practitioner.id, "attended")
            for part in self.appointments
        )

    def _stays_open(self, slot: Slot) -> bool:
        department = next(part.department for part in self.staff if part.id == slot.practitioner)
        scarce = department in SCARCE and slot.start < plus_days(TODAY, 21)
        return not scarce and self.rng.random() < 0.7

    # What both share.

    def _choice(self, patient: Patient, start: str) -> tuple[Service, Practitioner]:
        rng = self.rng
        service = rng.choice([part for part in SERVICES if fits(patient, part, start)])
        able = [part for part in self.staff if service.id in part.services]
        return service, rng.choice(able)

    def _is_busy(self, practitioner: str, patient: str, start: str) -> bool:
        """Whether either has another visit then, or the patient one on that day."""
        keys = {(practitioner, start), (patient, start[:10])}
        if keys & self._busy:
            return True
        self._busy |= keys
        return False

    def _add(
        self,
        patient: Patient,
        practitioner: Practitioner,
        service: Service,
        start: str,
        *,
        status: str,
        moves: int,
        booked_on: str,
        slot: str | None = None,
        late: bool = False,
    ) -> None:
        referral = None
        if service.referral:
            counts = status in ("attended", "booked")
            referral = self._referral(patient, service.department, start, counts=counts)
        self.appointments.append(
            Appointment(
                id=f"A{2001 + len(self.appointments)}",
                patient=patient.id,
                practitioner=practitioner.id,
                service=service.id,
                start=start,
                slot=slot,
                status=status,
                moves=moves,
                referral=referral,
                booked_on=booked_on,
                late=late,
            )
        )

    def _referral(self, patient: Patient, department: str, start: str, *, counts: bool) -> str:
        """Return a referral that is good for a visit, and use it up by one where it counts."""
        for number, part in enumerate(self.referrals):
            same = (part.patient, part.department) == (patient.id, department)
            if same and part.issued_on < start[:10] <= part.valid_until and part.used < part.visits:
                used = part.used + counts
                self.referrals[number] = part.model_copy(update={"used": used})
                return part.id
        issued = plus_days(min(start[:10], TODAY), -self.rng.randint(3, 45))
        return self._new_referral(patient, department, issued, used=int(counts))

    def _new_referral(self, patient: Patient, department: str, issued: str, *, used: int) -> str:
        rng = self.rng
        child = age_on(patient.date_of_birth, issued) < 16
        issuers = [p for p in self.staff if p.department == ("paediatrics" if child else "general")]
        referral = Referral(
            id=f"R{4001 + len(self.referrals)}",
            patient=patient.id,
            department=department,
            issued_by=rng.choice(issuers).id,
            issued_on=issued,
            valid_until=plus_days(issued, rng.choice((90, 120, 180))),
            visits=rng.choice((1, 1, 2, 3, 6)),
            used=used,
        )
        self.referrals.append(referral)
        return referral.id

    def _spare_referrals(self) -> None:
        """Add referrals nobody used yet; some are about to lapse, some have."""
        departments = sorted({part.department for part in SERVICES if part.referral})
        for patient in self.rng.sample(list(self.patients), 60):
            department = self.rng.choice(departments)
            if age_on(patient.date_of_birth, TODAY) < 16 and department != "physiotherapy":
                continue
            issued = plus_days(TODAY, -self.rng.randint(5, 190))
            self._new_referral(patient, department, issued, used=0)


def fits(patient: Patient, service: Service, when: str) -> bool:
    """Whether a patient's age fits a service on a date."""
    age = age_on(patient.date_of_birth, when)
    return (service.min_age or 0) <= age <= (service.max_age or 200)
