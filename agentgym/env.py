"""The protocol every environment speaks, and the base class authors extend."""

import asyncio
import copy
import hashlib
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, NamedTuple, get_args

from agentgym.errors import (
    AgentgymError,
    CapabilityError,
    EnvironmentFailedError,
    OwnCodeError,
    ProtocolError,
    ToolError,
)
from agentgym.tools import Tool, is_tool
from agentgym.types import (
    Action,
    AnyFields,
    Json,
    Message,
    Observation,
    PrivateT,
    PublicT,
    Reward,
    Snapshot,
    Task,
    ToolCall,
    ToolFault,
    Transition,
)

NO_CALL = "No tool was called. Answer by calling one of the tools."


class Environment(ABC):
    """One episode at a time, driven by infrastructure; the agent only ever sees observations.

    The same task, seed and actions give the same observations, rewards and fingerprints, in
    any process, in any order and at any concurrency. One object plays many episodes, one after
    the other: `reset` leaves nothing of the episode before.

    Attributes:
        task_type: The task model the environment plays, with its public and private parts typed.
    """

    task_type: ClassVar[type[Task[Any, Any]]] = Task[AnyFields, AnyFields]

    @abstractmethod
    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        """Begin an episode and return what the agent sees first."""

    @abstractmethod
    async def step(self, action: Action) -> Transition:
        """Carry out one agent turn.

        Mistakes of the model are answered in the observation, never raised.

        Raises:
            ProtocolError: There is no episode, or it is over.
            EpisodeError: Infrastructure broke; the episode is void.
        """

    @abstractmethod
    async def grade(self) -> Reward:
        """Return the grade of the episode as it stands.

        `step` puts it on the transition that ends the episode; whoever stops an episode from
        outside (a limit) calls it instead.
        """

    @abstractmethod
    async def close(self) -> None:
        """Release everything; closing twice is allowed."""

    def recall(self, observations: Sequence[Observation], grade: Reward) -> None:
        """Prepare for the next `reset` to begin an episode that was played before.

        For environments where something comes from outside, such as words of a model that plays a
        person: they take it from the record, and work everything else out again. By default
        nothing does.

        Args:
            observations: What the episode's agent was shown, the first observation included.
            grade: The episode's final grade.
        """
        return

    async def fingerprint(self) -> str:
        """Return a string that is the same exactly where the state is the same."""
        raise CapabilityError("fingerprint", type(self).__name__)

    async def snapshot(self) -> Snapshot:
        """Return the episode's whole state; the episode goes on unchanged."""
        raise CapabilityError("snapshot", type(self).__name__)

    async def restore(self, snapshot: Snapshot) -> Observation:
        """Go back to a snapshot and return the observation of that moment."""
        raise CapabilityError("snapshot", type(self).__name__)


class _Episode(NamedTuple):
    """The base class's own share of a snapshot."""

    seed: int
    rng: Any
    finished: bool
    over: bool
    observation: Observation
    state: Any


