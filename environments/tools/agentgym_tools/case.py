"""A case: one conversation's state, what was done and said in it, and what it has come to."""

from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from agentgym.types import Json
from agentgym_tools.comparing import alike, differences, holds
from agentgym_tools.domain import Call, Desk, Domain
from agentgym_tools.replay import replay
from agentgym_tools.script import Expect, Told
from agentgym_tools.state import State, StateSnapshot
from agentgym_tools.tasks import Lookup, ToolsPrivate
from agentgym_tools.words import Tokens, holds_all, holds_any, taken_in


class Made(NamedTuple):
    """A call of the agent's that was carried out or refused by a tool.

    Attributes:
        call: The call.
        error: Whether the tool refused it.
        agreed: Whether the user had agreed to what was being done.
    """

    call: Call
    error: bool
    agreed: bool


class CaseSnapshot(NamedTuple):
    """A case at one moment."""

    state: StateSnapshot
    made: tuple[tuple[str, Mapping[str, Json], bool, bool], ...]
    said: tuple[str, ...]
    told: tuple[str, ...]


class Case:
    """What the user reacts to and what is graded.

    Args:
        domain: Where it is.
        private: The task's private part.

    Attributes:
        desk: The state with both sides' tools.
        made: The agent's calls, in order.
        said: The agent's words to the user, in order.
        told: Names of what the user has been told.
    """

    def __init__(self, domain: Domain, private: ToolsPrivate) -> None:
        self.domain = domain
        self.private = private
        self.desk: Desk = domain.open()
        self.made: list[Made] = []
        self.said: list[str] = []
        self.told: set[str] = set()

    @cached_property
    def gold(self) -> State:
        """The state that the gold calls lead to."""
        return replay(self.domain, self.private.gold).desk.state

    # What happens.

    def record(self, call: Call, *, error: bool, agreed: bool) -> bool:
        """Keep a call of the agent's, and return whether the right solution has it."""
        useful = not error and self._is_gold(call)
        self.made.append(Made(call, error, agreed))
        return useful

    def hear(self, text: str) -> None:
        """Keep words of the agent's; what is too long to be taken in tells the user nothing."""
        self.said.append(text)
        words = taken_in(text)
        if words is not None:
            self.told.update(told.name for told in self.private.script.told if _tells(words, told))

    # What it has come to.

    def holds(self, expect: Expect) -> bool:
        """Whether a statement about the state is true now."""
        return holds(self.domain, self.desk.state, expect)

    def differences(self) -> tuple[str, ...]:
        """Return where the state differs from the gold's; see `comparing.differences`."""
        return differences(self.domain, self.desk.state, self.gold, self.private.rules.free)

    def found_out(self, lookup: Lookup) -> bool:
        """Whether one of a lookup's calls was made and answered."""
        return any(
            _asks(made.call, wanted)
            for made in self.made
            if not made.error
            for wanted in lookup.any_of
        )

    def looked_up(self) -> bool:
        """Whether everything that has to be found out was."""
        return all(self.found_out(lookup) for lookup in self.private.rules.lookups)

    def unagreed(self) -> tuple[str, ...]:
        """Return the names of the calls that needed the user's agreement and did not have it."""
        consent = self.domain.consent
        made = [m for m in self.made if not m.error and m.call.name in consent]
        return tuple(m.call.name for m in made if not m.agreed)

    def strangers(self) -> tuple[str, ...]:
        """Return the owners of changed records whom the case does not concern."""
        owner, subjects = self.domain.owner, self.private.rules.subjects
        if owner is None or not subjects:
            return ()
        found: dict[str, None] = {}
        for name, records in self.desk.state.changes().items():
            before = self.domain.base.collections[name]
            for key, record in records.items():
                for version in (record, before.get(key)):
                    whose = owner(name, version) if version is not None else None
                    if whose is not None and whose not in subjects:
                        found[whose] = None
        return tuple(found)

    # Going back.

    def save(self) -> CaseSnapshot:
        """Return the case as it is now."""
        made = tuple((m.call.name, m.call.arguments, m.error, m.agreed) for m in self.made)
        told = tuple(sorted(self.told))
        return CaseSnapshot(self.desk.state.snapshot(), made, tuple(self.said), told)

    def load(self, snapshot: CaseSnapshot) -> None:
        """Go back to a snapshot of the same task.

        Raises:
            UsageError: It was taken over other data.
        """
        self.desk.state.restore(snapshot.state)
        self.made = [
            Made(Call(name=name, arguments=arguments), error, agreed)
            for name, arguments, error, agreed in snapshot.made
        ]
        self.said, self.told = list(snapshot.said), set(snapshot.told)

    def _is_gold(self, call: Call) -> bool:
        """Whether a call is one of the gold's that was not made before."""
        wanted = sum(_same(part, call) for part in self.private.gold)
        before = (made for made in self.made if not made.error and _same(made.call, call))
        # No further than needed: a turn may have thousands of calls.
        return wanted > sum(1 for _ in islice(before, wanted))


def _tells(words: Tokens, told: Told) -> bool:
    return holds_all(words, told.parts) and not holds_any(words, told.unless)


def _same(one: Call, other: Call) -> bool:
    same_tool = one.name == other.name and one.requestor == other.requestor
    return same_tool and alike(dict(one.arguments), dict(other.arguments))


def _asks(call: Call, wanted: Call) -> bool:
    given = call.arguments
    return call.name == wanted.name and all(
        name in given and alike(given[name], value) for name, value in wanted.arguments.items()
    )
