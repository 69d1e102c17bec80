"""How results are shown to an agent: compact, bounded, unambiguous."""

from collections.abc import Sequence

from agentgym_sql.results import Result, Table, Value

CELL = 200
"""Characters of one value shown at most."""


def show_result(result: Result) -> str:
    """Return a result as a small text table, or what a statement without rows did."""
    if not result.columns:
        changed = result.rowcount
        return "Done." if changed is None else f"Done. {changed} rows affected."
    lines = [" | ".join(shortened(name, CELL) for name in result.columns)]
    lines += [" | ".join(show_value(value) for value in row) for row in result.rows]
    count = len(result.rows)
    if result.truncated:
        lines.append(f"(the first {count} rows; there are more)")
    else:
        lines.append(f"({count} row{'' if count == 1 else 's'})")
    return "\n".join(lines)


def show_value(value: Value) -> str:
    """Return one value as SQL would write it, text bare, long ones cut."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        text = f"x'{value[:CELL].hex()}'"
    else:
        text = str(value).replace("\n", "\\n").replace("|", "\\|")
    return shortened(text, CELL)


def shortened(text: str, limit: int) -> str:
    """Return a text that is cut where it is longer than a number of characters."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def show_tables(tables: Sequence[Table]) -> str:
    """Return one line a table with its columns' names."""
    return "\n".join(
        f"{table.name}({', '.join(column.name for column in table.columns)})" for table in tables
    )


def show_table(table: Table) -> str:
    """Return a table's columns with types and keys."""
    lines = [f"{table.name}:"]
    for column in table.columns:
        notes = [column.type or "any"]
        if column.primary_key:
            notes.append("primary key")
        if not column.nullable:
            notes.append("not null")
        lines.append(f"  {column.name} {', '.join(notes)}")
    lines += [
        f"  foreign key ({', '.join(key.columns)}) -> {key.table}({', '.join(key.references)})"
        for key in table.foreign_keys
    ]
    return "\n".join(lines)
