"""Checks that the same task, seed and actions give the same episode anywhere."""

import asyncio
import json
import os
import sys

import anyio

from agentgym.evaluation.conformance.check import Verdict, check, judged, skipped
from agentgym.evaluation.conformance.recording import Recording
from agentgym.evaluation.conformance.replayer import Play, Request
from agentgym.evaluation.conformance.subject import Subject, compare, differs
from agentgym.types import Json

_ELSEWHERE = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati"},
    {"PYTHONHASHSEED": "2", "TZ": "Pacific/Pago_Pago"},
)


async def same_instance(subject: Subject) -> Verdict:
    """An episode played twice more in one instance is the same both times."""
    problems: list[str | None] = []
    recordings = await subject.recordings()
    for task in subject.sampled:
        async with subject.instance() as environment:
            for recording in recordings:
                if recording.task_id == task.id:
                    problems.append(await subject.again(recording, environment))
                    problems.append(await subject.again(recording, environment))
    return judged(dict.fromkeys(problems))


async def new_instance(subject: Subject) -> Verdict:
    """An episode played again in a new instance is the same."""
    recordings = await subject.recordings()
    return judged([differs(item, await subject.retold(item)) for item in recordings])


async def other_process(subject: Subject) -> Verdict:
    """An episode is the same in a process with another hash seed and time zone."""
    recordings = await subject.recordings()
    try:
        request = _request(subject, recordings).model_dump_json().encode()
    except ValueError as error:
        return skipped(f"the options or tasks do not go through JSON: {error}")
    problems: list[str | None] = []
    for found in await asyncio.gather(*(_replay(request, place) for place in _ELSEWHERE)):
        if isinstance(found, str):
            problems.append(found)
            continue
        pairs = zip(recordings, found, strict=True)
        problems += [compare(old, new) if isinstance(new, dict) else new for old, new in pairs]
    return judged(dict.fromkeys(problems))


def _request(subject: Subject, recordings: list[Recording]) -> Request:
    plays = tuple(
        Play(
            task=subject.pristine[item.task_id],
            kind=item.kind,
            seed=item.seed,
            actions=item.actions,
        )
        for item in recordings
    )
    return Request(
        spec=subject.spec, options=subject.options, fingerprints=subject.fingerprints, plays=plays
    )


async def _replay(request: bytes, elsewhere: dict[str, str]) -> list[Json] | str:
    """Have another process play; return an episode or its error each, or why it died."""
    path = os.pathsep.join(entry or "." for entry in sys.path)
    found = await anyio.run_process(
        [sys.executable, "-P", "-m", "agentgym.evaluation.conformance.replayer"],
        input=request,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **elsewhere},
    )
    if found.returncode != 0:
        last = found.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"the other process ended with {found.returncode}: {' '.join(last)}"
    answer: list[Json] = json.loads(found.stdout)
    return answer


CHECKS = (
    check("determinism", same_instance, "episodes"),
    check("determinism", new_instance, "episodes"),
    check("determinism", other_process, "episodes"),
)
