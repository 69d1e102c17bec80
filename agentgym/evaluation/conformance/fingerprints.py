"""Checks of fingerprints: the same state, the same string."""

from agentgym.env import Environment
from agentgym.evaluation.conformance.check import Verdict, check, judged, passed
from agentgym.evaluation.conformance.recording import Again, Frame, Recording, follow
from agentgym.evaluation.conformance.subject import Subject


async def stable(subject: Subject) -> Verdict:
    """Two fingerprints with nothing in between are equal, and are words."""
    async with subject.instance() as environment:
        recordings = await subject.recordings()
        return judged([await _unstable(subject, environment, item) for item in recordings])


async def equal_histories(subject: Subject) -> Verdict:
    """Two instances with the same history have the same fingerprint after every turn."""
    problems = []
    for recording in await subject.recordings():
        found = await subject.retold(recording)
        if isinstance(found, Recording):
            problems.append(_parting(recording, found))
    return judged(problems)


def _parting(one: Recording, other: Recording) -> str | None:
    for turn, (old, new) in enumerate(zip(one.frames, other.frames, strict=False)):
        if old.fingerprint is None or old.fingerprint != new.fingerprint:
            return f"{one.title}, turn {turn}: {old.fingerprint} and {new.fingerprint}"
    return None


async def _unstable(subject: Subject, environment: Environment, recording: Recording) -> str | None:
    task = subject.task(recording.task_id)
    now = Frame(observation=await environment.reset(task, seed=recording.seed))
    for turn in range(len(recording.frames)):
        if turn > 0:
            await follow(environment, now, Again(recording.actions[turn - 1 :]), turns=1)
        first, second = await environment.fingerprint(), await environment.fingerprint()
        if first != second:
            return f"{recording.title}, turn {turn}: {first}, then {second}"
        if not first:
            return f"{recording.title}, turn {turn}: the fingerprint is empty"
    return None


async def moves(subject: Subject) -> Verdict:
    """Whether any of the oracle's turns changes the fingerprint; a note, never a failure."""
    attempts = [await subject.attempt("oracle", task) for task in subject.sampled]
    for found in attempts:
        if isinstance(found, Recording) and len({f.fingerprint for f in found.frames}) > 1:
            return passed()
    return passed("no turn of the oracle changed the fingerprint: is all of the state in it?")


CHECKS = (
    check("fingerprint", stable, "fingerprint", "episodes"),
    check("fingerprint", equal_histories, "fingerprint", "episodes"),
    check("fingerprint", moves, "fingerprint", "oracle", "episodes"),
)
