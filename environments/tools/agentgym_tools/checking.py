"""Tasks checked before they are played: what they name exists, and their user can end."""

from collections.abc import Iterator
from typing import NoReturn

from agentgym.errors import TaskSetError, UnknownNameError
from agentgym_tools.case import Case
from agentgym_tools.domain import Domain
from agentgym_tools.grading import CHECKS
from agentgym_tools.replay import replay
from agentgym_tools.script import Expect, Parts, Wish
from agentgym_tools.tasks import ToolsPrivate, ToolsTask
from agentgym_tools.toolkit import Effect
from agentgym_tools.words import holds_all, taken_in


def check_task(domain: Domain, task: ToolsTask) -> None:
    """Refuse a task that cannot be played to its end.

    Raises:
        TaskSetError: It names an unknown tool, collection or thing to be told, its gold cannot be
            carried out, or its user waits for something that cannot happen.
    """
    _check_tools(domain, task)
    _check_expectations(domain, task)
    after_gold = _carried_out(domain, task)
    _check_told(task, after_gold)
    _check_wishes(task, after_gold)
    if not task.private.foreign:  # a benchmark's gold is as it is
        _check_earns(domain, task, after_gold)


def _check_tools(domain: Domain, task: ToolsTask) -> None:
    private = task.private
    calls = list(private.gold)
    calls += [call for part in private.rules.lookups for call in part.any_of]
    for deed in private.script.deeds:
        calls += [deed.call, *([deed.first] if deed.first else [])]
    sides = {"assistant": domain.toolkit, "user": domain.user_toolkit}
    for call in calls:
        toolkit = sides[call.requestor]
        known = toolkit.declared() if toolkit else {}
        if call.name not in known:
            _refuse(task, UnknownNameError(f"tool of the {call.requestor}", call.name, known))


def _check_expectations(domain: Domain, task: ToolsTask) -> None:
    known = (*domain.base.collections, *domain.derived)
    rules = task.private.rules
    for part in (*rules.required, *rules.forbidden, *_awaited(task.private)):
        if part.collection not in known:
            _refuse(task, UnknownNameError("collection", part.collection, known))
    for name in rules.free:
        if name not in known:
            _refuse(task, UnknownNameError("collection", name, known))


def _carried_out(domain: Domain, task: ToolsTask) -> Case:
    """Return the case as the gold calls leave it."""
    private = task.private
    deeds = [deed.call for deed in private.script.deeds]
    sides = {"assistant": domain.toolkit, "user": domain.user_toolkit or domain.toolkit}
    case = Case(domain, private)
    answers = replay(domain, private.gold, case.desk.state).answers
    for call, answer in zip(private.gold, answers, strict=True):
        case.record(call, error=answer.error, agreed=True)
        if call.requestor == "user" and call not in deeds:
            raise TaskSetError(
                f"Task {task.id!r}: its user never does the gold's {call.name!r}.",
                remedy="Add a deed for it.",
            )
        writes = sides[call.requestor].declared()[call.name].effect is Effect.WRITE
        if answer.error and writes and not private.foreign:  # a benchmark's gold is as it is
            why = answer.text[:200].rstrip(".")
            raise TaskSetError(
                f"Task {task.id!r}: the gold's {call.name!r} fails: {why}.",
                remedy="Mend `gold`.",
            )
    return case


def _check_earns(domain: Domain, task: ToolsTask, after_gold: Case) -> None:
    """Refuse a task whose gold does not satisfy the rules that the task is graded by."""
    rules = task.private.rules
    if rules.handover == "must" and domain.handover not in [c.name for c in task.private.gold]:
        raise TaskSetError(
            f"Task {task.id!r} has to end by handing over, which its gold does not do.",
            remedy="Mend `handover` or `gold`.",
        )
    for name in ("effects", "lookups", "subject"):
        finding = CHECKS[name](after_gold, "")
        if finding.value < 1:
            raise TaskSetError(
                f"Task {task.id!r}: the gold calls do not earn a grade of 1: {finding.why}.",
                remedy="Mend `rules` or `gold`.",
            )


def _check_told(task: ToolsTask, case: Case) -> None:
    script = task.private.script
    for kind, parts in (("told", script.told), ("facts", script.facts), ("deeds", script.deeds)):
        names = [part.name for part in parts]
        if len({*names}) < len(names):
            raise TaskSetError(
                f"Task {task.id!r}: two of `{kind}` have one name.", remedy="Give each its own."
            )
    for told in script.told:
        case.hear(_named(told.parts))
        if told.name not in case.told:
            raise TaskSetError(
                f"Task {task.id!r}: {told.name!r} cannot be told: its user would never end.",
                remedy="Mend its `parts` or `unless`.",
            )


def _named(parts: Parts) -> str:
    return ", ".join(wordings[0] for wordings in parts)


def _check_wishes(task: ToolsTask, after_gold: Case) -> None:
    script = task.private.script
    known = [told.name for told in script.told]
    for number, wish in enumerate(script.chosen(), start=1):
        for name in wish.told:
            if name not in known:
                _refuse(task, UnknownNameError("thing to be told", name, known))
        if not holds_all(taken_in(_named(wish.agrees)) or (), wish.agrees):
            raise TaskSetError(
                f"Task {task.id!r}: nothing makes its user agree to wish {number}.",
                remedy="Mend `agrees`.",
            )
        if wish.refused and not wish.told:
            raise TaskSetError(
                f"Task {task.id!r}: wish {number} is to be refused, but nothing has to be told: "
                "its user would never end.",
                remedy="Name in `told` what explains the refusal.",
            )
        if not wish.done and not wish.told:
            raise TaskSetError(
                f"Task {task.id!r}: wish {number} waits for nothing: its user would leave at once.",
                remedy="Say in `done` or `told` what settles it.",
            )
        if not wish.refused and not _comes_true(after_gold, wish):
            raise TaskSetError(
                f"Task {task.id!r}: the gold calls do not lead to what wish {number} waits for: "
                "its user would never end.",
                remedy="Mend `done` or `gold`.",
            )


def _comes_true(after_gold: Case, wish: Wish) -> bool:
    return wish.done == "gold" or all(after_gold.holds(part) for part in wish.done)


def _awaited(private: ToolsPrivate) -> Iterator[Expect]:
    for wish in private.script.chosen():
        if wish.done != "gold":
            yield from wish.done


def _refuse(task: ToolsTask, error: UnknownNameError) -> NoReturn:
    raise TaskSetError(f"Task {task.id!r}: {error.message}", remedy=error.remedy) from error
