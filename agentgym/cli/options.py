"""Options that several commands share."""

import inspect
import json
from typing import Annotated

import typer

from agentgym.errors import UsageError
from agentgym.registry import EnvSpec
from agentgym.types import Json

EnvArgs = Annotated[
    list[str] | None,
    typer.Option(
        "--env-arg",
        "-E",
        metavar="NAME=VALUE",
        help="An option of the environment; JSON where it is JSON, else text. May be repeated.",
    ),
]
SandboxOption = Annotated[
    str | None,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        help="What the environment runs in, such as docker or bubblewrap: -E sandbox=NAME.",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Trajectory store: a file or a database URL. Default: $AGENTGYM_STORE, else a file "
        "in the user's data folder.",
    ),
]


def environment_options(
    env_spec: EnvSpec, pairs: list[str] | None, sandbox: str | None
) -> dict[str, Json]:
    """Return an environment's options.

    Args:
        env_spec: The environment.
        pairs: NAME=VALUE each.
        sandbox: The option of that name, which the environment may not have.

    Raises:
        UsageError: A pair has no `=`, or there is no sandbox to choose.
    """
    options: dict[str, Json] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"{pair!r} is not an option.", remedy="Write NAME=VALUE.")
        try:
            options[name.replace("-", "_")] = json.loads(value)
        except json.JSONDecodeError:
            options[name.replace("-", "_")] = value
    if sandbox is not None:
        if "sandbox" not in inspect.signature(env_spec.environment_type()).parameters:
            raise UsageError(
                f"{env_spec.name!r} lets no sandbox be chosen.", remedy="Leave --sandbox out."
            )
        options["sandbox"] = sandbox
    return options
