"""Shortest plans in a house, by breadth-first search over everything that can matter."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from agentgym_games.compass import Direction
from agentgym_games.textnav.rules import (
    CARRIED,
    House,
    HouseState,
    drop,
    exits,
    go,
    key_of,
    locked,
    solved,
    take,
    unlock,
)


@dataclass(frozen=True)
class Go:
    """Go to the next room."""

    direction: Direction


@dataclass(frozen=True)
class Unlock:
    """Unlock a door."""

    direction: Direction


@dataclass(frozen=True)
class Take:
    """Take a thing."""

    thing: str


@dataclass(frozen=True)
class Drop:
    """Put down a thing."""

    thing: str


Move: TypeAlias = Go | Unlock | Take | Drop


def apply(house: House, state: HouseState, move: Move) -> HouseState:
    """Make a move.

    Raises:
        ToolError: The rules forbid it.
    """
    match move:
        case Go(direction):
            return go(house, state, direction)
        case Unlock(direction):
            return unlock(house, state, direction)
        case Take(thing):
            return take(state, thing)
        case Drop(thing):
            return drop(state, thing)


@lru_cache(maxsize=4096)
def shortest_plan(house: House, state: HouseState) -> tuple[Move, ...]:
    """Return a shortest plan; empty where the game is won.

    Hands hold any number of things, so nothing but the thing itself ever needs to be put down, and
    nothing but it and the keys of locked doors needs to be taken.

    Raises:
        ValueError: There is no plan.
    """
    plans: dict[HouseState, tuple[Move, ...]] = {state: ()}
    queue = deque([state])
    while queue:
        now = queue.popleft()
        if solved(house, now):
            return plans[now]
        for move in _useful(house, now):
            after = apply(house, now, move)
            if after not in plans:
                plans[after] = (*plans[now], move)
                queue.append(after)
    raise ValueError("the house has no solution")


def _useful(house: House, state: HouseState) -> Iterator[Move]:
    if state.room == house.target and house.thing in state.at(CARRIED):
        yield Drop(house.thing)
    wanted = {house.thing} | {key_of(passage.lock) for passage in house.passages if passage.lock}
    for thing in state.at(state.room):
        if thing in wanted:
            yield Take(thing)
    for direction, way in exits(house, state.room).items():
        if not locked(state, way):
            yield Go(direction)
        elif key_of(way.lock) in state.at(CARRIED):
            yield Unlock(direction)
