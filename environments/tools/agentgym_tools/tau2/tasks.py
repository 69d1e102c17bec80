"""tau2-bench's tasks, as its files have them."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from agentgym.types import Json
from agentgym_tools.domain import Call, DomainTask, Side


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Instructions(_Part):
    """What the user knows and wants.

    Attributes:
        reason_for_call: What they ask for.
        known_info: What they can tell.
        unknown_info: What they cannot.
        task_instructions: How they behave.
    """

    task_instructions: str
    domain: str
    reason_for_call: str
    known_info: str | None = None
    unknown_info: str | None = None


class UserScenario(_Part):
    """Who the user is."""

    persona: str | None = None
    instructions: Instructions | str


class GoldAction(_Part):
    """A call of the right solution.

    Attributes:
        compare_args: The arguments that upstream compares; all where None.
    """

    action_id: str
    name: str
    arguments: Mapping[str, Json]
    requestor: Side = "assistant"
    info: str | None = None
    compare_args: tuple[str, ...] | None = None


class Criteria(_Part):
    """What upstream grades by.

    Attributes:
        actions: The right solution.
        communicate_info: What the agent has to tell the user.
        nl_assertions: Statements for a judge.
        reward_basis: Which of them count, such as "DB" and "COMMUNICATE".
    """

    actions: tuple[GoldAction, ...] = ()
    communicate_info: tuple[str, ...] = ()
    nl_assertions: tuple[str, ...] = ()
    reward_basis: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:
        if isinstance(fields, dict):
            return {name: value for name, value in fields.items() if value is not None}
        return fields


class Tau2Task(DomainTask):
    """One task.

    Attributes:
        split: "train" or "test"; None where the split file does not name the task.
        initial_state: What upstream changes before the episode; None in retail and airline.
    """

    user_scenario: UserScenario
    evaluation_criteria: Criteria
    initial_state: Mapping[str, Json] | None = None
    gold: tuple[Call, ...] = ()
    split: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_id_as_text(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and isinstance(fields.get("id"), int):
            return {**fields, "id": str(fields["id"])}
        return fields

    @model_validator(mode="after")
    def _with_gold(self) -> Self:
        actions = self.evaluation_criteria.actions
        calls = [
            Call(name=part.name, arguments=part.arguments, requestor=part.requestor)
            for part in actions
        ]
        object.__setattr__(self, "gold", tuple(calls))  # the model is frozen, this is its making
        return self
