"""What a domain is: content, tools, a policy, and what people come to ask for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agentgym.types import Json
from agentgym_tools.base import Base
from agentgym_tools.state import Record, State
from agentgym_tools.toolkit import Toolkit

Derived = Callable[[State, str], "Mapping[str, Json] | None"]
"""Works a record out from the state and an id."""

Side = Literal["assistant", "user"]
"""Whose tools a call is made with."""


class Call(BaseModel):
    """One call of a tool.

    Attributes:
        requestor: Who makes it: the agent, or the user on a device of their own.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: Mapping[str, Json]
    requestor: Side = "assistant"


class DomainTask(BaseModel):
    """What a task needs to be replayed; domains add what else their tasks have.

    Attributes:
        id: Unique in its domain.
        gold: Calls that lead to the right end, in order; none where nothing is to be changed.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    gold: tuple[Call, ...]


@dataclass(frozen=True)
class Desk:
    """One episode's state with the toolkits over it.

    Attributes:
        state: What both sides' tools share.
        agent: The agent's tools.
        user: The tools of the user's own side, where the domain has some.
    """

    state: State
    agent: Toolkit
    user: Toolkit | None

    def side(self, requestor: Side) -> Toolkit:
        """Return a side's tools; a side without any has a toolkit of no tools."""
        if requestor == "assistant":
            return self.agent
        return self.user or Toolkit(self.state)


@dataclass(frozen=True)
class Domain:
    """A place where an agent serves people through tools.

    Attributes:
        name: Its name.
        base: The content that every episode starts from.
        toolkit: The agent's tools.
        policy: The rules the agent works by, which it reads first.
        user_toolkit: Tools of the user's own side, over the same state.
        tasks: What people come to ask for, by the task's id, where the data says.
        consent: Tools of the agent's that the policy allows only after the user agreed.
        handover: The agent's tool that hands the conversation over to a person, which ends it.
        derived: What follows from the state, such as whether a line works, by name: a function
            of the state and an id that returns a record, or None where there is none.
        unordered: Names of fields that hold lists whose order means nothing.
        ignored: Fields that are not graded, such as "handovers.summary".
        owner: Whose record one is, as the id of a person: a function of the collection and the
            record; None for what belongs to nobody.
    """

    name: str
    base: Base
    toolkit: type[Toolkit]
    policy: str
    user_toolkit: type[Toolkit] | None = None
    tasks: Mapping[str, DomainTask] = field(default_factory=dict)
    consent: frozenset[str] = frozenset()
    handover: str | None = None
    derived: Mapping[str, Derived] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    owner: Callable[[str, Record], str | None] | None = None

    def open(self, state: State | None = None) -> Desk:
        """Return the toolkits over a state, by default a fresh one; it takes microseconds."""
        state = State(self.base) if state is None else state
        user = self.user_toolkit(state) if self.user_toolkit else None
        return Desk(state, self.toolkit(state), user)
