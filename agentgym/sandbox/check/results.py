"""What checks found: a result for each, and the report of a whole suite."""

from collections import Counter
from typing import Any, Literal, NamedTuple

Status = Literal["passed", "failed", "not applicable"]


class CheckResult(NamedTuple):
    """What one check found.

    Attributes:
        name: Group and name, such as "exec.exit_codes".
        group: The group alone.
        promise: What the check tries, one sentence.
        status: "not applicable" is for backends that declare no isolation or no users.
        detail: What was expected and what found, or why it is not applicable.
        seconds: How long it took.
    """

    name: str
    group: str
    promise: str
    status: Status
    detail: str
    seconds: float


class CheckReport(NamedTuple):
    """The results of the suite on one backend, in the order the checks ran.

    Attributes:
        backend: The backend's name.
        results: One for each check.
        seconds: How long all of them took.
    """

    backend: str
    results: tuple[CheckResult, ...]
    seconds: float

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return self._count("passed")

    @property
    def failed(self) -> int:
        """How many checks failed."""
        return self._count("failed")

    @property
    def not_applicable(self) -> int:
        """How many checks a backend without isolation or users is not held to."""
        return self._count("not applicable")

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.status == "failed")

    def to_json(self) -> dict[str, Any]:
        """Return the report as one JSON object, with the number of each status."""
        return {
            "backend": self.backend,
            "passed": self.passed,
            "failed": self.failed,
            "not_applicable": self.not_applicable,
            "seconds": round(self.seconds, 3),
            "results": [
                {**result._asdict(), "seconds": round(result.seconds, 4)} for result in self.results
            ],
        }

    def listing(self) -> str:
        """Return a readable listing: a line of counts, then each failure with its promise."""
        lines = [
            f"{self.backend}: {self.passed} passed, {self.failed} failed, "
            f"{self.not_applicable} not applicable in {self.seconds:.1f} s"
        ]
        for result in self.failures:
            lines += [f"\n{result.name}: {result.promise}", f"  {result.detail}"]
        return "\n".join(lines)

    def _count(self, status: Status) -> int:
        return Counter(result.status for result in self.results)[status]
