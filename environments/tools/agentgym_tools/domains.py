"""Domains by name: our own, and those whose data the user has."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgym.errors import UnknownNameError
from agentgym.registry import resolve
from agentgym_tools.domain import Domain

OWN: Mapping[str, str] = MappingProxyType(
    {
        "clinic": "agentgym_tools.clinic:domain",
        "broadband": "agentgym_tools.broadband:domain",
    }
)
"""Where the domains are made that are shipped."""


@lru_cache(maxsize=16)
def open_domain(name: str, folder: Path | None = None) -> Domain:
    """Return a domain, read once in a process.

    Args:
        name: Such as "clinic".
        folder: The folder of its data, where that is not shipped.

    Raises:
        UnknownNameError: There is no domain of this name.
        UsageError: Its data is missing or damaged.
    """
    if folder is not None:
        from agentgym_tools.tau2.loading import load_domain

        return load_domain(folder, name)
    if name not in OWN:
        raise UnknownNameError("domain", name, OWN)
    make: Callable[[], Any] = resolve(OWN[name])
    domain: Domain = make()
    return domain
