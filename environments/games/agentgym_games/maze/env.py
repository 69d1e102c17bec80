"""The maze environment."""

from agentgym.tools import tool
from agentgym_games.compass import Direction
from agentgym_games.game import GameEnvironment
from agentgym_games.maze.rules import (
    Maze,
    MazeState,
    begin,
    distances,
    draw_maze,
    exits,
    move,
    read_maze,
    solved,
)
from agentgym_games.maze.tasks import MazePrivate, MazePublic

_RULES = "You are in a maze. Move one square a turn until you are at the goal."
_VIEWS = {
    "map": "On the map # is a wall, . is free, @ is you and G is the goal. North is up.",
    "position": "Positions are row and column; rows count southward, columns eastward.",
    "walls": "You see only the open directions where you are.",
}


class MazeEnvironment(GameEnvironment[MazePublic, MazePrivate, MazeState]):
    """Find the way through a maze, seeing all of it or only what is near."""

    _maze: Maze

    def begin(self) -> MazeState:
        """Read the layout."""
        self._maze = read_maze(self.task.public.layout or self.task.private.layout)
        return begin(self._maze)

    def explain(self) -> str:
        """Return the rules for the task's view."""
        return f"{_RULES} {_VIEWS[self.task.public.view]}"

    def show(self) -> str:
        """Draw the map, or name the open directions."""
        if self.solved:
            return "goal"
        if self.task.public.view == "map":
            return "\n".join(draw_maze(self._maze, self.state.square))
        ways = f"open {' '.join(exits(self._maze, self.state))}"
        if self.task.public.view == "walls":
            return ways
        row, column = self.state.square
        goal_row, goal_column = self._maze.goal
        return f"at {row + 1} {column + 1} goal {goal_row + 1} {goal_column + 1} {ways}"

    @tool
    async def move(self, direction: Direction) -> str:
        """Move one square.

        Args:
            direction: Where to.
        """
        return self.play(move(self._maze, self.on_move(), direction))

    @property
    def solved(self) -> bool:
        """Whether the goal is reached."""
        return solved(self._maze, self.state)

    def potential(self) -> float:
        """Return 1 less the distance to the goal, in distances from the start."""
        left = distances(self._maze)
        return 1 - left[self.state.square] / left[self._maze.start]

    def efficiency(self) -> float:
        """Return the shortest way's share of the moves made."""
        return distances(self._maze)[self._maze.start] / self.moves
