"""The clinic: bookings, referrals, bills and prescriptions under a policy with refusals."""

import json
from functools import cache
from importlib import resources

from agentgym_tools.base import Base
from agentgym_tools.clinic.toolkit import ClinicTools
from agentgym_tools.domain import Domain
from agentgym_tools.state import Record
from agentgym_tools.toolkit import Effect

NAME = "clinic"
_WITHOUT_CONSENT = frozenset({"report_failed_identification"})


@cache
def domain() -> Domain:
    """Return the clinic as a domain; its content is read once in a process."""
    files = resources.files("agentgym_tools.clinic")
    tools = ClinicTools.declared().values()
    writes = frozenset(tool.name for tool in tools if tool.effect is Effect.WRITE)
    return Domain(
        name=NAME,
        base=Base(json.loads(files.joinpath("content.json").read_text(encoding="utf-8"))),
        toolkit=ClinicTools,
        policy=files.joinpath("policy.md").read_text(encoding="utf-8"),
        consent=writes - _WITHOUT_CONSENT,
        handover="hand_over",
        ignored=frozenset({"handovers.summary"}),
        owner=_owner,
    )


def _owner(collection: str, record: Record) -> str | None:
    """Return the patient whom a record is about."""
    patient: str | None = record.get("id" if collection == "patients" else "patient")
    return patient
