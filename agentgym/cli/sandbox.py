"""Commands about sandboxes: ls, build, reap, check and bench."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from agentgym.cli.output import JsonFlag, plain, print_json, print_table, print_text
from agentgym.errors import MissingExtraError, SandboxUnavailableError
from agentgym.types import Json

if TYPE_CHECKING:
    from agentgym.sandbox.base import SandboxBackend, SandboxInfo
    from agentgym.sandbox.check.results import CheckReport, CheckResult
    from agentgym.sandbox.docker.built import BuiltImage

FoundT = TypeVar("FoundT")

app = typer.Typer(help="Sandboxes: what is there, images, checks and figures.")
Backend = Annotated[
    str | None, typer.Option("--backend", help="Only this backend; by default all.")
]


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Sandboxes: what is there, images, checks and figures."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("ls")
def list_sandboxes(backend: Backend = None, as_json: JsonFlag = False) -> None:
    """List every sandbox of this machine, whatever is left of dead ones, and built images."""
    found, missing = asyncio.run(_ask(backend, lambda asked: asked.list()))
    images, _ = asyncio.run(_ask(backend, _images))
    things = _once(found)
    if as_json:
        print_json(
            {
                "sandboxes": [_thing(info) for info in things],
                "images": [image._asdict() for image in images],
                "unavailable": dict(missing),
            }
        )
        return
    _print_things(things)
    if images:
        print_text("")
        print_table(
            ("image", "recipe", "MB", "built", "used"),
            [
                (i.name, i.recipe, f"{i.size / 1e6:.0f}", _ago(i.created), _ago(i.used))
                for i in images
            ],
        )
    _print_missing(missing)


@app.command()
def build(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe, or a recipe's folder.")],
    base_image: Annotated[
        str | None,
        typer.Option(help="What it is based on. Default: $AGENTGYM_BASE_IMAGE, else the recipe's."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build it even if it is there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Build the Docker image of a recipe, and print its digest."""
    recipe = str(Path(name).resolve()) if "/" in name else name
    digest = asyncio.run(_build(recipe, base_image, force=force, quiet=as_json))
    if as_json:
        print_json({"recipe": name, "digest": digest})
    else:
        print_text(digest)


@app.command()
def reap(backend: Backend = None, as_json: JsonFlag = False) -> None:
    """Remove everything whose owner is dead, and print it."""
    found, missing = asyncio.run(_ask(backend, lambda asked: asked.reap()))
    removed = _once(found)
    if as_json:
        print_json({"removed": [_thing(info) for info in removed], "unavailable": dict(missing)})
        return
    if removed:
        _print_things(removed)
    print_text(f"{len(removed)} removed.")
    _print_missing(missing)


@app.command()
def check(
    backend: Annotated[str, typer.Argument(metavar="BACKEND", help="Such as docker.")],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="A group or checks, such as 'exec.*'; repeatable."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Hold a backend to the contract, check by check. Exit code 1 where one fails."""
    report = asyncio.run(_check(backend, only, quiet=as_json))
    if as_json:
        print_json(report.to_json())
    else:
        print_text(report.listing())
    if report.failed:
        raise typer.Exit(1)


@app.command()
def bench(
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Backends, by commas. Default: docker,bubblewrap."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the work, to see that it runs.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure what sandboxes cost, beside the floor of the same run; nothing is judged."""
    from agentgym.cli.sandbox_bench import carry_out, print_figures

    found = carry_out(backend.split(",") if backend else None, quick=quick)
    if as_json:
        print_json(found.to_json())
    else:
        print_figures(found)


async def _ask(
    name: str | None, ask: "Callable[[SandboxBackend], Awaitable[Sequence[FoundT]]]"
) -> tuple[list[FoundT], dict[str, str]]:
    """Ask one backend, which then has to be available, or all of them.

    Returns:
        All answers together, and why some could not be asked, by the backend's name.
    """
    from agentgym.sandbox.backends import backend_names, make_backend

    found: list[FoundT] = []
    missing: dict[str, str] = {}
    for each in [name] if name else backend_names():
        try:
            backend = make_backend(each)
            try:
                found += await ask(backend)
            finally:
                await backend.close()
        except (SandboxUnavailableError, MissingExtraError) as error:
            if name:
                raise
            missing[each] = str(error)
    return found, missing


async def _images(backend: "SandboxBackend") -> "Sequence[BuiltImage]":
    if backend.name != "docker":  # so that nothing of Docker's is imported for the others
        return ()
    from agentgym.sandbox.docker.backend import DockerBackend

    return await backend.images() if isinstance(backend, DockerBackend) else ()


async def _build(name: str, base_image: str | None, *, force: bool, quiet: bool) -> str:
    from agentgym.sandbox.backends import backend_type
    from agentgym.sandbox.docker.backend import DockerBackend

    backend_type("docker")  # which says what is missing where its package is
    backend = DockerBackend()
    try:
        await backend.check_available()
        log = None if quiet else _say
        return await backend.build(name, base_image=base_image, force=force, log=log)
    finally:
        await backend.close()


async def _check(name: str, only: list[str] | None, *, quiet: bool) -> "CheckReport":
    from agentgym.sandbox.backends import make_backend
    from agentgym.sandbox.check.suite import check_backend

    backend = make_backend(name)
    try:
        return await check_backend(
            backend, only=_matching(only), on_result=None if quiet else _print_result
        )
    finally:
        await backend.close()


def _matching(patterns: list[str] | None) -> list[str] | None:
    """Return the checks that patterns stand for; a pattern that fits none is left for a name."""
    from agentgym.sandbox.check.catalogue import CHECKS

    if not patterns:
        return None
    chosen = []
    for pattern in patterns:
        fitting = [item.name for item in CHECKS if fnmatchcase(item.name, pattern)]
        chosen += fitting or [pattern]
    return chosen


def _print_result(result: "CheckResult") -> None:
    detail = f"  {result.detail}" if result.detail else ""
    print_text(f"{result.status:<14}  {result.seconds:6.2f} s  {result.name}{detail}")


def _say(line: str) -> None:
    typer.echo(plain(line), err=True)


def _once(found: "Iterable[SandboxInfo]") -> "list[SandboxInfo]":
    """Leave out what several backends have found, such as a folder that might be any one's."""
    return list({(info.what, info.id): info for info in found}.values())


def _thing(info: "SandboxInfo") -> dict[str, Json]:
    from agentgym.sandbox.owner import made_at

    made = made_at(info.id)
    return {**info._asdict(), "age_s": None if made is None else max(0.0, time.time() - made)}


def _print_things(things: "Sequence[SandboxInfo]") -> None:
    from agentgym.sandbox.owner import made_at

    print_table(
        ("id", "backend", "what", "owner", "run", "made", "detail"),
        [
            (
                info.id,
                info.backend,
                info.what,
                f"{info.owner_pid} {'alive' if info.alive else 'dead'}",
                info.run_id or None,
                _ago(made_at(info.id)),
                info.detail,
            )
            for info in things
        ],
    )


def _print_missing(missing: dict[str, str]) -> None:
    for name, why in missing.items():
        print_text(f"{name} cannot be asked: {why}", to_stderr=True)


def _ago(moment: float | None) -> str:
    if moment is None:
        return "-"
    seconds = max(0.0, time.time() - moment)
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return f"{seconds:.0f} s ago"
