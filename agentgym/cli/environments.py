"""Commands about environments: list, info, check and new."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from agentgym.cli.options import EnvArgs, SandboxOption, environment_options
from agentgym.cli.output import JsonFlag, print_facts, print_json, print_table, print_text
from agentgym.registry import EnvSpec, registered, spec
from agentgym.tasks import load_tasks
from agentgym.types import Json

EnvName = Annotated[str, typer.Argument(metavar="ENV", help="An environment, such as sql.")]


def list_environments(as_json: JsonFlag = False) -> None:
    """List the environments that are installed."""
    specs, broken = registered()
    if as_json:
        print_json(
            {
                "environments": [_facts(item) for item in specs.values()],
                "broken": [item._asdict() for item in broken],
            }
        )
        return
    rows = [
        (item.id, ", ".join(item.task_set_names()), item.description) for item in specs.values()
    ]
    print_table(("environment", "task sets", "what it is"), rows)
    for item in broken:
        why = f"broken: {item.name} of package {item.package}: {item.reason}"
        print_text(why, to_stderr=True)


def info(env: EnvName, as_json: JsonFlag = False) -> None:
    """Show an environment's task sets, tools and options."""
    found = spec(env)
    environment_type = found.environment_type()
    facts = _facts(found)
    facts["options"] = _options(environment_type)
    facts["tools"] = {
        name: tool.spec.description.splitlines()[0] if tool.spec.description else ""
        for name, tool in getattr(environment_type, "declared_tools", dict)().items()
    }
    sets: list[dict[str, Json]] = []
    for name in found.task_set_names():
        tasks = load_tasks(found, name)
        splits = dict(Counter(task.split for task in tasks))
        sets.append({"name": name, "tasks": len(tasks), "splits": splits, "hash": tasks.hash})
    facts["task_sets"] = sets
    if as_json:
        print_json(facts)
        return
    tools = facts.pop("tools")
    print_facts({**facts, "task_sets": [one["name"] for one in sets], "tools": sorted(tools)})
    rows = [(one["name"], one["tasks"], one["splits"], one["hash"][:12]) for one in sets]
    print_text("\nTask sets")
    print_table(("set", "tasks", "splits", "hash"), rows)
    print_text("\nTools")
    print_table(("tool", "what it does"), list(tools.items()))


def check(
    env: EnvName,
    tasks: Annotated[str | None, typer.Option(help="A task set, file or folder.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Tasks to try each check on.")] = 8,
    seed: Annotated[int, typer.Option(help="Chooses the sample.")] = 0,
    sandbox: SandboxOption = None,
    env_arg: EnvArgs = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the conformance suite on an environment. Exit code 1 where a check fails."""
    import asyncio

    from agentgym.evaluation.conformance.suite import check_environment

    found = spec(env)
    options = environment_options(found, env_arg, sandbox)
    chosen = load_tasks(found, tasks)
    report = asyncio.run(
        check_environment(found, chosen, options=options, sample=sample, seed=seed)
    )
    if as_json:
        print_json(report.to_json())
    else:
        rows = [(item.status, item.name, item.detail) for item in report.results]
        print_table(("result", "check", "detail"), rows)
        if report.unsound:
            print_text(f"\n{len(report.unsound)} tasks are not sound")
            print_table(("task", "why"), list(report.unsound.items()))
    if not report.passed:
        raise typer.Exit(1)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as my-env.")],
    folder: Annotated[Path, typer.Option(help="Where to put it.")] = Path(),
    as_json: JsonFlag = False,
) -> None:
    """Write an environment package to start from. It installs, and passes `agentgym check`."""
    from agentgym.cli.scaffold import create_environment

    files = create_environment(name, folder)
    if as_json:
        print_json({"files": [str(path) for path in files]})
        return
    for path in files:
        typer.echo(f"wrote {path}")
    root = files[0].parent
    typer.echo(f"\nNext: pip install -e {root} && agentgym check {name}")


def _facts(found: EnvSpec) -> dict[str, Json]:
    return {
        "id": found.id,
        "name": found.name,
        "version": found.version,
        "description": found.description,
        "entry_point": found.entry_point,
        "capabilities": sorted(found.capabilities),
        "max_turns": found.max_turns,
        "oracle": found.oracle is not None,
        "baselines": sorted(found.baselines),
        "task_sets": found.task_set_names(),
        "default_tasks": found.default_tasks,
    }


def _options(environment_type: type) -> dict[str, Json]:
    parameters = inspect.signature(environment_type).parameters.values()
    return {p.name: None if p.default is p.empty else p.default for p in parameters}
