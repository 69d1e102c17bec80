"""The registry: environments by name, from entry points or registered by hand.

A package puts an `EnvSpec` under the entry-point group `agentgym.environments`; installing it
is registering it. A package that cannot be imported is reported and breaks no other.
"""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from agentgym.content import content_path
from agentgym.env import Environment
from agentgym.errors import AgentgymError, UnknownNameError, UsageError
from agentgym.types import Frozen

GROUP = "agentgym.environments"

Capability = Literal["fingerprint", "snapshot"]


class Baseline(Frozen):
    """An agent of an environment's own that needs no model, such as a published rule.

    Attributes:
        play: "module:function" of a generator that yields actions and is sent observations:
            `play(observation)`, or `play(task, observation)` where it is privileged.
        privileged: Whether it sees the whole task, private part included.
    """

    play: str = Field(pattern=r"^[\w.]+:\w+$")
    privileged: bool = False


class EnvSpec(Frozen):
    """What the registry knows of an environment without importing it.

    Attributes:
        name: Its name, such as "sql".
        version: Raised whenever the same actions may give other results.
        entry_point: "module:Class" of the environment.
        description: One line.
        oracle: "module:function" of a generator that plays a task to full reward:
            `oracle(task, observation)` yields actions and is sent observations.
        baselines: Further agents of its own, by the name they are asked for.
        tasks_root: The folder of its task sets; None for `tasks/<name>` of the shipped content.
        default_tasks: The set played where none is named.
        made_tasks: Sets that code makes, such as from an installed package's data, by name:
            "module:function" of a function without arguments that returns a task set.
        layouts: "module:function" that reads a foreign folder: `layouts(path)` returns a task
            set, or None where it does not know the layout.
        capabilities: Optional parts of the protocol it has.
        max_turns: Turn limit of an episode where the task does not say.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    version: int = Field(default=1, ge=1)
    entry_point: str = Field(pattern=r"^[\w.]+:\w+$")
    description: str
    oracle: str | None = None
    baselines: dict[str, Baseline] = Field(default_factory=dict)
    tasks_root: Path | None = None
    default_tasks: str = "core"
    made_tasks: dict[str, str] = Field(default_factory=dict)
    layouts: str | None = None
    capabilities: frozenset[Capability] = frozenset()
    max_turns: int = Field(default=30, ge=1)

    @property
    def id(self) -> str:
        """The versioned id, such as "sql-v1"."""
        return f"{self.name}-v{self.version}"

    def environment_type(self) -> type[Environment]:
        """Import and return the environment's class.

        Raises:
            UsageError: The entry point does not name an environment.
        """
        found = resolve(self.entry_point)
        if not (inspect.isclass(found) and issubclass(found, Environment)):
            raise UsageError(f"{self.entry_point} of {self.name!r} is not an Environment.")
        return found

    def task_set_paths(self) -> dict[str, Path]:
        """Return the folder of each of its task sets, by name."""
        try:
            root = self.tasks_root or content_path("tasks", self.name)
        except UsageError:  # an environment without sets of its own plays files
            return {}
        return {path.parent.name: path.parent for path in sorted(root.glob("*/taskset.toml"))}

    def task_set_names(self) -> list[str]:
        """Return the names of its task sets, of those in folders and those made in code."""
        return [*self.task_set_paths(), *self.made_tasks]


class Broken(NamedTuple):
    """An installed package whose environment cannot be used, and why."""

    name: str
    package: str
    reason: str


class Registered(NamedTuple):
    """Everything that is registered, by name, and what should be but is broken."""

    specs: dict[str, EnvSpec]
    broken: list[Broken]


_by_hand: dict[str, EnvSpec] = {}


def register(spec: EnvSpec) -> EnvSpec:
    """Register an environment for this process; the same name again replaces it."""
    _by_hand[spec.name] = spec
    return spec


def registered() -> Registered:
    """Return every environment that can be made here, and every broken one."""
    installed = _installed()
    return Registered({**installed.specs, **_by_hand}, installed.broken)


def list_environments() -> list[EnvSpec]:
    """Return the specs of every environment that can be made here, by name."""
    specs = registered().specs
    return [specs[name] for name in sorted(specs)]


def spec(name: str) -> EnvSpec:
    """Return the spec of an environment, by name ("sql") or versioned id ("sql-v1").

    Raises:
        UnknownNameError: No such environment, with the nearest names.
        UsageError: It is installed but broken, or in another version.
    """
    specs, broken = registered()
    for candidate in specs.values():
        if name in (candidate.name, candidate.id):
            return candidate
    for item in broken:
        if name == item.name:
            raise UsageError(
                f"Environment {name!r} of package {item.package} is broken: {item.reason}.",
                remedy="Mend or uninstall that package.",
            )
    base = name.rpartition("-v")[0]
    if base in specs:
        raise UsageError(
            f"Environment {name!r} is not installed.", remedy=f"{specs[base].id!r} is."
        )
    raise UnknownNameError("environment", name, specs)


def make(name: str, **options: Any) -> Environment:
    """Make an environment by name.

    Args:
        name: Its name or versioned id.
        options: The environment's own options, the arguments of its class.

    Raises:
        UnknownNameError: No such environment or option, with the nearest names.
        UsageError: It is broken.
    """
    return build(spec(name), **options)


def build(env_spec: EnvSpec, **options: Any) -> Environment:
    """Make an environment from its spec, registered or not.

    Args:
        env_spec: The environment.
        options: The environment's own options, the arguments of its class.

    Raises:
        UnknownNameError: No such option, with the nearest names.
        UsageError: Its entry point does not name an environment.
    """
    environment_type = env_spec.environment_type()
    known = inspect.signature(environment_type).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
    for option in options:
        if option not in known and not takes_any:
            raise UnknownNameError(f"option of environment {env_spec.name!r}", option, known)
    return environment_type(**options)


def resolve(reference: str) -> Any:
    """Import what a "module:attribute" reference names.

    Raises:
        UsageError: There is no such module or attribute, or importing it fails.
    """
    module, _, attribute = reference.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except AgentgymError:
        raise
    except Exception as error:
        raise UsageError(
            f"Cannot import {reference}: {type(error).__name__}: {error}.",
            remedy="Mend the package it belongs to.",
        ) from error


def oracle_of(env_spec: EnvSpec) -> Callable[..., Any]:
    """Return the environment's oracle.

    Raises:
        UsageError: It declares none.
    """
    if env_spec.oracle is None:
        raise UsageError(f"Environment {env_spec.name!r} has no oracle.")
    oracle: Callable[..., Any] = resolve(env_spec.oracle)
    return oracle


@cache
def _installed() -> Registered:
    specs: dict[str, EnvSpec] = {}
    broken: list[Broken] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        package = entry.dist.name if entry.dist else entry.module
        reason = _load(entry, specs)
        if reason is not None:
            broken.append(Broken(entry.name, package, reason))
    return Registered(specs, broken)


def _load(entry: EntryPoint, specs: dict[str, EnvSpec]) -> str | None:
    """Load one entry point into `specs`, or return why it cannot be."""
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        return f"{type(error).__name__}: {error}"
    if not isinstance(found, EnvSpec):
        return f"{entry.value} is not an EnvSpec"
    if found.name != entry.name:
        return f"its spec is named {found.name!r}"
    if specs.setdefault(found.name, found) is not found:
        return "another package has registered this name"
    return None
