"""What checks found: a result for each, and the report of a whole suite."""

from collections import Counter
from typing import Literal

from pydantic import Field

from agentgym.types import Frozen, Json

Status = Literal["passed", "failed", "skipped"]


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


class Report(Frozen):
    """The results of a whole suite on one environment.

    Attributes:
        environment: The versioned id.
        task_set: Where the tasks come from.
        task_ids: The sampled tasks.
        unsound: Tasks of the set that are not sound, and why; none of them is sampled.
        seed: Chose the sample, and is the episodes' seed.
    """

    environment: str
    task_set: str
    task_ids: tuple[str, ...]
    seed: int
    results: tuple[CheckResult, ...]
    unsound: dict[str, str] = Field(default_factory=dict)

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
