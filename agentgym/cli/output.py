"""What commands print: a table for a person, one JSON object for a program.

Agents, environments and servers choose some of the words; none of them reaches a terminal as
anything but visible text.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

import typer

from agentgym.types import Json

_WHOLE = 100_000  # columns that nothing is folded to
_COMMANDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_json(value: Json) -> None:
    """Print one JSON value on one line."""
    typer.echo(json.dumps(value, default=str))


def print_text(text: str, *, to_stderr: bool = False) -> None:
    """Print text, what a terminal would obey made visible; see `plain`."""
    typer.echo(plain(text), err=to_stderr)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, collapse_padding=True)
    lines = [list(row) for row in rows]
    for index, name in enumerate(columns):
        numeric = all(isinstance(line[index], int | float) for line in lines)
        # The first names the row, to be copied whole.
        justify: Literal["right", "left"] = "right" if lines and numeric else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=index == 0)
    for line in lines:
        table.add_row(*(Text(shown(cell)) for cell in line))
    # Without a terminal nothing is folded to fit one: whoever reads a log wants whole cells.
    console = Console(width=None if Console().is_terminal else _WHOLE)
    console.print(table)


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print_text(f"{name:<{width}}  {shown(value)}")


def plain(text: str, keep: str = "\n\t") -> str:
    """Return text with control, format and separator characters written as escapes.

    Args:
        text: Whatever somebody else wrote.
        keep: Characters left as they are.
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or _visible(c) else _escape(c) for c in text)


def _visible(character: str) -> bool:
    return unicodedata.category(character) not in _COMMANDS


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


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
            return plain(str(value), keep="")
