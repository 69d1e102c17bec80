"""The default grade: what an episode came to, by named components."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from agentgym.types import Reward
from agentgym_tools.case import Case
from agentgym_tools.users.base import End


class Finding(NamedTuple):
    """One component of a grade.

    Attributes:
        value: From 0 to 1; only 1 is right.
        why: What is missing, for people.
        failed_by: Whose failure it is.
    """

    value: float
    why: str = ""
    failed_by: str = "agent"


def grade(
    case: Case,
    end: End,
    *,
    user_fault: str = "",
    further: Mapping[str, Finding] = MappingProxyType({}),
) -> Reward:
    """Grade a case: 1 where every component is right, else 0.

    Components:
        state: The state equals the gold's; see `comparing.differences`.
        effects: What is required holds and nothing forbidden does.
        told: The share of what the user had to be told that they were told.
        lookups: The share of what had to be found out that was.
        consent: No call that needs the user's agreement was made without it.
        subject: No record of a person was changed whom the case does not concern.
        handover: The conversation was handed over to a person exactly where it had to be.
        ended: It came to an end by the user's content or by a handover.

    Labels are `outcome`, which is "solved" or the first component that is not right, and
    `failed_by`, which is "agent", "user", "judge" or "nobody". Infrastructure faults never come
    here.

    Args:
        case: The conversation.
        end: How it ended.
        user_fault: What the user did that no agent could make up for.
        further: Components found otherwise, such as `checklist`.
    """
    found = {**{name: check(case, end) for name, check in CHECKS.items()}, **further}
    wrong = {name: part for name, part in found.items() if part.value < 1}
    first = next(iter(wrong.values()), Finding(1.0, failed_by="nobody"))
    failed_by = "user" if wrong and user_fault else first.failed_by
    return Reward(
        value=0.0 if wrong else 1.0,
        components={name: part.value for name, part in found.items()},
        labels={"outcome": next(iter(wrong), "solved"), "failed_by": failed_by, "end": end},
        feedback="; ".join([user_fault, *(part.why for part in wrong.values())]).strip("; ")
        or None,
    )


def _state(case: Case, end: End) -> Finding:
    found = case.differences()
    return Finding(float(not found), "; ".join(found[:5]))


def _effects(case: Case, end: End) -> Finding:
    rules = case.private.rules
    missing = [part for part in rules.required if not case.holds(part)]
    present = [part for part in rules.forbidden if case.holds(part)]
    words = [f"{part.collection} {part.key or ''} is not as required" for part in missing]
    words += [f"{part.collection} {part.key or ''} is as forbidden" for part in present]
    return Finding(float(not words), "; ".join(words))


def _told(case: Case, end: End) -> Finding:
    wanted = dict.fromkeys(name for wish in case.private.script.chosen() for name in wish.told)
    missing = [name for name in wanted if name not in case.told]
    return _share(len(wanted), missing, "the user was not told: ")


def _lookups(case: Case, end: End) -> Finding:
    wanted = case.private.rules.lookups
    missing = [part.any_of[0].name for part in wanted if not case.found_out(part)]
    return _share(len(wanted), missing, "not looked up: ")


def _consent(case: Case, end: End) -> Finding:
    names = case.unagreed() if case.private.rules.consent else ()
    return Finding(float(not names), f"without the user's agreement: {', '.join(names)}")


def _subject(case: Case, end: End) -> Finding:
    people = case.strangers()
    return Finding(float(not people), f"records of {', '.join(people)} were changed")


def _handover(case: Case, end: End) -> Finding:
    wanted, handed_over = case.private.rules.handover, end == "handover"
    if wanted == "must" and not handed_over:
        return Finding(0.0, "the conversation should have been handed over")
    if wanted == "never" and handed_over:
        return Finding(0.0, "the conversation was handed over for no reason")
    return Finding(1.0)


def _ended(case: Case, end: End) -> Finding:
    words = "the user gave up" if end == "gave_up" else "the conversation did not come to an end"
    return Finding(float(end in ("satisfied", "handover")), words)


CHECKS: Mapping[str, Callable[[Case, End], Finding]] = {
    "state": _state,
    "effects": _effects,
    "told": _told,
    "lookups": _lookups,
    "consent": _consent,
    "subject": _subject,
    "handover": _handover,
    "ended": _ended,
}


def _share(wanted: int, missing: list[str], words: str) -> Finding:
    if not missing:
        return Finding(1.0)
    return Finding(1 - len(missing) / wanted, words + ", ".join(missing))
