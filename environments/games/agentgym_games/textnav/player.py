"""Players of text navigation: the shortest plan, and an explorer that knows only what it sees."""

from collections import deque
from collections.abc import Generator

from agentgym.types import Action, Observation, Task, call
from agentgym_games.compass import OPPOSITE, Direction
from agentgym_games.textnav.rules import House, HouseState, key_of
from agentgym_games.textnav.scene import Scene, read_scene
from agentgym_games.textnav.solver import Drop, Go, Move, Take, Unlock, shortest_plan
from agentgym_games.textnav.tasks import TextNavPrivate, TextNavPublic


def oracle(
    task: Task[TextNavPublic, TextNavPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Carry out a shortest plan, made from the hidden house."""
    house = House(task.private.passages, task.public.thing, task.public.target)
    first = HouseState(task.private.start, tuple(sorted(task.private.places.items())))
    for move in shortest_plan(house, first):
        yield as_action(move)


def play(observation: Observation) -> Generator[Action, Observation, None]:
    """Play from observations alone: explore, pick up what helps, unlock, bring the thing."""
    explorer = Explorer(observation.text)
    move = explorer.look(observation.text)
    while move is not None:
        observation = yield as_action(move)
        if observation.text == "done":
            return
        move = explorer.look(observation.text)


def as_action(move: Move) -> Action:
    """Return the call that makes a move."""
    match move:
        case Go(direction):
            return call("go", direction=direction)
        case Unlock(direction):
            return call("unlock", direction=direction)
        case Take(thing):
            return call("take", thing=thing)
        case Drop(thing):
            return call("drop", thing=thing)


class Explorer:
    """Remembers the rooms it saw, and goes to the nearest place where there is something to do.

    Args:
        opening: The first observation, with the goal.
    """

    def __init__(self, opening: str) -> None:
        goal = next(line for line in opening.splitlines() if line.startswith("goal: "))
        self._thing, _, self._target = goal.removeprefix("goal: ").partition(" to ")
        self._scenes: dict[str, Scene] = {}
        self._ways: dict[tuple[str, Direction], str] = {}
        self._left: tuple[str, Direction] | None = None

    def look(self, text: str) -> Move | None:
        """Take in an observation and choose the next move; None where nothing is left to do."""
        scene = read_scene(text)
        self._remember(scene)
        move = self._at_hand(scene) or self._toward(scene)
        self._left = (scene.room, move.direction) if isinstance(move, Go) else None
        return move

    def _remember(self, scene: Scene) -> None:
        self._scenes[scene.room] = scene
        if self._left is not None:
            room, direction = self._left
            self._ways[room, direction] = scene.room
            self._ways[scene.room, OPPOSITE[direction]] = room

    def _at_hand(self, scene: Scene) -> Move | None:
        """Return what is worth doing here and now."""
        if self._thing in scene.carried and scene.room == self._target:
            return Drop(self._thing)
        wanted = [t for t in scene.here if t == self._thing or t.endswith(" key")]
        if wanted:
            return Take(wanted[0])
        return None

    def _toward(self, scene: Scene) -> Move | None:
        """Return the first move of a shortest way to the target, or to something to find out."""
        firsts = self._first_moves(scene)
        if self._thing in scene.carried and self._target in firsts:
            return firsts[self._target]
        for room, first in firsts.items():
            for way, lock in self._scenes[room].exits.items():
                if lock and key_of(lock) in scene.carried:
                    return first or Unlock(way)
                if not lock and (room, way) not in self._ways:
                    return first or Go(way)
        return None

    def _first_moves(self, scene: Scene) -> dict[str, Move | None]:
        """Return the known rooms that can be reached, nearest first, each with the first move."""
        firsts: dict[str, Move | None] = {scene.room: None}
        queue = deque([scene.room])
        while queue:
            room = queue.popleft()
            for way, lock in self._scenes[room].exits.items():
                there = self._ways.get((room, way))
                if not lock and there is not None and there not in firsts:
                    firsts[there] = firsts[room] or Go(way)
                    queue.append(there)
        return firsts
