"""What the engine is measured on: a small ledger kept by tools, and an agent that never thinks."""

from collections.abc import Iterator

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.env import ToolEnvironment
from agentgym.errors import ToolError
from agentgym.registry import EnvSpec, register
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.tools import tool
from agentgym.types import Action, AnyFields, Json, Observation, Reward, Task, call

TURNS = 5
_ACCOUNTS = ("rent", "food", "travel")


class LedgerEnvironment(ToolEnvironment):
    """Book amounts and submit the total."""

    async def setup(self) -> str:
        """Begin with an empty ledger."""
        self._booked: dict[str, int] = {}
        self._total: int | None = None
        return self.task.public.question

    @tool
    async def list_accounts(self) -> str:
        """List the accounts that amounts can be booked to."""
        return "\n".join(_ACCOUNTS)

    @tool
    async def book(self, account: str, amount: int) -> str:
        """Book an amount.

        Args:
            account: The account's name.
            amount: In cents.
        """
        if account not in _ACCOUNTS:
            raise ToolError(f"There is no account {account!r}.")
        self._booked[account] = self._booked.get(account, 0) + amount
        return f"{account} stands at {self._booked[account]}."

    @tool
    async def read(self, account: str) -> str:
        """Read what an account stands at.

        Args:
            account: The account's name.
        """
        return str(self._booked.get(account, 0))

    @tool
    async def submit(self, total: int) -> str:
        """Submit the total of all accounts; this ends the work.

        Args:
            total: In cents.
        """
        self._total = total
        self.finish()
        return "Submitted."

    async def grade(self) -> Reward:
        """Compare the total with the task's."""
        right = self._total == self.task.private.total
        return Reward(value=float(right), components={"correct": float(right)})

    async def save(self) -> Json:
        """Return the ledger."""
        return {"booked": self._booked, "total": self._total}


def moves(number: int) -> tuple[tuple[str, dict[str, Json]], ...]:
    """Return the calls that solve a task, one a turn."""
    return (
        ("list_accounts", {}),
        ("book", {"account": "rent", "amount": number}),
        ("book", {"account": "food", "amount": 250}),
        ("read", {"account": "rent"}),
        ("submit", {"total": number + 250}),
    )


def task_set(count: int) -> TaskSet:
    """Return so many tasks, and register the environment that plays them."""
    tasks = [
        Task[AnyFields, AnyFields](
            id=f"ledger-{number}",
            public=AnyFields(question=f"Book {number} to rent and 250 to food. What is the total?"),
            private=AnyFields(total=number + 250),
        )
        for number in range(count)
    ]
    info = TaskSetInfo(name="ledger", environment="ledger", licence="MIT")
    return TaskSet(info, tasks, "ledger")


def spec() -> EnvSpec:
    """Return the ledger's spec, registered in this process."""
    return register(
        EnvSpec(
            name="ledger",
            entry_point="tests.bench.ledger:LedgerEnvironment",
            description="Book amounts and submit the total.",
            capabilities=frozenset({"fingerprint"}),
        )
    )


class InstantAgent(Agent):
    """Plays the moves at once, so that what is left to measure is not the agent's."""

    name = "instant"

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode."""
        return _InstantPlayer(actions(brief.task_id))


class _InstantPlayer(Player):
    def __init__(self, planned: Iterator[Action]) -> None:
        self._planned = planned

    async def act(self, observation: Observation) -> Decision:
        return Decision(action=next(self._planned))


def actions(task_id: str) -> Iterator[Action]:
    """Yield the actions that solve a task."""
    for name, arguments in moves(int(task_id.rpartition("-")[2])):
        yield call(name, **arguments)
