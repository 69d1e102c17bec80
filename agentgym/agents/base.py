"""What an agent is: something that begins an episode and then answers observations."""

from abc import ABC, abstractmethod
from typing import Any

from agentgym.faults import Fault
from agentgym.types import Action, Frozen, Json, Limits, Observation, Task, TokenTrace, Usage


class Brief(Frozen):
    """What an agent is told before an episode.

    Attributes:
        env: The environment's versioned id.
        task_id: The task's id.
        seed: The episode's seed; an agent's own randomness derives from it.
        limits: What it may spend.
        task: The whole task, private part included; only for privileged agents, else None.
    """

    env: str
    task_id: str
    seed: int
    limits: Limits
    task: Task[Any, Any] | None = None


class Decision(Frozen):
    """An agent's answer to an observation.

    Attributes:
        action: What it does.
        usage: What its model calls consumed.
        reasoning: The model's reasoning, where it comes apart from the words.
        tokens: The exact tokens, where the model gives them.
        faults: Infrastructure faults survived on the way to this decision.
    """

    action: Action
    usage: Usage = Usage()
    reasoning: str | None = None
    tokens: TokenTrace | None = None
    faults: tuple[Fault, ...] = ()


class Player(ABC):
    """An agent in one episode."""

    @abstractmethod
    async def act(self, observation: Observation) -> Decision:
        """Answer an observation.

        Raises:
            ModelError: The model could not be reached or gave nothing usable.
        """


class Agent(ABC):
    """Plays any number of episodes, many at once; each is a `Player` of its own.

    Attributes:
        name: What results are listed under.
        privileged: Whether its briefs hold the whole task. True only of oracles.
    """

    name: str
    privileged: bool = False

    @abstractmethod
    async def begin(self, brief: Brief) -> Player:
        """Begin an episode."""

    def config(self) -> dict[str, Json]:
        """Return the settings that a result depends on, without secrets."""
        return {}

    def provenance(self) -> dict[str, Json]:
        """Return how the agent is reached, without secrets; a run may be continued another way."""
        return {}

    async def check(self) -> None:
        """Find out before a run whether the agent can work at all.

        Raises:
            UsageError: It cannot: no key, no such server.
        """
        return

    async def close(self) -> None:
        """Release everything; closing twice is allowed."""
        return