class ToolEnvironment(Environment, Generic[PublicT, PrivateT]):
    """Base for environments made of tools: dispatch, argument checks and message building.

    An author writes `setup`, methods marked `@tool`, and `grade`. A tool may be `async def` (on
    the event loop) or `def` (in a thread: whatever blocks). Name the task's typed parts in the
    base: `class Sql(ToolEnvironment[SqlPublic, SqlPrivate])`.

    Attributes:
        task: The task being played.
        seed: The episode's seed.
        rng: The episode's only source of randomness, seeded by task and seed.
    """

    task: Task[PublicT, PrivateT]
    seed: int
    rng: random.Random
    __class_tools: ClassVar[dict[str, Tool] | None] = None
    __observation: Observation | None = None
    __over = True
    __finished = False
    __turn_reward = Reward()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__class_tools = None
        for base in getattr(cls, "__orig_bases__", ()):
            parts = get_args(base)
            if len(parts) == 2 and all(isinstance(part, type) for part in parts):
                cls.task_type = Task[parts[0], parts[1]]  # type: ignore[valid-type]

    # What an author writes.

    @abstractmethod
    async def setup(self) -> str | Sequence[Message]:
        """Prepare `self.task` and return the agent's first words or messages."""

    @abstractmethod
    async def grade(self) -> Reward:
        """Grade the episode as it stands."""

    async def reply(self, text: str) -> str | Sequence[Message]:
        """Answer a turn without tool calls; by default it is the agent's mistake.

        Override it where words are a turn of their own, such as talking to a user.
        """
        raise ToolError(NO_CALL)

    def tools(self) -> Sequence[Tool]:
        """Return the tools on offer now; override it where they change during an episode."""
        return [tool.bind(self) for tool in self.declared_tools().values()]

    async def save(self) -> Any:
        """Return the author's own episode state, for `fingerprint` and `snapshot`.

        A JSON value where `fingerprint` is not overridden.
        """
        raise CapabilityError("snapshot", type(self).__name__)

    async def load(self, state: Any) -> None:
        """Take back what `save` returned."""
        raise CapabilityError("snapshot", type(self).__name__)

    async def close(self) -> None:
        """Release everything; by default there is nothing to release."""

    # What an author calls.

    def finish(self) -> None:
        """End the episode with this turn; calls that follow in it are refused."""
        self.__finished = True

    def reward(self, value: float, **components: float) -> None:
        """Add a dense reward to the current turn."""
        merged = dict(self.__turn_reward.components)
        for name, part in components.items():
            merged[name] = merged.get(name, 0.0) + part
        self.__turn_reward = Reward(value=self.__turn_reward.value + value, components=merged)

    # What the engine calls.

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        """Begin an episode; see `Environment.reset`."""
        self.__over = True
        self.task = self.__typed(task)
        self.seed = seed
        self.rng = random.Random(f"{task.id}:{seed}")
        self.__finished = False
        with blame("setup"):
            opening = await self.setup()
        self.__over = False
        return self.__observe(_messages(opening))

    async def step(self, action: Action) -> Transition:
        """Carry out one turn; see `Environment.step`."""
        if self.__over:
            raise ProtocolError("There is no episode to step.", remedy="Call reset first.")
        self.__turn_reward = Reward()
        if action.tool_calls:
            offered = {tool.name: tool for tool in self.tools()}
            messages = [await self.__answer(call, offered) for call in action.tool_calls]
        else:
            messages = list(await self.__talk(action.text))
        reward = self.__turn_reward
        if self.__finished:
            self.__over = True
            reward = await self.__graded()
        return Transition(
            observation=self.__observe(messages), reward=reward, terminated=self.__finished
        )

    async def fingerprint(self) -> str:
        """Hash the author's state; see `Environment.fingerprint`."""
        return digest([await self.save(), self.__finished])

    async def snapshot(self) -> Snapshot:
        """Copy the episode; see `Environment.snapshot`."""
        if self.__observation is None:
            raise ProtocolError("There is no episode to snapshot.", remedy="Call reset first.")
        episode = _Episode(
            self.seed,
            self.rng.getstate(),
            self.__finished,
            self.__over,
            self.__observation,
            copy.deepcopy(await self.save()),
        )
        # The task as plain data: its type is made at run time, which pickle cannot name.
        state = (self.task.model_dump(), episode)
        return Snapshot(env=type(self).__name__, task_id=self.task.id, state=state)

    async def restore(self, snapshot: Snapshot) -> Observation:
        """Go back to a snapshot; see `Environment.restore`."""
        if snapshot.env != type(self).__name__:
            raise ProtocolError(
                f"This is a snapshot of {snapshot.env}, not of {type(self).__name__}.",
                remedy="Restore it into the environment it was taken from.",
            )
        episode: _Episode
        task, episode = snapshot.state
        self.task = self.task_type.model_validate(task)
        self.seed = episode.seed
        self.rng = random.Random()
        self.rng.setstate(episode.rng)
        self.__finished, self.__over = episode.finished, episode.over
        self.__observation = episode.observation
        with blame("restore"):
            await self.load(copy.deepcopy(episode.state))
        return episode.observation

    # Inside.

    @classmethod
    def declared_tools(cls) -> dict[str, Tool]:
        """Return the methods marked as tools, by name, unbound."""
        if cls.__class_tools is None:
            members = (getattr(cls, name) for name in _names_in_order(cls))
            marked = [Tool(member) for member in members if is_tool(member)]
            cls.__class_tools = {tool.name: tool for tool in marked}
        return cls.__class_tools

    def __typed(self, task: Task[Any, Any]) -> Task[PublicT, PrivateT]:
        if isinstance(task, self.task_type):
            return task
        return self.task_type.model_validate(task.model_dump())

    def __observe(self, messages: Sequence[Message]) -> Observation:
        tools = tuple(tool.spec for tool in self.tools())
        self.__observation = Observation(messages=tuple(messages), tools=tools)
        return self.__observation

    async def __answer(self, call: ToolCall, offered: dict[str, Tool]) -> Message:
        if self.__finished:
            return _fault(call, "over", "The episode is over; this call was not made.")
        tool = offered.get(call.name)
        if tool is None:
            known = ", ".join(offered) or "none"
            return _fault(call, "unknown_tool", f"No tool {call.name[:100]!r}. Tools: {known}.")
        if isinstance(call.arguments, str):
            text = f"Bad arguments for {call.name}: not a JSON object."
            return _fault(call, "bad_arguments", text)
        try:
            arguments = tool.check(call.arguments)
        except ToolError as error:
            return _fault(call, "bad_arguments", str(error))
        with blame(f"tool {call.name}"):
            try:
                content = await tool.run(arguments)
            except ToolError as error:
                return _fault(call, "failed", str(error))
            return Message(role="tool", content=content, tool_call_id=call.id)

    async def __talk(self, text: str) -> Sequence[Message]:
        with blame("reply"):
            try:
                return _messages(await self.reply(text))
            except ToolError as error:
                return [Message(role="user", content=str(error), fault="no_call")]

    async def __graded(self) -> Reward:
        with blame("grade"):
            return await self.grade()


@contextmanager
def blame(where: str, failure: type[OwnCodeError] = EnvironmentFailedError) -> Iterator[None]:
    """Name the part whose own code raised: the one boundary where foreign errors become typed.

    Args:
        where: The part, such as "setup" or "tool query".
        failure: What its errors become.

    Raises:
        OwnCodeError: Anything raised that is not one of agentgym's errors; a `ToolError`, too,
            where there is no agent's call to answer.
    """
    try:
        yield
    except AgentgymError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise failure(where, error) from error  # nobody asked: some part of its own was cancelled
    except (Exception, SystemExit) as error:
        raise failure(where, error) from error


def digest(value: Json) -> str:
    """Hash a JSON value: equal values give equal strings, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _names_in_order(cls: type) -> list[str]:
    """Names as written, base classes first, so that tools keep their order everywhere."""
    names = [name for base in reversed(cls.__mro__) for name in vars(base)]
    return list(dict.fromkeys(names))


def _messages(words: str | Sequence[Message]) -> Sequence[Message]:
    return [Message(role="user", content=words)] if isinstance(words, str) else words


def _fault(call: ToolCall, fault: ToolFault, text: str) -> Message:
    return Message(role="tool", content=f"Error: {text}", tool_call_id=call.id, fault=fault)
