"""Checks that nothing of a task's private part is shown."""

from collections.abc import Iterator
from typing import Any

from agentgym.evaluation.conformance.check import Verdict, check, judged, passed
from agentgym.evaluation.conformance.recording import Recording
from agentgym.evaluation.conformance.subject import Subject
from agentgym.types import Json, Observation, Task

_SHORTEST = 8


async def openings(subject: Subject) -> Verdict:
    """No first observation shows private text or the set's canary."""
    problems = []
    async with subject.instance() as environment:
        for task in subject.openings:
            observation = await environment.reset(task, seed=subject.seed)
            leak = _leak(observation, _secrets(subject, task))
            problems.append(None if leak is None else f"task {task.id}, turn 0: {leak}")
    verdict = judged(problems)
    if verdict.status == "passed" and len(subject.openings) < len(subject.sound):
        return passed(f"{len(subject.openings)} of {len(subject.sound)} tasks were looked at")
    return verdict


async def episodes(subject: Subject) -> Verdict:
    """No observation of a null or random episode shows private text or the set's canary."""
    problems = []
    for task in subject.sampled:
        secrets = _secrets(subject, task)
        for kind in ("null", "random"):
            found = await subject.attempt(kind, task)
            if isinstance(found, Recording):
                problems.append(_first_leak(found, secrets))
    return judged(problems)


def _first_leak(recording: Recording, secrets: list[str]) -> str | None:
    for turn, frame in enumerate(recording.frames):
        leak = _leak(frame.observation, secrets)
        if leak is not None:
            return f"{recording.title}, turn {turn}: {leak}"
    return None


def _leak(observation: Observation, secrets: list[str]) -> str | None:
    shown = "\0".join(_texts(observation.model_dump(mode="json"), keys=True))
    leaked = next((secret for secret in secrets if secret in shown), None)
    return None if leaked is None else f"the observation shows the private text {leaked[:60]!r}"


def _secrets(subject: Subject, task: Task[Any, Any]) -> list[str]:
    """Return the private texts that are not part of the public ones too.

    A private model names in a class variable `disclosed` the fields whose texts an episode is
    meant to bring out, such as what a simulated user says.
    """
    content = task.model_dump(mode="json")
    disclosed = getattr(type(task.private), "disclosed", ())
    shown = {name: content["private"].pop(name, None) for name in disclosed}
    public = "\0".join(_texts([content["public"], shown], keys=True))
    private = {text.strip() for text in _texts(content["private"], keys=False)}
    if subject.tasks.info.canary:
        private.add(subject.tasks.info.canary)
    return sorted(text for text in private if len(text) >= _SHORTEST and text not in public)


def _texts(value: Json, *, keys: bool) -> Iterator[str]:
    """Yield every string and number inside a JSON value, and the keys where asked."""
    if isinstance(value, dict):
        for name, part in value.items():
            if keys:
                yield name
            yield from _texts(part, keys=keys)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, keys=keys)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


CHECKS = (check("privacy", openings), check("privacy", episodes, "episodes"))
