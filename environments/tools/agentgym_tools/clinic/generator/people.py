"""Who works at the clinic and who comes to it."""

from datetime import timedelta
from random import Random
from typing import Final

from agentgym_tools.clinic.calendar import TODAY, day, plus_days
from agentgym_tools.clinic.generator.catalogue import (
    FIRST_NAMES,
    LANGUAGES,
    LAST_NAMES,
    SERVICES,
    STAFF,
    STAFF_NAMES,
)
from agentgym_tools.clinic.records import (
    Guardian,
    Leave,
    Matter,
    Patient,
    Practitioner,
    Representative,
)

PATIENTS = 200
_MATTERS: Final[tuple[Matter, ...]] = ("appointments", "prescriptions", "billing")


def practitioners(rng: Random) -> list[Practitioner]:
    """Return the staff; each department's first member offers all of its services."""
    names = list(STAFF_NAMES)
    rng.shuffle(names)
    found: list[Practitioner] = []
    for department, count in STAFF.items():
        services = [part.id for part in SERVICES if part.department == department]
        for place in range(count):
            offered = services if place == 0 else sorted(rng.sample(services, 2))
            number = len(found)
            leave: tuple[Leave, ...] = ()
            if place == 1 and rng.random() < 0.6:
                first = plus_days("2026-03-09", 7 * rng.randrange(2))
                leave = (Leave(first=first, last=plus_days(first, rng.choice((4, 11)))),)
            found.append(
                Practitioner(
                    id=f"D{number + 1:02}",
                    name=names[number],
                    department=department,
                    services=tuple(offered),
                    languages=("English", *sorted(rng.sample(LANGUAGES, rng.randrange(3)))),
                    takes_new_patients=place != count - 1 or department == "neurology",
                    leave=leave,
                )
            )
    return found


def patients(rng: Random) -> list[Patient]:
    """Return the patients, household by household."""
    crowd = _Crowd(rng)
    while len(crowd.found) < PATIENTS:
        crowd.add_household()
    return crowd.found[:PATIENTS]


class _Crowd:
    """Patients so far, and what is taken by them.

    Args:
        rng: Where chance comes from.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.found: list[Patient] = []
        self._names: set[str] = set()
        self._phones = [
            f"07700 9{number:05}" for number in rng.sample(range(100_000), PATIENTS + 9)
        ]

    def add_household(self) -> None:
        """Add one to two adults and their children."""
        rng = self.rng
        family = rng.choice(LAST_NAMES)
        area, house = rng.randrange(1, 10), rng.randrange(1, 10)
        street = rng.choice("ABDEFGHJ") + rng.choice("LNPQRSTU")
        postcode = f"QS{area} {house}{street}"
        parents = rng.random() < 0.4
        adults = [
            self._adult(family, postcode, parents=parents) for _ in range(rng.choice((1, 1, 2)))
        ]
        if parents:
            guardians = tuple(
                Guardian(name=adult.name, relation=rng.choice(("parent", "parent", "guardian")))
                for adult in adults
            )
            for _ in range(rng.choice((1, 1, 2))):
                self._add(family, postcode, _days_old(rng, 200, 365 * 18), guardians=guardians)

    def _adult(self, family: str, postcode: str, *, parents: bool) -> Patient:
        rng = self.rng
        oldest = 55 if parents else 88
        born = _days_old(rng, 365 * (36 if parents else 18) + 30, 365 * oldest)
        representatives: tuple[Representative, ...] = ()
        if rng.random() < 0.22:
            representatives = (self._representative(family),)
        return self._add(family, postcode, born, representatives=representatives)

    def _representative(self, family: str) -> Representative:
        rng = self.rng
        relation = rng.choice(("spouse", "sibling", "friend", "carer", "adult child"))
        last = rng.choice(LAST_NAMES) if relation in ("friend", "carer") else family
        return Representative(
            name=self._name(last),
            relation=relation,
            may=tuple(sorted(rng.sample(_MATTERS, rng.choice((1, 2))))),
        )

    def _name(self, family: str) -> str:
        """Return a name nobody has yet."""
        while True:
            name = f"{self.rng.choice(FIRST_NAMES)} {family}"
            if name not in self._names:
                self._names.add(name)
                return name

    def _add(
        self,
        family: str,
        postcode: str,
        born: str,
        guardians: tuple[Guardian, ...] = (),
        representatives: tuple[Representative, ...] = (),
    ) -> Patient:
        rng = self.rng
        # Some people share a name: only the date of birth tells them apart.
        namesake = len(self.found) > 30 and rng.random() < 0.05
        name = rng.choice(self.found).name if namesake else self._name(family)
        oldest = min((day(TODAY) - day(born)).days - 20, 365 * 9)
        patient = Patient(
            id=f"P{1001 + len(self.found)}",
            name=name,
            date_of_birth=born,
            phone=self._phones[len(self.found)],
            email=f"{name.lower().replace(' ', '.')}{rng.randrange(10, 99)}@example.com",
            postcode=postcode,
            plan="plus" if rng.random() < 0.35 else "standard",
            registered_on=_days_old(rng, 15, oldest),
            guardians=guardians,
            representatives=representatives,
        )
        self.found.append(patient)
        return patient


def _days_old(rng: Random, least: int, most: int) -> str:
    return (day(TODAY) - timedelta(days=rng.randint(least, most))).isoformat()
