"""What a check is and what it says."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentgym.types import Frozen, Json

if TYPE_CHECKING:
    from agentgym.evaluation.conformance.bench import Bench

Status = Literal["passed", "failed", "skipped"]
Need = Literal["fingerprint", "snapshot", "oracle", "episodes"]

_SHOWN = 8
_LONGEST = 1000


class Verdict(NamedTuple):
    """A check's outcome; the lines are problems, notes or the reason of a skip."""

    status: Status
    lines: tuple[str, ...] = ()


def passed(*notes: str) -> Verdict:
    """The contract holds."""
    return Verdict("passed", notes)


def skipped(reason: str) -> Verdict:
    """The contract could not be tried."""
    return Verdict("skipped", (reason,))


def judged(problems: Iterable[str | None]) -> Verdict:
    """Failed where there is a problem, else passed; None is no problem."""
    found = tuple(problem for problem in problems if problem is not None)
    return Verdict("failed", found) if found else passed()


class Check(NamedTuple):
    """One check.

    Attributes:
        name: Topic and name, such as "determinism.new_instance".
        contract: What every environment promises, one sentence.
        run: The check itself.
        needs: Without which it is skipped: a declared capability, an oracle, or at least one
            episode that could be recorded.
    """

    name: str
    contract: str
    run: Callable[["Bench"], Awaitable[Verdict]]
    needs: tuple[Need, ...] = ()


def check(topic: str, run: Callable[["Bench"], Awaitable[Verdict]], *needs: Need) -> Check:
    """Make a check of a function: named after it, its docstring's first line the contract."""
    name = getattr(run, "__name__", "")
    return Check(f"{topic}.{name}", first_line(run), run, needs)


def first_line(documented: object) -> str:
    """Return the first line of a docstring."""
    return (documented.__doc__ or "").strip().partition("\n")[0]


class CheckResult(Frozen):
    """What one check found.

    Attributes:
        name: Topic and name, such as "determinism.new_instance".
        contract: What the check tries.
        detail: The problems, each with task, turn and difference; the reason of a skip; or
            what is worth knowing of a pass.
    """

    name: str
    status: Status
    contract: str
    detail: str = ""


def result_of(item: Check, verdict: Verdict) -> CheckResult:
    """Return a verdict as the result of a check."""
    lines = tuple(_printable(line) for line in verdict.lines[:_SHOWN])
    more = len(verdict.lines) - len(lines)
    detail = "\n".join((*lines, f"and {more} more") if more else lines)
    return CheckResult(name=item.name, status=verdict.status, contract=item.contract, detail=detail)


def _printable(line: str) -> str:
    """Escape what would disturb a terminal, and shorten what would fill it."""
    shown = line[:_LONGEST]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


class Report(Frozen):
    """The results of a whole suite on one environment.

    Attributes:
        environment: The versioned id.
        task_set: Where the tasks come from.
        task_ids: The sampled tasks.
        seed: Chose the sample, and is the episodes' seed.
    """

    environment: str
    task_set: str
    task_ids: tuple[str, ...]
    seed: int
    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(item for item in self.results if item.status == "failed")

    def to_json(self) -> dict[str, Json]:
        """Return the report as one JSON object, with `passed` and the counts by status."""
        counts = Counter(item.status for item in self.results)
        return {**self.model_dump(mode="json"), "passed": self.passed, "counts": dict(counts)}

    def listing(self) -> str:
        """Return a readable listing: a line of counts, then each failure with its contract."""
        counts = Counter(item.status for item in self.results)
        lines = [
            f"{self.environment}: {counts['passed']} passed, {counts['failed']} failed, "
            f"{counts['skipped']} skipped on {len(self.task_ids)} tasks of {self.task_set}"
        ]
        for item in self.failures:
            lines.append(f"\n{item.name}: {item.contract}")
            lines.extend(f"  {line}" for line in item.detail.splitlines())
        return "\n".join(lines)
