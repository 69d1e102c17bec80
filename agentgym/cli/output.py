"""What commands print: a table for a person, one JSON object for a program."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import typer

from agentgym.types import Json

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_json(value: Json) -> None:
    """Print one JSON value on one line."""
    typer.echo(json.dumps(value, ensure_ascii=False, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    lines = [list(row) for row in rows]
    for index, name in enumerate(columns):
        numeric = all(isinstance(line[index], int | float) for line in lines)
        table.add_column(name, justify="right" if lines and numeric else "left", overflow="fold")
    for line in lines:
        table.add_row(*(Text(shown(cell)) for cell in line))
    # Without a terminal nothing is folded to fit one: whoever reads a log wants whole cells.
    console = Console(width=None if Console().is_terminal else 240)
    console.print(table)


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {shown(value)}")


def shown(value: object) -> str:
    """Return a value as a person reads it."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3f}"
        case dict():
            return ", ".join(f"{name} {shown(part)}" for name, part in value.items()) or "-"
        case list() | tuple() | set() | frozenset():
            return ", ".join(shown(part) for part in value) or "-"
        case _:
            return str(value)
