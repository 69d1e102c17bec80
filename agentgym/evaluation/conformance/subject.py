"""The subject: the environment under test, its instances, and its episodes, recorded once."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from agentgym.agents.base import Agent, Brief
from agentgym.agents.baselines import NullAgent, OracleAgent, RandomAgent
from agentgym.env import Environment, blame
from agentgym.errors import (
    AgentgymError,
    EnvironmentTimeoutError,
    ToolError,
    UnknownNameError,
    UsageError,
)
from agentgym.evaluation.conformance.malformed import MalformedAgent
from agentgym.evaluation.conformance.recording import (
    Again,
    Recording,
    first_difference,
    plain,
    record,
)
from agentgym.registry import EnvSpec, build
from agentgym.tasks import TaskSet
from agentgym.types import Limits, Task

Need = Literal["fingerprint", "snapshot", "oracle", "episodes"]
Kind = Literal["null", "random", "malformed", "oracle"]
KINDS: tuple[Kind, ...] = ("null", "random", "malformed", "oracle")


class Subject:
    """What the checks work on; `prepare` comes first.

    Args:
        spec: The environment under test.
        tasks: Its tasks.
        options: The environment's own options.
        sample: Tasks taken at most, drawn by `seed`.
        seed: Of the sample and of every episode.
        instances: Instances at once in the concurrency check.
        turns: Turns of an episode at most; the oracle's are limited by task and spec alone.
        openings: Tasks whose first observation is looked at, at most.
        every_oracle: Whether the oracle plays every task, not the sampled ones alone.
        patience: Seconds an episode may take.

    Attributes:
        fingerprints: Whether states are fingerprinted: declared, and it works.

    Raises:
        UsageError: There is no sound task.
    """

    def __init__(
        self,
        spec: EnvSpec,
        tasks: TaskSet,
        *,
        options: Mapping[str, Any],
        sample: int,
        seed: int,
        instances: int,
        turns: int,
        openings: int,
        every_oracle: bool,
        patience: float,
    ) -> None:
        self.spec = spec
        self.tasks = tasks
        self.options = dict(options)
        self.seed = seed
        self.instances = instances
        self.turns = turns
        self.every_oracle = every_oracle
        self.patience = patience
        unsound = tasks.unsound
        sound = [task for task in tasks if task.id not in unsound]
        if not sound:
            raise UsageError(f"{tasks.source} has no sound task to try.")
        rng = random.Random(seed)
        self.sampled: Sequence[Task[Any, Any]] = rng.sample(sound, min(sample, len(sound)))
        self.openings: Sequence[Task[Any, Any]] = rng.sample(sound, min(openings, len(sound)))
        self.sound = sound
        self.pristine = {task.id: task.model_dump(mode="json") for task in self.sampled}
        self.fingerprints = False
        self._attempts: dict[tuple[str, str], Recording | Exception] = {}
        self._retold: dict[tuple[str, str], Recording | Exception] = {}

    async def prepare(self) -> None:
        """Find out whether the options are known, and whether fingerprints can be taken.

        A fingerprint that is declared and does not work fails its own checks, not every other.

        Raises:
            UnknownNameError: The environment has no such option.
        """
        try:
            async with asyncio.timeout(self.patience), self.instance() as environment:
                if "fingerprint" in self.spec.capabilities:
                    with blame("fingerprint"):
                        await environment.reset(self.sampled[0], seed=self.seed)
                        await environment.fingerprint()
                    self.fingerprints = True
        except UnknownNameError:
            raise
        except (AgentgymError, ToolError, TimeoutError):
            return  # the checks find it again, and say so

    async def lacks(self, need: Need) -> str | None:
        """Return why a check that needs this is skipped, or None where it is there."""
        match need:
            case "fingerprint" | "snapshot":
                there = need in self.spec.capabilities
                return None if there else f"{self.spec.name} does not declare {need}"
            case "oracle":
                return None if self.spec.oracle else f"{self.spec.name} declares no oracle"
            case "episodes":
                found = await self.recordings()
                return None if found else "no episode could be recorded; see the episodes checks"

    @asynccontextmanager
    async def instance(self) -> AsyncIterator[Environment]:
        """Make an instance and close it."""
        with blame(f"the class {self.spec.entry_point}"):
            environment = build(self.spec, **self.options)
        try:
            yield environment
        finally:
            with blame("close"):
                await environment.close()

    def kinds(self) -> tuple[Kind, ...]:
        """Return who can play here."""
        return KINDS if self.spec.oracle else KINDS[:-1]

    async def attempt(self, kind: Kind, task: Task[Any, Any]) -> Recording | Exception:
        """Return the recording of an episode, played once, or what broke it."""
        key = (kind, task.id)
        if key not in self._attempts:
            try:
                async with asyncio.timeout(self.patience):
                    with blame("the episode"):
                        self._attempts[key] = await self._record(kind, task)
            except (AgentgymError, ToolError) as error:
                self._attempts[key] = error
            except TimeoutError:
                late = f"The episode did not end within {self.patience:g} s."
                self._attempts[key] = EnvironmentTimeoutError(late)
        return self._attempts[key]

    async def recordings(self) -> list[Recording]:
        """Return every episode of the sampled tasks that could be recorded."""
        attempts = [
            await self.attempt(kind, task) for task in self.sampled for kind in self.kinds()
        ]
        return [found for found in attempts if isinstance(found, Recording)]

    async def again(self, recording: Recording, environment: Environment) -> str | None:
        """Play a recording's actions again and return how the episode differs, or None."""
        return differs(recording, await self._again(recording, environment))

    async def retold(self, recording: Recording) -> Recording | Exception:
        """Return the episode played again in a new instance, once, or what broke it."""
        key = (recording.kind, recording.task_id)
        if key not in self._retold:
            async with self.instance() as environment:
                self._retold[key] = await self._again(recording, environment)
        return self._retold[key]

    def task(self, task_id: str) -> Task[Any, Any]:
        """Return a sampled task by its id."""
        return next(task for task in self.sampled if task.id == task_id)

    async def _again(self, recording: Recording, environment: Environment) -> Recording | Exception:
        try:
            with blame("the same episode"):
                return await record(
                    environment,
                    self.task(recording.task_id),
                    Again(recording.actions),
                    kind=recording.kind,
                    seed=recording.seed,
                    turns=len(recording.actions),
                    fingerprints=self.fingerprints,
                )
        except (AgentgymError, ToolError) as error:
            return error

    async def _record(self, kind: Kind, task: Task[Any, Any]) -> Recording:
        limit = task.max_turns or self.spec.max_turns
        turns = limit if kind == "oracle" else min(limit, self.turns)
        agent = self._agent(kind)
        brief = Brief(
            env=self.spec.id,
            task_id=task.id,
            seed=self.seed,
            limits=Limits(turns=turns),
            task=task if agent.privileged else None,
        )
        async with self.instance() as environment:
            return await record(
                environment,
                task,
                await agent.begin(brief),
                kind=kind,
                seed=self.seed,
                turns=turns,
                fingerprints=self.fingerprints,
            )

    def _agent(self, kind: Kind) -> Agent:
        match kind:
            case "null":
                return NullAgent()
            case "random":
                return RandomAgent()
            case "malformed":
                return MalformedAgent()
            case "oracle":
                return OracleAgent(self.spec)


def differs(expected: Recording, found: Recording | Exception) -> str | None:
    """Return how an episode differs from its recording, or what broke it; None if equal."""
    if isinstance(found, Recording):
        return compare(expected, found.model_dump(mode="json"))
    return f"{expected.title}: {type(found).__name__}: {found}"


def compare(expected: Recording, found: Any) -> str | None:
    """Return how an episode differs from its recording, or None.

    Args:
        expected: The recording.
        found: The episode played again, as a `Recording`'s JSON value.
    """
    old = expected.model_dump(mode="json")
    difference = first_difference(plain(expected.frames), found["frames"])
    if difference is None and repr(old["grade"]) != repr(found["grade"]):
        difference = f"the grade was {old['grade']}, then {found['grade']}"
    return None if difference is None else f"{expected.title}, {difference}"
