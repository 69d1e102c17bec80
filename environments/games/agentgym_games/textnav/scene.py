"""A room in words, and the words read again: what an agent sees, and all that it sees."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym_games.compass import STEPS, Direction
from agentgym_games.textnav.rules import CARRIED, House, HouseState, exits, locked

_NOTHING = "nothing"


@dataclass(frozen=True)
class Scene:
    """What is seen at one moment.

    Attributes:
        room: Where the walker is.
        exits: Directions, each with the colour of its locked door, or "" where it is open.
        here: Things that lie in the room.
        carried: Things that are carried.
    """

    room: str
    exits: Mapping[Direction, str]
    here: tuple[str, ...]
    carried: tuple[str, ...]


def scene_of(house: House, state: HouseState) -> Scene:
    """Return what is seen in a state."""
    ways = exits(house, state.room).items()
    return Scene(
        room=state.room,
        exits={way: there.lock if locked(state, there) else "" for way, there in ways},
        here=state.at(state.room),
        carried=state.at(CARRIED),
    )


def describe(scene: Scene) -> str:
    """Return a scene as four lines."""
    ways = [f"{way} ({lock} door)" if lock else way for way, lock in scene.exits.items()]
    return "\n".join(
        (
            f"room: {scene.room}",
            f"exits: {', '.join(ways)}",
            f"here: {', '.join(scene.here) or _NOTHING}",
            f"carried: {', '.join(scene.carried) or _NOTHING}",
        )
    )


def read_scene(text: str) -> Scene:
    """Read the last scene of a text.

    Raises:
        KeyError: There is none.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        fields[name] = value
    shown = {way: lock for way, _, lock in (e.partition(" (") for e in fields["exits"].split(", "))}
    ways = {way: shown[way].removesuffix(" door)") for way in STEPS if way in shown}
    here, carried = (_names(fields[name]) for name in ("here", "carried"))
    return Scene(fields["room"], ways, here, carried)


def _names(text: str) -> tuple[str, ...]:
    return () if text == _NOTHING else tuple(text.split(", "))
