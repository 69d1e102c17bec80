"""Trajectory <-> compact bytes: what the store keeps of an episode besides its columns.

A blob is one version byte and zlib-compressed ASCII JSON of the record's fields. Left out are
defaults, and an observation's `tools` where they equal those of the observation before.
"""

import json
import zlib
from collections.abc import Iterator
from typing import cast

from pydantic_core import to_jsonable_python

from agentgym.errors import StoreError
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.types import Json, ToolSpec

FORMAT = 1
"""Version of the blob; a reader refuses any other."""

_LEVEL = 6
_REMEDY = "Restore the store from a backup, or run the episode again in a new run."


def name_episode(run_id: str, key: EpisodeKey) -> str:
    """Return how errors name an episode."""
    return f"episode {key.task_id!r} epoch {key.epoch} of run {run_id!r}"


def to_fields(trajectory: Trajectory) -> dict[str, Json]:
    """Return the record as a dict without what `from_fields` can restore."""
    fields = trajectory.model_dump(exclude_defaults=True)
    before: Json = ()
    for observation in _observations(fields):
        _label_parts(observation)
        tools = observation.pop("tools", ())
        if tools != before:
            observation["tools"] = before = tools
    return fields


def from_fields(fields: dict[str, Json]) -> Trajectory:
    """Return the record that `to_fields` described; `fields` is consumed.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: It is not such a description.
    """
    before: tuple[ToolSpec, ...] = ()
    for observation in _observations(fields):
        if "tools" in observation:
            before = tuple(ToolSpec.model_validate(tool) for tool in observation["tools"])
        observation["tools"] = before
    return Trajectory.model_validate(fields)


def to_json(value: Json, *, what: str) -> str:
    """Return compact ASCII JSON, which holds lone surrogates and non-finite numbers too.

    Args:
        value: Whatever has a JSON form, dates and models too.
        what: How an error names it, such as "run 'a'".

    Raises:
        StoreError: The value has no JSON form.
    """
    try:
        return json.dumps(value, separators=(",", ":"), default=to_jsonable_python)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(
            f"The record of {what} cannot be written: {error}.",
            remedy="Tool arguments, options and other free fields must be JSON values.",
        ) from error


def pack(fields: dict[str, Json], *, episode: str) -> bytes:
    """Return the blob of a record's fields.

    Args:
        fields: From `to_fields`.
        episode: How an error names the episode.

    Raises:
        StoreError: The record holds something that has no JSON form.
    """
    text = to_json(fields, what=episode)
    return bytes([FORMAT]) + zlib.compress(text.encode("ascii"), _LEVEL)


def encode(trajectory: Trajectory) -> bytes:
    """Return the blob of a record, as it is.

    Raises:
        StoreError: The record holds something that has no JSON form.
    """
    episode = name_episode(trajectory.run_id, trajectory.key)
    return pack(to_fields(trajectory), episode=episode)


def decode(blob: bytes, *, episode: str) -> Trajectory:
    """Return the record in a blob.

    Args:
        blob: From `pack` or `encode`.
        episode: How an error names the episode.

    Raises:
        StoreError: The blob is damaged, or of another format.
    """
    if blob[:1] != bytes([FORMAT]):
        raise StoreError(
            f"The record of {episode} is damaged, or in a format that this agentgym does not read.",
            remedy=f"Upgrade agentgym if a newer one wrote it. {_REMEDY}",
        )
    try:
        return from_fields(json.loads(zlib.decompress(blob[1:])))
    except (
        zlib.error,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise StoreError(f"The record of {episode} is damaged.", remedy=_REMEDY) from error


def _observations(fields: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the observations in the order the agent saw them."""
    if fields.get("first") is not None:
        yield fields["first"]
    for turn in fields.get("turns", ()):
        yield turn["observation"]


def _label_parts(observation: dict[str, Json]) -> None:
    """Put back each part's `type`: a default, yet what tells text from an image."""
    for message in observation["messages"]:
        if not isinstance(message["content"], str):
            for part in cast("list[dict[str, Json]]", message["content"]):
                part["type"] = "text" if "text" in part else "image"
