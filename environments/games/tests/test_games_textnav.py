"""The house's rules, plans, words, and the explorer."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_games.dice import Dice
from agentgym_games.textnav.generation import CORE, TINY, TextNavLevel, draft
from agentgym_games.textnav.rules import (
    CARRIED,
    House,
    HouseState,
    Passage,
    drop,
    exits,
    go,
    locked,
    solved,
    take,
    unlock,
)
from agentgym_games.textnav.scene import Scene, describe, read_scene, scene_of
from agentgym_games.textnav.solver import Drop, Go, Move, Take, Unlock, apply, shortest_plan
from agentgym_games.textnav.tasks import TextNavPrivate, TextNavPublic

LEVELS = st.sampled_from([*CORE.values(), *TINY.values()])
KEYS = st.integers(0, 10**9)
HOUSE = House(
    (Passage("hall", "north", "attic", "red"), Passage("hall", "east", "den")), "blue cube", "attic"
)
FIRST = HouseState("hall", (("blue cube", "hall"), ("red key", "den")))


class Game(NamedTuple):
    house: House
    first: HouseState


def some_game(level: TextNavLevel, key: int) -> Game:
    dice = Dice(f"test:{key}")
    while True:
        found = draft(level, dice, key)
        if found is not None:
            public, private = found.public, found.private
            assert isinstance(public, TextNavPublic)
            assert isinstance(private, TextNavPrivate)
            house = House(private.passages, public.thing, public.target)
            return Game(house, HouseState(private.start, tuple(private.places.items())))


def test_a_shortest_plan_takes_the_thing_and_fetches_the_key() -> None:
    plan = shortest_plan(HOUSE, FIRST)
    assert len(plan) == 7
    assert Take("blue cube") in plan
    assert [move for move in plan if move != Take("blue cube")] == [
        Go("east"), Take("red key"), Go("west"), Unlock("north"), Go("north"), Drop("blue cube"),
    ]  # fmt: skip


def test_what_the_rules_forbid_is_the_models_mistake() -> None:
    with pytest.raises(ToolError, match="red door to the north is locked"):
        go(HOUSE, FIRST, "north")
    with pytest.raises(ToolError, match="no exit to the south"):
        go(HOUSE, FIRST, "south")
    with pytest.raises(ToolError, match="do not carry the red key"):
        unlock(HOUSE, FIRST, "north")
    with pytest.raises(ToolError, match="no locked door to the east"):
        unlock(HOUSE, FIRST, "east")
    with pytest.raises(ToolError, match="no such thing here"):
        take(FIRST, "red key")
    with pytest.raises(ToolError, match="do not carry"):
        drop(FIRST, "blue cube")


def test_a_door_stays_open_from_both_sides() -> None:
    state = HouseState("hall", (("blue cube", CARRIED), ("red key", CARRIED)))
    state = go(HOUSE, unlock(HOUSE, state, "north"), "north")
    assert scene_of(HOUSE, state).exits == {"south": ""}
    assert go(HOUSE, state, "south").room == "hall"
    assert solved(HOUSE, drop(state, "blue cube"))
    assert not solved(HOUSE, drop(state, "red key"))


@given(level=LEVELS, key=KEYS)
def test_the_plan_wins_and_is_what_the_level_asks_for(level: TextNavLevel, key: int) -> None:
    game = some_game(level, key)
    plan = shortest_plan(*game)
    state = game.first
    for move in plan:
        assert not solved(game.house, state)
        state = apply(game.house, state, move)
    assert solved(game.house, state)
    assert len(plan) >= level.shortest
    assert len({p.lock for p in game.house.passages if p.lock}) == level.locks


@given(level=LEVELS, key=KEYS, data=st.data())
def test_things_are_never_lost_and_what_is_seen_reads_the_same(
    level: TextNavLevel, key: int, data: st.DataObject
) -> None:
    house, state = some_game(level, key)
    names = [name for name, _ in state.places]
    for _ in range(data.draw(st.integers(0, 15))):
        state = apply(house, state, data.draw(st.sampled_from(legal(house, state))))
        assert [name for name, _ in state.places] == names
        scene = scene_of(house, state)
        assert read_scene(describe(scene)) == scene
        assert read_scene(f"goal: x to y\n{describe(scene)}") == scene
        shown = {*scene.here, *scene.carried}
        assert shown == {name for name, place in state.places if place in (state.room, CARRIED)}


@given(level=LEVELS, key=KEYS, data=st.data())
def test_a_plan_gets_shorter_by_at_most_one_move(
    level: TextNavLevel, key: int, data: st.DataObject
) -> None:
    house, state = some_game(level, key)
    move = data.draw(st.sampled_from(legal(house, state)))
    after = apply(house, state, move)
    assert len(shortest_plan(house, after)) >= len(shortest_plan(house, state)) - 1


def legal(house: House, state: HouseState) -> list[Move]:
    moves: list[Move] = [Take(thing) for thing in state.at(state.room)]
    moves += [Drop(thing) for thing in state.at(CARRIED)]
    for direction, way in exits(house, state.room).items():
        if not locked(state, way):
            moves.append(Go(direction))
        elif f"{way.lock} key" in state.at(CARRIED):
            moves.append(Unlock(direction))
    return moves


def test_an_empty_room_is_described() -> None:
    scene = Scene("hall", {"north": "red", "west": ""}, (), ())
    text = "room: hall\nexits: north (red door), west\nhere: nothing\ncarried: nothing"
    assert describe(scene) == text
    assert read_scene(text) == scene


def test_a_house_without_its_key_has_no_plan() -> None:
    with pytest.raises(ValueError, match="no solution"):
        shortest_plan(HOUSE, HouseState("hall", (("blue cube", "hall"),)))
