"""The policy's rules as functions: why a call would be wrong, and what the person has to be told.

The scenarios are made with them, so that each task's right end and its values follow from the
records. The tools do not use them: keeping to the policy is the agent's part.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from agentgym_tools.clinic.calendar import (
    TODAY,
    age_on,
    hours_ahead,
    moment,
    plus_days,
    written,
)
from agentgym_tools.clinic.toolkit import LATE_HOURS
from agentgym_tools.domain import Call
from agentgym_tools.script import Parts
from agentgym_tools.state import Record, State
from agentgym_tools.wording import said_date, said_time

LAST_DAY = "2026-03-30"
LAST_WAITING_DAY = "2026-03-16"
LEAD_HOURS = 2
MOST_MOVES = 2
MOST_BOOKED = 3
MOST_PLACES = 2
MISSED_LIMIT, MISSED_DAYS = 3, 181
DEBT_LIMIT = 100
DEBT_EXEMPT = ("general", "paediatrics")
REFILL_DAYS = 7
WAIVER_DAYS, YEAR_DAYS = 30, 365


class Reason(NamedTuple):
    """Why something is not allowed.

    Attributes:
        rule: The rule's name, such as "referral".
        parts: What the person has to be told; see `script.Told`.
    """

    rule: str
    parts: Parts


def reasons(state: State, call: Call) -> list[Reason]:
    """Return every rule that a writing call would break, none where it is allowed."""
    return list(_CHECKS[call.name](state, call.arguments))
