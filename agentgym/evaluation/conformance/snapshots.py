"""Checks of snapshots: going back gives the same episode again."""

import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from agentgym.env import Environment
from agentgym.evaluation.conformance.check import Verdict, check, judged, skipped
from agentgym.evaluation.conformance.recording import (
    Again,
    Frame,
    Recording,
    first_difference,
    follow,
    plain,
)
from agentgym.evaluation.conformance.subject import Subject
from agentgym.types import Snapshot

_TOO_SHORT = "no episode has two turns"


class _Midway(NamedTuple):
    """An environment in the middle of a recorded episode, and its snapshot there."""

    recording: Recording
    turn: int
    environment: Environment
    snapshot: Snapshot

    async def rest(self, environment: Environment, now: Frame) -> str | None:
        """Play the rest of the episode and return how it differs from the recording."""
        rest = self.recording.actions[self.turn :]
        played = await follow(environment, now, Again(rest), turns=len(rest))
        expected = plain(self.recording.frames[self.turn :])
        difference = first_difference(expected, plain((now, *played.frames)), turn=self.turn)
        return None if difference is None else f"{self.recording.title}, {difference}"

    async def back(self, environment: Environment) -> Frame:
        """Restore the snapshot and return that moment."""
        before = self.recording.frames[self.turn]
        observation = await environment.restore(self.snapshot)
        fingerprint = before.fingerprint and await environment.fingerprint()
        return before.model_copy(update={"observation": observation, "fingerprint": fingerprint})


async def round_trip(subject: Subject) -> Verdict:
    """A snapshot restored after another episode began goes on as the episode did."""
    problems = []
    for recording in await _long_enough(subject):
        async with _midway(subject, recording) as midway:
            environment = midway.environment
            await environment.reset(subject.task(recording.task_id), seed=recording.seed)
            problems.append(await midway.rest(environment, await midway.back(environment)))
    return judged(problems) if problems else skipped(_TOO_SHORT)


async def undisturbed(subject: Subject) -> Verdict:
    """Taking a snapshot does not change how the episode goes on."""
    problems = []
    for recording in await _long_enough(subject):
        async with _midway(subject, recording) as midway:
            now = recording.frames[midway.turn]
            problems.append(await midway.rest(midway.environment, now))
    return judged(problems) if problems else skipped(_TOO_SHORT)


async def unaffected(subject: Subject) -> Verdict:
    """Later steps do not change a snapshot: it can be restored again and again."""
    problems = []
    for recording in await _long_enough(subject):
        async with _midway(subject, recording) as midway:
            environment = midway.environment
            await midway.rest(environment, recording.frames[midway.turn])
            await midway.rest(environment, await midway.back(environment))
            problems.append(await midway.rest(environment, await midway.back(environment)))
    return judged(problems) if problems else skipped(_TOO_SHORT)


async def pickled(subject: Subject) -> Verdict:
    """A snapshot survives pickling into an instance that was never reset."""
    problems = []
    for recording in await _long_enough(subject):
        async with _midway(subject, recording) as midway, subject.instance() as other:
            # Only bytes that were made two lines ago are unpickled.
            copied = pickle.loads(pickle.dumps(midway.snapshot))  # noqa: S301
            there = midway._replace(snapshot=copied)
            problems.append(await there.rest(other, await there.back(other)))
    return judged(problems) if problems else skipped(_TOO_SHORT)


async def _long_enough(subject: Subject) -> list[Recording]:
    """Return each task's oracle episode and the longest clumsy one, of two turns at least."""
    chosen: dict[tuple[str, bool], Recording] = {}
    for item in await subject.recordings():
        key = (item.task_id, item.kind == "oracle")
        known = chosen.get(key)
        if item.kind != "null" and len(item.actions) > (len(known.actions) if known else 1):
            chosen[key] = item
    return list(chosen.values())


@asynccontextmanager
async def _midway(subject: Subject, recording: Recording) -> AsyncIterator[_Midway]:
    turn = len(recording.actions) // 2
    async with subject.instance() as environment:
        task = subject.task(recording.task_id)
        opening = Frame(observation=await environment.reset(task, seed=recording.seed))
        await follow(environment, opening, Again(recording.actions), turns=turn)
        yield _Midway(recording, turn, environment, await environment.snapshot())


CHECKS = (
    check("snapshot", round_trip, "snapshot", "episodes"),
    check("snapshot", undisturbed, "snapshot", "episodes"),
    check("snapshot", unaffected, "snapshot", "episodes"),
    check("snapshot", pickled, "snapshot", "episodes"),
)
