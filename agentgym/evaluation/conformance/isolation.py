"""Checks that instances do not influence each other."""

import asyncio
from itertools import cycle, islice

from agentgym.evaluation.conformance.bench import Bench
from agentgym.evaluation.conformance.recording import Recording
from agentgym.evaluation.conformance.results import Verdict, check, judged


async def concurrent(bench: Bench) -> Verdict:
    """Many instances at once each play the episode they would play alone."""
    crowd = list(islice(cycle(await bench.recordings()), bench.instances))
    return judged(await asyncio.gather(*(_among_others(bench, item) for item in crowd)))


async def _among_others(bench: Bench, recording: Recording) -> str | None:
    async with bench.instance() as environment:
        return await bench.again(recording, environment)


CHECKS = (check("isolation", concurrent, "episodes"),)
