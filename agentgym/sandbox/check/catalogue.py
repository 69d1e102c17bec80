"""All checks, by group."""

from agentgym.sandbox.check import (
    egress,
    encodings,
    escape,
    exec,
    files,
    floods,
    hostile,
    isolation,
    lifetime,
    limits,
    network,
    privileges,
    processes,
    shells,
    specs,
    state,
    streams,
    transfer,
    users,
)
from agentgym.sandbox.check.registry import REGISTERED, Check

_GROUPS = (
    exec,
    streams,
    encodings,
    processes,
    shells,
    files,
    transfer,
    hostile,
    state,
    floods,
    limits,
    isolation,
    network,
    egress,
    escape,
    privileges,
    users,
    specs,
    lifetime,
)

CHECKS: tuple[Check, ...] = tuple(
    item for module in _GROUPS for item in REGISTERED if item.run.__module__ == module.__name__
)
