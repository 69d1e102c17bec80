"""Options that several commands share."""

import json
from typing import Annotated

import typer

from agentgym.errors import UsageError
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
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Trajectory store: a file or a database URL. Default: $AGENTGYM_STORE, else a file "
        "in the user's data folder.",
    ),
]


def environment_options(pairs: list[str] | None) -> dict[str, Json]:
    """Parse NAME=VALUE pairs.

    Raises:
        UsageError: A pair has no `=`.
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
    return options
