"""The typed parts of a task: what a person comes to ask an agent for."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentgym.types import Json, Task
from agentgym_tools.domain import Call
from agentgym_tools.script import Expect, Script


class ToolsPublic(BaseModel):
    """What the agent may see.

    Attributes:
        domain: Where it works, such as "clinic".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str


class Lookup(BaseModel):
    """Something the agent has to find out.

    Attributes:
        any_of: Calls of which one has to have succeeded; only the arguments given here are
            compared, so that none are needed where any call of the tool will do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    any_of: tuple[Call, ...] = Field(min_length=1)


class Rules(BaseModel):
    """What the final state and the way to it are graded by.

    Attributes:
        free: Collections that are not compared with the gold's; `required` says what counts.
        required: Statements that have to hold at the end.
        forbidden: Statements that may not hold at the end.
        lookups: What has to have been found out.
        consent: Whether every write needs the user's agreement first.
        subjects: Ids of the people whose records may be changed; empty where the comparison with
            the gold says enough.
        handover: Whether the episode has to end by handing over to a person, or may.
        checklist: Statements for a judge about the conversation, used where one is configured.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    free: tuple[str, ...] = ()
    required: tuple[Expect, ...] = ()
    forbidden: tuple[Expect, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    consent: bool = True
    subjects: tuple[str, ...] = ()
    handover: Literal["never", "may", "must"] = "never"
    checklist: tuple[str, ...] = ()


class ToolsPrivate(BaseModel):
    """The user, the right solution, and how the episode is graded.

    Attributes:
        script: The scripted user.
        story: Who the user is and how they behave, in plain words: what an LLM user plays.
        rules: How the episode is graded.
        foreign: What a benchmark that the task comes from grades by, in its own form.
        folder: The folder of the domain's data, where it is not shipped.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    unhashed: ClassVar[tuple[str, ...]] = ("folder",)
    disclosed: ClassVar[tuple[str, ...]] = ("script", "rules")

    script: Script
    story: str
    rules: Rules = Rules()
    foreign: dict[str, Json] = Field(default_factory=dict)
    folder: Path | None = None

    @property
    def gold(self) -> tuple[Call, ...]:
        """The calls of the right solution, of all wishes as they are in the end."""
        return tuple(call for wish in self.script.chosen() for call in wish.gold)


ToolsTask = Task[ToolsPublic, ToolsPrivate]
