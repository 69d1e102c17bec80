"""Plays recorded episodes in a process of their own.

`python -m agentgym.evaluation.conformance.replayer` reads a `Request` from its standard input
and writes a JSON list: for each play the episode, or the text of what broke it.
"""

import json
import os
import sys
from typing import Any

import anyio

from agentgym.env import blame
from agentgym.errors import AgentgymError, ToolError
from agentgym.evaluation.conformance.recording import Again, record
from agentgym.registry import EnvSpec, build
from agentgym.types import Action, Frozen, Json


class Play(Frozen):
    """One episode to play.

    Attributes:
        task: The whole task, as a JSON value.
    """

    task: dict[str, Json]
    kind: str
    seed: int
    actions: tuple[Action, ...]


class Request(Frozen):
    """Everything needed to play episodes from nothing."""

    spec: EnvSpec
    options: dict[str, Any]
    fingerprints: bool
    plays: tuple[Play, ...]


async def replay(request: Request) -> list[Json]:
    """Play each episode in an instance of its own; an error is its text."""
    found: list[Json] = []
    for play in request.plays:
        try:
            with blame("the same episode"):
                found.append(await _play(request, play))
        except (AgentgymError, ToolError) as error:
            found.append(f"task {play.task['id']}, {play.kind} episode: {error}")
    return found


async def _play(request: Request, play: Play) -> Json:
    environment = build(request.spec, **request.options)
    try:
        recording = await record(
            environment,
            request.spec.environment_type().task_type.model_validate(play.task),
            Again(play.actions),
            kind=play.kind,
            seed=play.seed,
            turns=len(play.actions),
            fingerprints=request.fingerprints,
        )
        return recording.model_dump(mode="json")
    finally:
        await environment.close()


def main() -> None:
    """Read the request, play, and write the answer."""
    # What an environment prints must not end up in the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = Request.model_validate_json(sys.stdin.buffer.read())
    with answer:
        json.dump(anyio.run(replay, request), answer)


if __name__ == "__main__":
    main()
