"""Support of an internet provider: the agent sees the line, the customer has the devices."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

from agentgym.types import Json
from agentgym_tools.base import Base
from agentgym_tools.broadband.connection import connection
from agentgym_tools.broadband.device_tools import DeviceTools
from agentgym_tools.broadband.line_tools import LineTools
from agentgym_tools.domain import Domain
from agentgym_tools.state import Record, State

NAME = "broadband"
CONSENT = frozenset({"book_visit", "cancel_contract", "cancel_visit", "change_plan", "give_credit"})


@cache
def domain() -> Domain:
    """Return the provider's support as a domain; its content is read once in a process."""
    files = resources.files("agentgym_tools.broadband")
    return Domain(
        name=NAME,
        base=Base(json.loads(files.joinpath("content.json").read_text(encoding="utf-8"))),
        toolkit=LineTools,
        policy=files.joinpath("policy.md").read_text(encoding="utf-8"),
        user_toolkit=DeviceTools,
        consent=CONSENT,
        handover="hand_over",
        derived={"connection": _connection},
        unordered=frozenset({"allowed", "bands"}),
        ignored=frozenset({"handovers.summary", "lines.failed_logins"}),
        owner=_owner,
    )


def _connection(state: State, customer_id: str) -> Mapping[str, Json] | None:
    """Return a customer's connection as a record: `connection.Connection` by its fields."""
    if state.get("customers", customer_id) is None:
        return None
    found = connection(state, customer_id)
    devices = {
        name: {"reach": str(link.reach), "down": link.speed.down, "good": link.good}
        for name, link in found.devices.items()
    }
    line = {"signal": str(found.signal), "session": str(found.session), "good": found.good}
    return {**line, "down": found.speed.down, "devices": devices, "tv": str(found.tv)}


def _owner(collection: str, record: Record) -> str | None:
    """Return the customer whom a record is about."""
    if collection == "customers":
        return f"C{record['line'][1:]}"
    owner: str | None = record.get("customer")
    return owner
