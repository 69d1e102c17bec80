"""The benchmark's tasks as a task set of the environment, from a folder that the user has."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from agentgym.errors import UsageError
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym_tools.domain import Call, Domain
from agentgym_tools.domains import open_domain
from agentgym_tools.replay import replay
from agentgym_tools.tasks import Lookup, Rules, ToolsPrivate, ToolsPublic, ToolsTask
from agentgym_tools.tau2.loading import find_domains, looks_like_domains
from agentgym_tools.tau2.scripts import script_of, story_of
from agentgym_tools.tau2.tasks import Tau2Task
from agentgym_tools.toolkit import Effect

_LOOKS_PEOPLE_UP = ("find_user_id_by_email", "find_user_id_by_name_zip")


def read_folder(path: Path) -> TaskSet | None:
    """Return the tasks of the domains at or below a path; None where there is no domain.

    Ids carry the domain's name where there are several domains.

    Raises:
        UsageError: A file is missing or damaged; the message names it.
    """
    try:
        folders = find_domains(path)
    except UsageError:
        if looks_like_domains(path):
            raise
        return None
    tasks = [
        task
        for name, folder in folders.items()
        for task in _tasks(name, folder.resolve(), prefixed=len(folders) > 1)
    ]
    info = TaskSetInfo(name="tau2", environment="tools", licence="MIT")
    return TaskSet(info, tasks, str(path))


def _tasks(name: str, folder: Path, *, prefixed: bool) -> Iterator[ToolsTask]:
    domain = open_domain(name, folder)
    for task in domain.tasks.values():
        if isinstance(task, Tau2Task):
            task_id = f"{name}-{task.id}" if prefixed else task.id
            yield _task(domain, task, folder, task_id)


def _task(domain: Domain, task: Tau2Task, folder: Path, task_id: str) -> ToolsTask:
    gold = sorted(task.gold, key=lambda call: call.name == domain.handover)  # which ends it
    rules = _rules(domain, task, gold)
    reason = unsound(task, rules)
    return ToolsTask(
        id=task_id,
        split=task.split or "test",
        public=ToolsPublic(domain=domain.name),
        private=ToolsPrivate(
            script=script_of(task, gold),
            story=story_of(task),
            rules=rules,
            foreign=task.evaluation_criteria.model_dump(mode="json"),
            folder=folder,
        ),
        tags={"domain": domain.name, **({"unsound": reason} if reason else {})},
    )


def _rules(domain: Domain, task: Tau2Task, gold: list[Call]) -> Rules:
    changes = replay(domain, gold).desk.state.changes()
    return Rules(
        lookups=() if changes else _lookups(domain, gold),
        subjects=tuple(sorted(_owners(domain, changes))),
        handover=_handover(domain, gold, changed=bool(changes)),
        checklist=task.evaluation_criteria.nl_assertions,
    )


def _lookups(domain: Domain, gold: list[Call]) -> tuple[Lookup, ...]:
    """What proves, where nothing is to be changed, that the agent found out why."""
    tools = domain.toolkit.declared()
    reads = [
        call
        for call in gold
        if call.requestor == "assistant" and tools[call.name].effect is Effect.READ
    ]
    telling = [call for call in reads if call.name not in _LOOKS_PEOPLE_UP] or reads
    return (Lookup(any_of=tuple(telling)),) if telling else ()


def _handover(
    domain: Domain, gold: list[Call], *, changed: bool
) -> Literal["never", "may", "must"]:
    """Say whether the agent hands over: it may, not must, where the gold does its work first."""
    if all(call.name != domain.handover for call in gold):
        return "never"
    return "may" if changed else "must"


def _owners(domain: Domain, changes: Mapping[str, Mapping[str, object]]) -> set[str]:
    found = set()
    for name, records in changes.items():
        for key in records:
            record = domain.base.collections[name].get(key)
            owner = domain.owner(name, record) if domain.owner and record is not None else None
            if owner is not None:
                found.add(owner)
    return found


def unsound(task: Tau2Task, rules: Rules) -> str | None:
    """Return why a task can be won without doing its work; None where it cannot."""
    changes = any(rules.subjects)
    if changes or rules.lookups or task.evaluation_criteria.communicate_info:
        return None
    if rules.handover == "must":
        return "its gold only hands over, so handing over at once scores"
    return "its gold changes, looks up and tells nothing, so ending at once scores"
