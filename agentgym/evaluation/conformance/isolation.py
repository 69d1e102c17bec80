"""Checks that instances do not influence each other."""

import asyncio
from itertools import cycle, islice

from agentgym.evaluation.conformance.check import Verdict, check, judged
from agentgym.evaluation.conformance.recording import Recording
from agentgym.evaluation.conformance.subject import Subject


async def concurrent(subject: Subject) -> Verdict:
    """Many instances at once each play the episode they would play alone."""
    crowd = list(islice(cycle(await subject.recordings()), subject.instances))
    return judged(await asyncio.gather(*(_among_others(subject, item) for item in crowd)))


async def _among_others(subject: Subject, recording: Recording) -> str | None:
    async with subject.instance() as environment:
        return await subject.again(recording, environment)


CHECKS = (check("isolation", concurrent, "episodes"),)
