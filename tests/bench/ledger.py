"""What the engine is measured on: a small ledger kept by tools, and an agent that never thinks."""

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.env import ToolEnvironment
from agentgym.errors import ToolError
from agentgym.registry import EnvSpec, register
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.tools import tool
from agentgym.types import Action, AnyFields, Json, Observation, Reward, Task, ToolCall

MOVES: tuple[tuple[str, dict[str, Json]], ...] = (
    ("list_accounts", {}),
    ("book", {"account": "rent", "amount": 1200}),
    ("book", {"account": "food", "amount": 250}),
    ("read", {"account": "rent"}),
    ("submit", {"total": 1450}),
)
"""The calls that solve every task, one a turn."""

TURNS = len(MOVES)
_ACCOUNTS = ("rent", "food", "travel")


class LedgerEnvironment(ToolEnvironment):
    """Book amounts and submit the total."""

    async def setup(self) -> str:
        self._booked: dict[str, int] = {}
        self._total: int | None = None
        question: str = self.task.public.question
        return question

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
        right = float(self._total == self.task.private.total)
        return Reward(value=right, components={"correct": right})

    async def save(self) -> Json:
        return {"booked": self._booked, "total": self._total}


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


def task_set(count: int) -> TaskSet:
    """Return so many tasks, which differ in their words."""
    tasks = [
        Task[AnyFields, AnyFields](
            id=f"ledger-{number}",
            public=AnyFields.model_validate(
                {"question": f"Customer {number}: book 1200 to rent, 250 to food. The total?"}
            ),
            private=AnyFields.model_validate({"total": 1450}),
        )
        for number in range(count)
    ]
    info = TaskSetInfo(name="ledger", environment="ledger", licence="MIT")
    return TaskSet(info, tasks, "ledger")


def actions() -> list[Action]:
    """Return the moves as actions of their own, as an agent would make them."""
    return [
        Action(tool_calls=(ToolCall(name=name, arguments=arguments),)) for name, arguments in MOVES
    ]


class InstantAgent(Agent):
    """Plays the moves at once, so that what is left to measure is not the agent's."""

    name = "instant"

    async def begin(self, brief: Brief) -> Player:
        return _InstantPlayer()


class _InstantPlayer(Player):
    def __init__(self) -> None:
        self._planned = iter(actions())

    async def act(self, observation: Observation) -> Decision:
        return Decision(action=next(self._planned))
