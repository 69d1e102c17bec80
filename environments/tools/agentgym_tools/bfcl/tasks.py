"""BFCL's conversations as tasks."""

from pydantic import BaseModel, ConfigDict

from agentgym.env import digest
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.types import Task
from agentgym_tools.bfcl.wheel import Entry, documents, entries, wheel_version

STEPS = 20
"""Steps with calls that a turn may have; upstream stops a conversation at the next one."""


class BfclPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        entry: The conversation's id in the wheel, where its tools and first state are.
        category: `base`, `miss_func`, `miss_param` or `long_context`.
        requests: What the user says, turn by turn; empty where withheld functions appear.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    entry: str
    category: str
    requests: tuple[str, ...]


class BfclPrivate(BaseModel):
    """The part that grades.

    Attributes:
        gold: The calls that answer each turn, as Python source; none where the right answer is
            to make none yet.
        content: Hash of the state, the functions and their documents in the wheel.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gold: tuple[tuple[str, ...], ...]
    content: str


BfclTask = Task[BfclPublic, BfclPrivate]


def multi_turn() -> TaskSet:
    """Return all conversations of the four multi-turn categories: 4 times 200.

    Raises:
        UsageError: The wheel is not installed.
        TaskSetError: Its files are not as expected.
    """
    info = TaskSetInfo(
        name="multi_turn",
        environment="bfcl",
        description=f"BFCL multi-turn, from bfcl-eval {wheel_version()}.",
        licence="Apache-2.0",
    )
    return TaskSet(info, [_task(entry) for entry in entries().values()], "multi_turn")


def _task(entry: Entry) -> BfclTask:
    withheld = {str(turn): sorted(names) for turn, names in entry.withheld.items()}
    described = {api: dict(documents(api)) for api in entry.classes}
    content = digest([entry.config, sorted(entry.excluded), withheld, described])
    return BfclTask(
        id=entry.id,
        public=BfclPublic(entry=entry.id, category=entry.category, requests=entry.requests),
        private=BfclPrivate(gold=entry.gold, content=content),
        max_turns=len(entry.requests) * (STEPS + 1),
        tags={"category": entry.category},
    )
