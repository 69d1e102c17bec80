"""The runner: every check, one after the other, each within its time."""

import asyncio
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from agentgym.errors import AgentgymError, UnknownNameError
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.check.catalogue import CHECKS
from agentgym.sandbox.check.context import Context, applicable, canaries, checked_spec
from agentgym.sandbox.check.registry import Check, CheckFailure, NotApplicable
from agentgym.sandbox.check.results import CheckReport, CheckResult, Status

PATIENCE_S = 60.0
"""Seconds a check may take."""


async def check_backend(
    backend: SandboxBackend,
    *,
    only: Iterable[str] | None = None,
    on_result: Callable[[CheckResult], object] | None = None,
) -> CheckReport:
    """Hold a backend to the contract.

    Args:
        backend: What is checked; it stays open.
        only: Names of checks or groups; all by default.
        on_result: Called with each result as it comes.

    Returns:
        The report; whatever a sandbox raises is in it, as a failure.

    Raises:
        SandboxUnavailableError: Sandboxes cannot be made here.
        UnknownNameError: There is no such check or group.
    """
    chosen = select(only)
    started = time.perf_counter()
    results: dict[str, CheckResult] = {}
    async with Checker(backend) as checker, asyncio.TaskGroup() as group:

        async def carry_out(item: Check) -> None:
            results[item.name] = result = await checker.run(item)
            if on_result is not None:
                on_result(result)

        for item in chosen:
            if item.aside:
                group.create_task(carry_out(item))
        for item in chosen:
            if not item.aside:
                await carry_out(item)
    return CheckReport(
        backend.name,
        tuple(results[item.name] for item in chosen),
        time.perf_counter() - started,
    )


def select(only: Iterable[str] | None) -> tuple[Check, ...]:
    """Return the checks that some names of checks or groups stand for, all for None.

    Raises:
        UnknownNameError: There is no such check or group.
    """
    if only is None:
        return CHECKS
    wanted = set(only)
    known = {item.name for item in CHECKS} | {item.group for item in CHECKS}
    for name in sorted(wanted - known):
        raise UnknownNameError("check", name, known)
    return tuple(item for item in CHECKS if wanted & {item.name, item.group})


class Checker:
    """Runs checks on a backend, one at a time. Use it as an async context manager.

    Args:
        backend: What is checked; it stays open.
    """

    def __init__(self, backend: SandboxBackend) -> None:
        self._backend = backend
        self._shared: Sandbox | None = None
        self._used = False
        self._host = ExitStack()
        self._secret = secrets.token_hex(16)
        self._canaries: tuple[Path, ...] = ()

    async def __aenter__(self) -> Self:
        """Put out the canaries.

        Raises:
            SandboxUnavailableError: Sandboxes cannot be made here.
        """
        await self._backend.check_available()
        self._canaries = self._host.enter_context(canaries(self._secret))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what is open and remove the canaries."""
        self._host.close()
        await self._discard()

    async def run(self, item: Check) -> CheckResult:
        """Carry out one check; checks that run aside may be carried out at the same time."""
        reason = applicable(item, self._backend)
        if reason is not None:
            return _result(item, "not applicable", reason, 0.0)
        started = time.perf_counter()
        status: Status = "failed"
        clock = asyncio.timeout(PATIENCE_S)
        try:
            async with clock:
                await self._try(item)
            status, detail = "passed", ""
        except NotApplicable as error:
            status, detail = "not applicable", str(error)
        except CheckFailure as error:
            detail = str(error)
        except Exception as error:  # noqa: BLE001 - what a third party's backend raises is its own
            detail = f"{type(error).__name__}: {error}"
            if clock.expired():
                detail = f"it did not come to an end within {PATIENCE_S:g} s"
        if status == "failed" and not item.aside:
            await self._discard()
        return _result(item, status, detail, time.perf_counter() - started)

    async def _try(self, item: Check) -> None:
        shared = None if item.aside else await self._ready()
        with tempfile.TemporaryDirectory(prefix="agentgym-check-") as folder:
            context = Context(self._backend, Path(folder), self._secret, self._canaries, shared)
            try:
                await item.run(context)
            finally:
                self._used = self._used or context.used
                await context.close()

    async def _ready(self) -> Sandbox:
        """Return the shared sandbox as it was at its start."""
        if self._shared is not None and self._used:
            try:
                await self._shared.reset()
            except (AgentgymError, OSError):
                await self._discard()
        if self._shared is None:
            self._shared = await self._backend.start(checked_spec())
        self._used = False
        return self._shared

    async def _discard(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            with suppress(AgentgymError, OSError):
                await shared.close()


def _result(item: Check, status: Status, detail: str, seconds: float) -> CheckResult:
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in detail)
    return CheckResult(item.name, item.group, item.promise, status, shown, seconds)
