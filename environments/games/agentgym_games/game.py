"""What the games share: one move a turn, a final grade, shaped rewards, states as JSON."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError, UsageError
from agentgym.types import Action, Json, Reward, Task, Transition

PublicT = TypeVar("PublicT", bound=BaseModel)
PrivateT = TypeVar("PrivateT", bound=BaseModel)
StateT = TypeVar("StateT")


class GameEnvironment(ToolEnvironment[PublicT, PrivateT], Generic[PublicT, PrivateT, StateT]):
    """Base of the games: an author gives the rules' state, how it is shown, and when it is won.

    A turn holds one move: the first call that the rules accept. Further calls in the same turn are
    refused as the model's mistake, so that a turn limit is a limit of moves and every move is made
    with the last one's result in sight.

    Name the task's typed parts and the state in the base:
    `class Maze(GameEnvironment[MazePublic, MazePrivate, MazeState])`.

    Args:
        dense: Whether each turn is rewarded by the change of `potential`. The last turn's reward
            is the grade, as everywhere. With potentials the best way to play stays the best (Ng,
            Harada and Russell 1999, here with gamma 1): a move taken back earns nothing.
        instructions: Whether the first observation explains the rules; small models that are
            trained on a game need not read them.

    Attributes:
        state: The game as it stands; a frozen dataclass of JSON values.
        moves: Moves made so far.
    """

    state: StateT
    moves: int
    _states: ClassVar[TypeAdapter[Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is GameEnvironment:
                public, private, state = get_args(base)
                task: Any = Task
                cls.task_type = task[public, private]
                cls._states = TypeAdapter(state)

    def __init__(self, *, dense: bool = False, instructions: bool = True) -> None:
        _check_flag("dense", dense)
        _check_flag("instructions", instructions)
        self._dense = dense
        self._instructions = instructions
        self._moved = False

    # What a game gives.

    @abstractmethod
    def begin(self) -> StateT:
        """Prepare `self.task` and return the state the game begins in."""

    @abstractmethod
    def explain(self) -> str:
        """Return the rules in words."""

    @abstractmethod
    def show(self) -> str:
        """Return what the agent sees of the state."""

    def announce(self) -> str:
        """Return what the agent sees first, with or without the rules; by default `show`."""
        return self.show()

    @property
    @abstractmethod
    def solved(self) -> bool:
        """Whether the game is won."""

    @property
    def lost(self) -> bool:
        """Whether the game can no longer go on; by default it always can."""
        return False

    @abstractmethod
    def potential(self) -> float:
        """Return how near the state is to being won: a function of the state, 1 where it is."""

    @abstractmethod
    def efficiency(self) -> float:
        """Return how well a won game was played, above 0 and up to 1."""

    def essence(self) -> Json:
        """Return what makes two states the same for the rest of the game; by default all of it."""
        return self._states.dump_python(self.state, mode="json")

    # What a game calls.

    def on_move(self) -> StateT:
        """Return the state to move from.

        Raises:
            ToolError: This turn has had its move.
        """
        if self._moved:
            raise ToolError("One move a turn: this one was not made.")
        return self.state

    def play(self, state: StateT) -> str:
        """Make a move: take the state it leads to, and return what the agent sees."""
        before = self.potential() if self._dense else 0.0
        self.state = state
        self.moves += 1
        self._moved = True
        if self._dense:
            gain = self.potential() - before
            self.reward(gain, progress=gain)
        if self.solved or self.lost:
            self.finish()
        return self.show()

    # What the engine calls.

    async def setup(self) -> str:
        """Begin the game; see `ToolEnvironment.setup`."""
        self.state = self.begin()
        self.moves = 0
        opening = self.announce()
        return f"{self.explain()}\n\n{opening}" if self._instructions else opening

    async def step(self, action: Action) -> Transition:
        """Carry out one turn; see `Environment.step`."""
        self._moved = False
        return await super().step(action)

    async def grade(self) -> Reward:
        """Grade 1 where the game is won, else 0; efficiency is a component and no part of it."""
        solved = self.solved
        outcome = "solved" if solved else "lost" if self.lost else "unfinished"
        efficiency = self.efficiency() if solved else 0.0
        return Reward(
            value=float(solved),
            components={"efficiency": efficiency, "moves": float(self.moves)},
            labels={"outcome": outcome},
        )

    async def fingerprint(self) -> str:
        """Hash the game's state, however it was reached.

        The count of moves is left out: nothing but the efficiency depends on it, and two ways to
        the same position are the same state (what GiGPO calls an anchor state).
        """
        return digest([self.task.id, self.essence()])

    async def save(self) -> Json:
        """Return the state and the count of moves."""
        return {"moves": self.moves, "state": self._states.dump_python(self.state, mode="json")}

    async def load(self, state: Json) -> None:
        """Take back what `save` returned, in any object of this class."""
        self.begin()
        self.moves = state["moves"]
        self.state = self._states.validate_python(state["state"])


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}.", remedy="Give true or false.")
