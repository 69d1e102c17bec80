"""Sandbox backends by name: those of agentgym, and of any installed package.

A package puts a `SandboxBackend` class under the entry-point group `agentgym.sandboxes`;
installing it is registering it.
"""

import inspect
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agentgym.errors import (
    AgentgymError,
    MissingExtraError,
    SandboxUnavailableError,
    UnknownNameError,
    UsageError,
)
from agentgym.sandbox.base import SandboxBackend

GROUP = "agentgym.sandboxes"
_OWN = {
    "bubblewrap": ("agentgym.sandbox.bubblewrap", "BubblewrapBackend"),
    "docker": ("agentgym.sandbox.docker.backend", "DockerBackend"),
    "process": ("agentgym.sandbox.process", "ProcessBackend"),
}
_EXTRAS = {"aiodocker": "docker"}


def backend_names() -> list[str]:
    """Return the names of the backends that are installed, whether they work here or not."""
    return sorted({*_OWN, *_foreign()})


def make_backend(name: str, **options: Any) -> SandboxBackend:
    """Make a backend by name.

    Args:
        name: Its name.
        options: The backend's own options, the arguments of its class.

    Raises:
        UnknownNameError: There is no such backend or option, with the nearest names.
        MissingExtraError: What it needs is not installed.
        UsageError: A package has it, but it is broken.
    """
    found = backend_type(name)
    known = inspect.signature(found).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
    for option in options:
        if option not in known and not takes_any:
            raise UnknownNameError(f"option of sandbox backend {name!r}", option, known)
    return found(**options)


def backend_type(name: str) -> type[SandboxBackend]:
    """Return a backend's class by its name.

    Raises:
        UnknownNameError: There is no such backend, with the nearest names.
        MissingExtraError: What it needs is not installed.
        UsageError: A package has it, but it is broken.
    """
    if name in _OWN:
        return _own(name)
    foreign = _foreign()
    if name not in foreign:
        raise UnknownNameError("sandbox backend", name, backend_names())
    entries = foreign[name]
    if len(entries) > 1:
        packages = ", ".join(sorted(map(_package, entries)))
        raise UsageError(
            f"Sandbox backend {name!r} is in several packages: {packages}.",
            remedy="Uninstall all but one.",
        )
    return _load(entries[0])


async def default_backend(**options: Any) -> SandboxBackend:
    """Return Docker's backend where an engine runs, and bubblewrap's elsewhere.

    Args:
        options: Options that both have.

    Raises:
        SandboxUnavailableError: Neither works here; why, of both.
    """
    reasons = []
    for name in ("docker", "bubblewrap"):
        try:
            return await _available(name, **options)
        except (SandboxUnavailableError, MissingExtraError) as error:
            reasons.append(f"{name}: {error}")
    raise SandboxUnavailableError("No sandboxes can be made here.", remedy=" ".join(reasons))


async def _available(name: str, **options: Any) -> SandboxBackend:
    backend = make_backend(name, **options)
    try:
        await backend.check_available()
    except BaseException:
        await backend.close()
        raise
    return backend


def _own(name: str) -> type[SandboxBackend]:
    module, attribute = _OWN[name]
    try:
        found: type[SandboxBackend] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise MissingExtraError(f"The sandbox backend {name!r}", extra) from error
    return found


def _foreign() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        if entry.name not in _OWN:
            found.setdefault(entry.name, []).append(entry)
    return found


def _load(entry: EntryPoint) -> type[SandboxBackend]:
    try:
        found = entry.load()
    except AgentgymError:
        raise
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    if not (inspect.isclass(found) and issubclass(found, SandboxBackend)):
        raise _broken(entry, f"{entry.value} is not a SandboxBackend")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise _broken(entry, f"{entry.value} lacks {missing}")
    return found


def _broken(entry: EntryPoint, reason: str) -> UsageError:
    return UsageError(
        f"Sandbox backend {entry.name!r} of package {_package(entry)} is broken: {reason}.",
        remedy="Mend or uninstall that package.",
    )


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module
