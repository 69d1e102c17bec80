"""tau2-bench's own reward, by name, for comparing with published figures.

It has faults that the default grade does not have, which are kept because they are the reward:
an agent that does nothing gets nearly half of the airline tasks, since a state that nobody
changed equals a gold that changes nothing; a fact "10" counts as told where "100" was said; a
write without the customer's agreement passes; a call of the gold counts as made where it has only
the compared arguments in common, and with none of them compared any call of the tool does.

Source: the description of the reward in Barres et al., "tau2-Bench" (2025).
"""

from collections.abc import Callable, Mapping

from agentgym.types import Reward
from agentgym_tools.case import Case
from agentgym_tools.comparing import alike
from agentgym_tools.tau2.tasks import Criteria, GoldAction
from agentgym_tools.users.base import End


def grade(case: Case, end: End) -> Reward:
    """Return the product of the parts that the task's `reward_basis` names.

    Components:
        DB: The state's canonical form equals that of a fresh state after the gold calls.
        COMMUNICATE: Every fact is a part of the agent's words, without case and commas.
        ACTION: Every gold call was made.

    `NL_ASSERTION` needs a judge: it is left out here and named in the label `left_out`. An
    episode that the user did not end is 0.

    Args:
        case: A task of tau2-bench's.
        end: How the conversation ended; empty where it did not.
    """
    criteria = Criteria.model_validate(case.private.foreign)
    parts = {name: PARTS[name](case, criteria) for name in criteria.reward_basis if name in PARTS}
    left_out = ", ".join(name for name in criteria.reward_basis if name not in PARTS)
    value = float(bool(end) and all(parts.values()))
    outcome = "solved" if value else next((n for n, right in parts.items() if not right), "ended")
    labels = {"outcome": outcome, "end": end, **({"left_out": left_out} if left_out else {})}
    return Reward(
        value=value, components={name: float(right) for name, right in parts.items()}, labels=labels
    )


def _database(case: Case, criteria: Criteria) -> bool:
    return case.desk.state.fingerprint() == case.gold.fingerprint()


def _communicate(case: Case, criteria: Criteria) -> bool:
    said = [text.lower().replace(",", "") for text in case.said]
    return all(any(info.lower() in text for text in said) for info in criteria.communicate_info)


def _action(case: Case, criteria: Criteria) -> bool:
    return all(_was_made(case, action) for action in criteria.actions)


def _was_made(case: Case, action: GoldAction) -> bool:
    for made in case.made:
        if made.call.name != action.name:
            continue
        compared = made.call.arguments if action.compare_args is None else action.compare_args
        if all(
            alike(made.call.arguments.get(name), action.arguments.get(name)) for name in compared
        ):
            return True
    return False


PARTS: Mapping[str, Callable[[Case, Criteria], bool]] = {
    "DB": _database,
    "COMMUNICATE": _communicate,
    "ACTION": _action,
}
