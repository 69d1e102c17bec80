"""Grading as upstream does it: after each turn, states and answers against the gold's."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from agentgym.errors import EnvironmentFailedError, ToolError
from agentgym.types import Reward
from agentgym_tools.bfcl.apis import Apis
from agentgym_tools.bfcl.schemas import parameters
from agentgym_tools.bfcl.syntax import parse_gold


class TurnVerdict(NamedTuple):
    """How a turn ended.

    Attributes:
        made: Whether a call was made, where the gold makes one.
        state: Whether every instance's public attributes equal the gold's.
        responses: Whether the gold's answers are among all the answers so far.
    """

    made: bool
    state: bool
    responses: bool

    @property
    def passed(self) -> bool:
        """Whether the turn is right."""
        return all(self)

    @property
    def outcome(self) -> str:
        """What was wrong first, in upstream's order."""
        if not self.made:
            return "no_call"
        if not self.state:
            return "state"
        return "passed" if self.responses else "responses"


def judge_turn(
    apis: Apis, gold: Apis, calls: Sequence[str], answers: Sequence[str], *, made: bool
) -> TurnVerdict:
    """Make a turn's gold calls on the gold's own instances, and compare.

    A turn whose gold makes no call passes whatever was done in it, as upstream: its effects show
    in the turns that follow.

    Args:
        apis: The agent's instances.
        gold: The gold's, as the turns before left them; they are changed.
        calls: The turn's gold calls, as Python source.
        answers: What all of the agent's calls so far were answered.
        made: Whether the agent made a call in this turn.

    Raises:
        EnvironmentFailedError: A gold call cannot be made.
    """
    try:
        parsed = [parse_gold(source, parameters()) for source in calls]
        expected = [gold.call(name, arguments).text for name, arguments in parsed]
    except ToolError as error:
        raise EnvironmentFailedError("the gold", error) from error
    if not calls:
        return TurnVerdict(made=True, state=True, responses=True)
    missing = Counter(expected) - Counter(answers)
    return TurnVerdict(made=made, state=_same_state(apis, gold), responses=not missing)


def reward(verdicts: Sequence[TurnVerdict], turns: int) -> Reward:
    """Return the grade of a conversation: 1 where every turn passed.

    The components are shares of all turns: `state` and `responses` of those that passed either
    check, `progress` of those before the first that failed.

    Args:
        verdicts: Of the turns that have ended.
        turns: How many the conversation has.
    """
    passed = [verdict.passed for verdict in verdicts]
    before = passed.index(False) if False in passed else len(passed)
    outcome = verdicts[before].outcome if before < len(passed) else "passed"
    return Reward(
        value=float(before == turns),
        components={
            "state": sum(v.made and v.state for v in verdicts) / turns,
            "responses": sum(v.made and v.responses for v in verdicts) / turns,
            "progress": before / turns,
        },
        labels={"outcome": "unfinished" if outcome == "passed" and before < turns else outcome},
    )


def _same_state(apis: Apis, gold: Apis) -> bool:
    return all(
        getattr(apis.instances[name], attribute) == value
        for name, instance in gold.instances.items()
        for attribute, value in vars(instance).items()
        if not attribute.startswith("_")
    )
