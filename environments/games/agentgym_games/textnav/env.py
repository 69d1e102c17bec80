"""The text navigation environment."""

from agentgym.tools import tool
from agentgym_games.compass import Direction
from agentgym_games.game import GameEnvironment
from agentgym_games.textnav.rules import (
    House,
    HouseState,
    drop,
    go,
    solved,
    take,
    unlock,
)
from agentgym_games.textnav.scene import describe, scene_of
from agentgym_games.textnav.solver import shortest_plan
from agentgym_games.textnav.tasks import TextNavPrivate, TextNavPublic

RULES = (
    "You are in a house and see only the room you are in. Go from room to room, take things and "
    "put them down. A locked door is unlocked with the key of its colour, from the room you are "
    "in. You can carry any number of things."
)


class TextNavEnvironment(GameEnvironment[TextNavPublic, TextNavPrivate, HouseState]):
    """Fetch a thing and bring it to a room, seeing one room at a time."""

    _house: House
    _first: HouseState

    def begin(self) -> HouseState:
        """Build the house."""
        public, private = self.task.public, self.task.private
        self._house = House(private.passages, public.thing, public.target)
        self._first = HouseState(private.start, tuple(sorted(private.places.items())))
        return self._first

    def explain(self) -> str:
        """Return the rules."""
        return RULES

    def announce(self) -> str:
        """Return the goal and the first room."""
        return f"goal: {self._house.thing} to {self._house.target}\n{self.show()}"

    def show(self) -> str:
        """Describe the room."""
        return "done" if self.solved else describe(scene_of(self._house, self.state))

    @tool
    async def go(self, direction: Direction) -> str:
        """Go through an exit.

        Args:
            direction: Where to.
        """
        return self.play(go(self._house, self.on_move(), direction))

    @tool
    async def take(self, thing: str) -> str:
        """Take a thing that lies here.

        Args:
            thing: Such as "red key".
        """
        return self.play(take(self.on_move(), thing))

    @tool
    async def drop(self, thing: str) -> str:
        """Put down a thing you carry.

        Args:
            thing: Such as "red key".
        """
        return self.play(drop(self.on_move(), thing))

    @tool
    async def unlock(self, direction: Direction) -> str:
        """Unlock a door with its key.

        Args:
            direction: Where the door is.
        """
        return self.play(unlock(self._house, self.on_move(), direction))

    @property
    def solved(self) -> bool:
        """Whether the thing lies in the target room."""
        return solved(self._house, self.state)

    def potential(self) -> float:
        """Return 1 less the length of a shortest plan, in lengths of the first one.

        Dense rewards cost a search a move: some milliseconds in the largest houses.
        """
        left = len(shortest_plan(self._house, self.state))
        return 1 - left / len(shortest_plan(self._house, self._first))

    def efficiency(self) -> float:
        """Return the shortest plan's share of the moves made."""
        return len(shortest_plan(self._house, self._first)) / self.moves
