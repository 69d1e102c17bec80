"""Houses from seeds: rooms on a grid, doors that can be unlocked in some order, things."""

from dataclasses import dataclass

from agentgym_games.compass import Direction, Square, ahead
from agentgym_games.dice import Dice
from agentgym_games.sets import Draft
from agentgym_games.textnav.rules import House, HouseState, Passage, key_of
from agentgym_games.textnav.solver import shortest_plan
from agentgym_games.textnav.tasks import TextNavPrivate, TextNavPublic

ROOMS = (
    "attic", "bakery", "cellar", "den", "garage", "garden", "hall", "kitchen", "library",
    "lounge", "nursery", "office", "pantry", "parlor", "porch", "studio", "study", "vault",
)  # fmt: skip
COLOURS = ("red", "blue", "green", "yellow", "white", "black")
SHAPES = ("cube", "ball", "ring", "cone", "disk", "star")
PATIENCE = 8
"""Turns allowed beyond twice the shortest plan: what exploring costs."""


@dataclass(frozen=True)
class TextNavLevel:
    """How a house is made.

    Attributes:
        rows: Of the grid of rooms.
        columns: Of the grid of rooms.
        locks: Locked doors.
        loops: Passages beyond those that just connect all rooms.
        others: Things that are of no use.
        shortest: Moves of the shortest plan at least.
        names: Room names are drawn from so many first ones.
    """

    rows: int
    columns: int
    locks: int = 0
    loops: int = 0
    others: int = 0
    shortest: int = 3
    names: int = len(ROOMS)


CORE = {
    "easy": TextNavLevel(rows=2, columns=2, locks=0, others=1, shortest=4),
    "medium": TextNavLevel(rows=2, columns=3, locks=1, loops=1, others=2, shortest=8),
    "hard": TextNavLevel(rows=3, columns=3, locks=2, loops=1, others=3, shortest=12),
}
TINY = {"tiny": TextNavLevel(rows=1, columns=3, shortest=3, names=4)}


def draft(level: TextNavLevel, dice: Dice, number: int) -> Draft | None:
    """Draw one house; None where its plan is too short for the level."""
    squares = [(r, c) for r in range(level.rows) for c in range(level.columns)]
    rooms = dict(zip(squares, dice.sample(ROOMS[: level.names], len(squares)), strict=True))
    passages = _passages(rooms, level.loops, dice)
    start = dice.pick(list(rooms.values()))
    passages, places, reached = _lock(passages, start, level.locks, dice)
    target, home = dice.sample(list(rooms.values()), 2)
    if len(reached) < len(rooms):
        return None
    things = [f"{dice.pick(COLOURS)} {shape}" for shape in dice.sample(SHAPES, 1 + level.others)]
    places |= {thing: dice.pick(list(rooms.values())) for thing in things}
    thing = things[0]
    places[thing] = home
    places = {name: places[name] for name in sorted(places)}
    house = House(passages, thing, target)
    plan = shortest_plan(house, HouseState(start, tuple(places.items())))
    if len(plan) < level.shortest:
        return None
    private = TextNavPrivate(start=start, passages=passages, places=places)
    public = TextNavPublic(
        thing=thing, target=target, rooms=tuple(sorted(rooms.values())), things=tuple(places)
    )
    return Draft(
        public=public,
        private=private,
        content=f"{thing} {target} {private.model_dump_json()}",
        max_turns=2 * len(plan) + PATIENCE,
    )


def _passages(rooms: dict[Square, str], loops: int, dice: Dice) -> tuple[Passage, ...]:
    """Connect all rooms by a random tree, and some neighbours beyond it."""
    ways: list[Direction] = ["east", "south"]
    edges = [(s, way) for s in rooms for way in ways if ahead(s, way) in rooms]
    group = {square: square for square in rooms}
    tree, rest = list[tuple[Square, Direction]](), list[tuple[Square, Direction]]()
    for square, way in dice.shuffled(edges):
        one, other = group[square], group[ahead(square, way)]
        if one == other:
            rest.append((square, way))
            continue
        tree.append((square, way))
        group = {s: one if g == other else g for s, g in group.items()}
    chosen = sorted((*tree, *rest[:loops]))
    return tuple(Passage(rooms[s], way, rooms[ahead(s, way)]) for s, way in chosen)


def _lock(
    passages: tuple[Passage, ...], start: str, locks: int, dice: Dice
) -> tuple[tuple[Passage, ...], dict[str, str], list[str]]:
    """Lock passages and lay each key where it can be fetched before its door is needed."""
    colours = dice.sample(COLOURS, locks)
    places_of = dice.sample(range(len(passages)), locks)
    locked = [
        Passage(p.room, p.direction, p.to, colours[places_of.index(i)] if i in places_of else "")
        for i, p in enumerate(passages)
    ]
    keys: dict[str, str] = {}
    opened = {""}
    reached = _reach(locked, start, opened)
    while True:
        border = [p.lock for p in locked if p.lock not in opened and {p.room, p.to} & set(reached)]
        if not border:
            return tuple(locked), keys, reached
        colour = dice.pick(border)
        keys[key_of(colour)] = dice.pick(reached)
        opened.add(colour)
        reached = _reach(locked, start, opened)


def _reach(passages: list[Passage], start: str, opened: set[str]) -> list[str]:
    reached = [start]
    for room in reached:  # grows while it is walked through
        for p in passages:
            if p.lock in opened and room in (p.room, p.to):
                other = p.to if room == p.room else p.room
                if other not in reached:
                    reached.append(other)
    return reached
