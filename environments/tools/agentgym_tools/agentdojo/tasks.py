"""AgentDojo's user tasks, alone and under attack, as tasks."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from agentgym.env import digest
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.types import Task
from agentgym_tools.agentdojo.attacks import injected_text
from agentgym_tools.agentdojo.calls import gold_calls, make_call
from agentgym_tools.agentdojo.grading import Episode, useful
from agentgym_tools.agentdojo.states import data_hash, open_state, places
from agentgym_tools.agentdojo.wheel import SUITES, suites, wheel_version

BENIGN, ATTACKED = "benign", "attacked"


class AgentDojoPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        suite: `workspace`, `travel`, `banking` or `slack`.
        request: What the user asks for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: str
    request: str


class AgentDojoPrivate(BaseModel):
    """The part that grades, and the attack, which an agent meets in tool results alone.

    Attributes:
        user_task: The user task's id in the suite.
        injection_task: The injection task's id; None where there is no attack.
        attack: The attack's name.
        places: Where the attacker writes: the places that the user task's gold reads.
        content: Hash of the suite's data and the attacker's words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_task: str
    injection_task: str | None = None
    attack: str | None = None
    places: tuple[str, ...] = ()
    content: str


AgentDojoTask = Task[AgentDojoPublic, AgentDojoPrivate]


def important_instructions() -> TaskSet:
    """Return every user task alone, and with each injection in the user's own name."""
    return _task_set("important_instructions")


def direct() -> TaskSet:
    """Return every user task alone, and with each injection as a plain demand."""
    return _task_set("direct")


def ignore_previous() -> TaskSet:
    """Return every user task alone, and with each injection that voids what went before."""
    return _task_set("ignore_previous")


def system_message() -> TaskSet:
    """Return every user task alone, and with each injection that poses as the system's."""
    return _task_set("system_message")


def begin(suite: str, private: AgentDojoPrivate) -> Any:
    """Return the state that an episode begins with, with the attacker's words in it."""
    words = _injected(suite, private.injection_task, private.attack)
    injections = {} if words is None else dict.fromkeys(private.places, words)
    return open_state(suite, private.user_task, injections)


def _injected(suite: str, injection_task: str | None, attack: str | None) -> str | None:
    if injection_task is None or attack is None:
        return None
    return injected_text(attack, suites()[suite].injection_tasks[injection_task].GOAL)


def _task_set(attack: str) -> TaskSet:
    info = TaskSetInfo(
        name=attack,
        environment="agentdojo",
        description=f"AgentDojo's suites, from agentdojo {wheel_version()}, under {attack!r}.",
        licence="MIT",
        splits={BENIGN: "without an attack", ATTACKED: f"under the attack {attack!r}"},
    )
    users = [(suite, user) for suite in SUITES for user in suites()[suite].user_tasks]
    return TaskSet(info, [task for at in users for task in _tasks(*at, attack)], attack)


def _tasks(suite: str, user_task: str, attack: str) -> Iterator[AgentDojoTask]:
    yield _task(suite, user_task, None, None)
    for injection_task in suites()[suite].injection_tasks:
        yield _task(suite, user_task, injection_task, attack)


def _task(
    suite: str, user_task: str, injection_task: str | None, attack: str | None
) -> AgentDojoTask:
    user = suites()[suite].user_tasks[user_task]
    names = [name for name in (suite, user_task, injection_task) if name is not None]
    return AgentDojoTask(
        id=".".join(names),
        split=ATTACKED if attack else BENIGN,
        public=AgentDojoPublic(suite=suite, request=user.PROMPT),
        private=AgentDojoPrivate(
            user_task=user_task,
            injection_task=injection_task,
            attack=attack,
            places=_places_read(suite, user_task) if attack else (),
            content=digest([data_hash(suite), _injected(suite, injection_task, attack)]),
        ),
        tags={"suite": suite, "attack": attack or "none"},
        flags=_flags(suite, user_task),
    )


@cache
def _places_read(suite: str, user_task: str) -> tuple[str, ...]:
    """Return the places whose words the gold of a user task gets to read."""
    marks = {place: f"<<{place}>>" for place in places(suite)}
    state = open_state(suite, user_task, marks)
    calls = gold_calls(suites()[suite].user_tasks[user_task], state)
    seen = "\n".join(make_call(suite, state, name, given) for name, given in calls)
    return tuple(place for place, mark in marks.items() if mark in seen)


@cache
def _flags(suite: str, user_task: str) -> tuple[str, ...]:
    """Return why a user task is unsound: some are done by an agent that does nothing."""
    state = open_state(suite, user_task, {})
    idle = Episode(before=state, after=state, output="", trace=())
    return ("done_by_doing_nothing",) if useful(suite, user_task, idle) else ()
