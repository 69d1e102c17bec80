"""Recordings: an episode as it was played, to be played again and compared."""

import json
import reprlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from anyio.lowlevel import checkpoint

from agentgym.agents.base import Decision, Player
from agentgym.env import Environment, blame
from agentgym.errors import AgentFailedError
from agentgym.types import Action, Frozen, Json, Observation, Reward, Task


class Frame(Frozen):
    """What could be seen at one moment; the first of an episode has no reward.

    Attributes:
        fingerprint: None where the environment declares none.
    """

    observation: Observation
    reward: Reward | None = None
    terminated: bool = False
    truncated: bool = False
    fingerprint: str | None = None

    @property
    def over(self) -> bool:
        """Whether the episode had ended."""
        return self.terminated or self.truncated


class Recording(Frozen):
    """One episode.

    Attributes:
        kind: Who played it: `null`, `random`, `malformed` or `oracle`.
        frames: The opening and one a turn, so one more than `actions`.
        grade: The last turn's reward, or the grade from outside where it did not end.
    """

    kind: str
    task_id: str
    seed: int
    actions: tuple[Action, ...]
    frames: tuple[Frame, ...]
    grade: Reward

    @property
    def title(self) -> str:
        """What a person calls it."""
        return f"task {self.task_id}, {self.kind} episode"

    @property
    def over(self) -> bool:
        """Whether the episode ended by itself."""
        return self.frames[-1].over


class Again(Player):
    """Plays recorded actions."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = iter(actions)

    async def act(self, observation: Observation) -> Decision:
        """Return the next action; empty turns follow."""
        return Decision(action=next(self._actions, Action()))


class Played(NamedTuple):
    """Turns that were played, from wherever they began."""

    actions: tuple[Action, ...]
    frames: tuple[Frame, ...]


async def record(
    environment: Environment,
    task: Task[Any, Any],
    player: Player,
    *,
    kind: str,
    seed: int,
    turns: int,
    fingerprints: bool,
) -> Recording:
    """Play an episode from its reset and record it.

    Args:
        environment: Reset here, and left as the episode leaves it.
        task: What to play.
        player: Who plays.
        kind: Who that is.
        seed: The episode's seed.
        turns: Turns at most.
        fingerprints: Whether to take a fingerprint of every state.

    Raises:
        AgentFailedError: The player's own code raised.
        EpisodeError: Infrastructure broke.
    """
    opening = Frame(
        observation=await environment.reset(task, seed=seed),
        fingerprint=await environment.fingerprint() if fingerprints else None,
    )
    played = await follow(environment, opening, player, turns=turns)
    frames = (opening, *played.frames)
    last = frames[-1]
    grade = last.reward if last.over and last.reward else await environment.grade()
    return Recording(
        kind=kind,
        task_id=task.id,
        seed=seed,
        actions=played.actions,
        frames=frames,
        grade=grade,
    )


async def follow(environment: Environment, now: Frame, player: Player, *, turns: int) -> Played:
    """Play on from a moment, to the episode's end or the last turn.

    Fingerprints are taken where `now` has one. Every turn lets the other tasks of the event
    loop run, so that concurrent episodes interleave even where nothing in them waits.
    """
    actions: list[Action] = []
    frames: list[Frame] = []
    fingerprints = now.fingerprint is not None
    while len(actions) < turns and not now.over:
        await checkpoint()
        with blame("agent", AgentFailedError):
            decision = await player.act(now.observation)
        transition = await environment.step(decision.action)
        now = Frame(
            observation=transition.observation,
            reward=transition.reward,
            terminated=transition.terminated,
            truncated=transition.truncated,
            fingerprint=await environment.fingerprint() if fingerprints else None,
        )
        actions.append(decision.action)
        frames.append(now)
    return Played(tuple(actions), tuple(frames))


def plain(frames: Sequence[Frame]) -> list[Json]:
    """Return frames as JSON values."""
    return [frame.model_dump(mode="json") for frame in frames]


def first_difference(
    expected: Sequence[Json], found: Sequence[Json], *, turn: int = 0
) -> str | None:
    """Compare two runs of frames, as JSON values.

    Args:
        expected: The frames as recorded.
        found: The frames as played again.
        turn: The turn number of the first frame; 0 is the reset.

    Returns:
        The first difference with its turn and place, or None.
    """
    for number, (old, new) in enumerate(zip(expected, found, strict=False), start=turn):
        place = _difference(old, new, "")
        if place is not None:
            return f"turn {number}: {place}"
    if len(expected) != len(found):
        return f"{turn + len(expected) - 1} turns, then {turn + len(found) - 1}"
    return None


def _difference(old: Json, new: Json, place: str) -> str | None:
    """Return where two JSON values first differ; the order of keys counts."""
    if json.dumps(old) == json.dumps(new):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            return f"{place or 'frame'} has the fields {list(old)}, then {list(new)}"
        return next(filter(None, (_difference(old[k], new[k], _join(place, k)) for k in old)), None)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        found = (_difference(a, b, _join(place, i)) for i, (a, b) in pairs)
        return next(filter(None, found), None)
    return f"{place} was {_around(old, new)}, then {_around(new, old)}"


def _join(place: str, part: object) -> str:
    return f"{place}.{part}" if place else str(part)


def _around(value: Json, other: Json) -> str:
    """Show a value; of a long text, the part where it leaves the other."""
    if not (isinstance(value, str) and isinstance(other, str)):
        return reprlib.repr(value)
    pairs = enumerate(zip(value, other, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(value), len(other)))
    start = max(0, same - 20)
    shown = value[start : same + 60]
    return f"{'...' if start else ''}{shown!r}{'...' if same + 60 < len(value) else ''}"
