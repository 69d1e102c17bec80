"""The rules of text navigation: rooms, passages, locked doors, keys and things to carry."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentgym.errors import ToolError
from agentgym_games.compass import OPPOSITE, STEPS, Direction

CARRIED = "you"
"""The place of a thing that is carried."""


@dataclass(frozen=True)
class Passage:
    """A way between two rooms, and back.

    Attributes:
        room: The room it leads from.
        direction: Where it lies in that room.
        to: The room it leads to.
        lock: The colour of its locked door; empty where there is none. One door has one colour,
            and the key of that colour opens it.
    """

    room: str
    direction: Direction
    to: str
    lock: str = ""


@dataclass(frozen=True)
class House:
    """What does not change during a game.

    Attributes:
        passages: The ways between rooms.
        thing: What is to be brought.
        target: The room it is to be brought to.
    """

    passages: tuple[Passage, ...]
    thing: str
    target: str


@dataclass(frozen=True)
class Exit:
    """A passage as it is seen from one of its rooms."""

    to: str
    lock: str


@dataclass(frozen=True)
class HouseState:
    """What changes.

    Attributes:
        room: Where the walker is.
        places: Things and where they are, sorted: a room, or `CARRIED`.
        opened: Colours of the doors that were unlocked, sorted.
    """

    room: str
    places: tuple[tuple[str, str], ...]
    opened: tuple[str, ...] = ()

    def at(self, place: str) -> tuple[str, ...]:
        """Return the things at a place, sorted."""
        return tuple(thing for thing, where in self.places if where == place)


def key_of(lock: str) -> str:
    """Return the name of the key that opens doors of a colour."""
    return f"{lock} key"


def exits(house: House, room: str) -> Mapping[Direction, Exit]:
    """Return the exits of a room, in the order of the compass."""
    found: dict[Direction, Exit] = {}
    for passage in house.passages:
        if passage.room == room:
            found[passage.direction] = Exit(passage.to, passage.lock)
        if passage.to == room:
            found[OPPOSITE[passage.direction]] = Exit(passage.room, passage.lock)
    return {way: found[way] for way in STEPS if way in found}


def locked(state: HouseState, way: Exit) -> bool:
    """Whether an exit's door is still locked."""
    return bool(way.lock) and way.lock not in state.opened


def go(house: House, state: HouseState, direction: Direction) -> HouseState:
    """Go to the next room.

    Raises:
        ToolError: There is no exit, or its door is locked.
    """
    way = _exit(house, state, direction)
    if locked(state, way):
        raise ToolError(f"The {way.lock} door to the {direction} is locked.")
    return replace(state, room=way.to)


def unlock(house: House, state: HouseState, direction: Direction) -> HouseState:
    """Unlock a door with its key, which stays in hand.

    Raises:
        ToolError: There is no locked door, or the key is not carried.
    """
    way = _exit(house, state, direction)
    if not locked(state, way):
        raise ToolError(f"There is no locked door to the {direction}.")
    if key_of(way.lock) not in state.at(CARRIED):
        raise ToolError(f"You do not carry the {key_of(way.lock)}.")
    return replace(state, opened=tuple(sorted((*state.opened, way.lock))))


def take(state: HouseState, thing: str) -> HouseState:
    """Take a thing that lies in the room.

    Raises:
        ToolError: It does not lie here.
    """
    if thing not in state.at(state.room):
        raise ToolError("There is no such thing here.")
    return _put(state, thing, CARRIED)


def drop(state: HouseState, thing: str) -> HouseState:
    """Put down a thing that is carried.

    Raises:
        ToolError: It is not carried.
    """
    if thing not in state.at(CARRIED):
        raise ToolError("You do not carry such a thing.")
    return _put(state, thing, state.room)


def solved(house: House, state: HouseState) -> bool:
    """Whether the thing lies in the target room."""
    return (house.thing, house.target) in state.places


def _exit(house: House, state: HouseState, direction: Direction) -> Exit:
    ways = exits(house, state.room)
    if direction not in ways:
        raise ToolError(f"There is no exit to the {direction}.")
    return ways[direction]


def _put(state: HouseState, thing: str, place: str) -> HouseState:
    places = tuple((name, place if name == thing else where) for name, where in state.places)
    return replace(state, places=places)
