"""The whole content from a seed, and the file it is shipped in."""

import json
from collections.abc import Iterable
from random import Random
from typing import Protocol, TypeVar

from agentgym_tools.clinic.generator.accounts import invoices, prescriptions, waiting
from agentgym_tools.clinic.generator.catalogue import DEPARTMENTS, SERVICES
from agentgym_tools.clinic.generator.diary import Diary
from agentgym_tools.clinic.generator.people import patients, practitioners
from agentgym_tools.clinic.records import ClinicContent

SEED = 20260302


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


_compact = json.JSONEncoder(separators=(",", ":")).encode
PartT = TypeVar("PartT", bound=_HasId)


def generate(seed: int = SEED) -> ClinicContent:
    """Make the content; the same seed makes the same."""
    rng = Random(seed)
    staff = practitioners(rng)
    people = patients(rng)
    diary = Diary(rng, staff, people)
    diary.fill()
    return ClinicContent(
        departments=_by_id(DEPARTMENTS),
        services=_by_id(SERVICES),
        practitioners=_by_id(staff),
        patients=_by_id(people),
        slots=_by_id(diary.slots),
        appointments=_by_id(diary.appointments),
        referrals=_by_id(diary.referrals),
        invoices=_by_id(invoices(rng, people, diary.appointments)),
        prescriptions=_by_id(prescriptions(rng, people, staff)),
        waiting=_by_id(waiting(rng, people, staff)),
        identity_alerts={},
        handovers={},
    )


def file_text(content: ClinicContent) -> str:
    """Return the content file's text: JSON with one record a line."""
    collections = []
    for name, records in content.model_dump(mode="json").items():
        lines = [f"{_compact(key)}:{_compact(record)}" for key, record in records.items()]
        collections.append(f"{_compact(name)}:{{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(collections) + "\n}\n"


def _by_id(parts: Iterable[PartT]) -> dict[str, PartT]:
    return {part.id: part for part in parts}
