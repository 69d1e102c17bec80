"""The self-check: does a sandbox backend keep the contract's promises?

Each check is a small function whose first line states the promise. Backends of third parties
are held to the same ones:

    from agentgym.sandbox.check import check_backend

    report = await check_backend(MyBackend())
    assert not report.failed, report.listing()

The checks that attack run only on a backend that declares to be isolated.
"""

from agentgym.sandbox.check.catalogue import CHECKS
from agentgym.sandbox.check.registry import Check, CheckFailure
from agentgym.sandbox.check.results import CheckReport, CheckResult
from agentgym.sandbox.check.suite import Checker, check_backend

__all__ = [
    "CHECKS",
    "Check",
    "CheckFailure",
    "CheckReport",
    "CheckResult",
    "Checker",
    "check_backend",
]
