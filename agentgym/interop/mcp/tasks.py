"""What a task on somebody's MCP server holds: a public instruction and how it is graded."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentgym.types import Json


class ExpectedCall(BaseModel):
    """A call that a solution makes.

    Attributes:
        name: The tool's name.
        arguments: Arguments it is made with; it may have more.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    arguments: dict[str, Json] = Field(default_factory=dict)


class GradeTool(BaseModel):
    """A tool of the server that grades; the agent neither sees it nor can call it.

    Attributes:
        name: Its name.
        arguments: What it is called with.
        answer: The argument that takes what was submitted, where there is one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    arguments: dict[str, Json] = Field(default_factory=dict)
    answer: str | None = None


class McpPublic(BaseModel):
    """The part an agent may see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instruction: str = Field(min_length=1)


class McpPrivate(BaseModel):
    """The part that grades; every condition that is named has to hold.

    Attributes:
        calls: Calls that have to be made and not to fail, each a call of its own; further ones
            do no harm.
        ordered: Whether they have to be made in this order.
        answers: What may be submitted, any of them; empty where it is not looked at.
        grade: A tool of the server that grades.
        oracle: Calls that solve the task, where `calls` alone do not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: tuple[ExpectedCall, ...] = ()
    ordered: bool = False
    answers: tuple[str, ...] = ()
    grade: GradeTool | None = None
    oracle: tuple[ExpectedCall, ...] = ()

    @model_validator(mode="after")
    def _grades_by_something(self) -> Self:
        if not (self.calls or self.answers or self.grade):
            raise ValueError("name calls, answers or grade, else nothing is graded")
        return self
