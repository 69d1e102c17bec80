"""One string for a database's content: schema and rows, in whatever order they lie.

Rows are hashed one by one and the hashes added, which makes the order irrelevant and keeps
duplicates (MSet-Add-Hash: Clarke et al., "Incremental Multiset Hash Functions and Their
Application to Memory Integrity Checking", ASIACRYPT 2003).
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from agentgym_sql.results import Value

_MODULUS = 1 << 256
_DIGITS = ".12g"

_QUOTED_OR_SPACE = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|\s+|[^'"`\[\s]+"""
)


def _float(value: float) -> int | float:
    # 12 digits: sums that differ by the order of addition alone count as the same.
    rounded = float(format(value, _DIGITS))
    return int(rounded) if rounded.is_integer() else rounded


def _row(row: Sequence[Value]) -> bytes:
    for value in row:
        if type(value) is float:
            row = tuple(_float(v) if type(v) is float else v for v in row)
            break
    return repr(tuple(row)).encode("utf-8", "surrogatepass")


def rows_digest(rows: Iterable[Sequence[Value]]) -> str:
    """Return the digest of a bag of rows: equal for equal rows in any order.

    25 and 25.0 are the same value, as are floats equal to 12 significant digits.
    """
    total = count = 0
    for row in rows:
        total += int.from_bytes(blake2b(_row(row), digest_size=32).digest())
        count += 1
    return f"{count}:{total % _MODULUS:064x}"


def digest(parts: Iterable[object]) -> str:
    """Return the digest of parts whose order does not matter."""
    return blake2b("\n".join(sorted(map(repr, parts))).encode(), digest_size=16).hexdigest()


def normal_sql(sql: str) -> str:
    """Return a statement with its letters lowered and its spaces merged, outside of quotes."""

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return " " if match[0].isspace() else match[0].lower()

    return _QUOTED_OR_SPACE.sub(replace, sql).strip()
