"""What can be told from the text of a query without knowing its dialect."""

import re
from itertools import groupby, pairwise

# Doubled quotes need no rule: 'it''s' reads as two strings side by side. An unclosed string
# or comment runs to the end.
_TOKEN = re.compile(
    r"""
      --[^\n]*
    | /\*.*?(?:\*/|\Z)
    | \b[eE]'(?:[^'\\]|\\.)*(?:'|\Z)       # PostgreSQL's escape strings
    | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)
    | '[^']*(?:'|\Z)
    | "[^"]*(?:"|\Z)
    | `[^`]*(?:`|\Z)
    | \[[^\]]*(?:\]|\Z)                    # SQLite's quoted identifiers, PostgreSQL's subscripts
    | (?P<word>[^\W\d][\w$]*|[();])
    """,
    re.VERBOSE | re.DOTALL,
)


def is_ordered(sql: str) -> bool:
    """Return whether the outermost query has an ORDER BY.

    One in a subquery, a window, an aggregate, a string, a comment or a quoted identifier does
    not count. Of several statements the last is meant. MySQL's `#` comments and backslash
    escapes are not recognised: in the other dialects the same characters mean other things.
    """
    words = [match["word"].upper() for match in _TOKEN.finditer(sql) if match["word"]]
    top = _top_level(_without_outer_parentheses(_last_statement(words)))
    return ("ORDER", "BY") in pairwise(top)


def _last_statement(words: list[str]) -> list[str]:
    statements = [list(group) for is_end, group in groupby(words, ";".__eq__) if not is_end]
    return statements[-1] if statements else []


def _without_outer_parentheses(words: list[str]) -> list[str]:
    while words and words[0] == "(" and _closing(words) == len(words) - 1:
        words = words[1:-1]
    return words


def _closing(words: list[str]) -> int:
    """Return the index of what closes the parenthesis that opens the words; -1 if nothing."""
    depth = 0
    for i, word in enumerate(words):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0:
            return i
    return -1


def _top_level(words: list[str]) -> list[str]:
    depth = 0
    top = []
    for word in words:
        depth -= word == ")"
        if depth == 0:
            top.append(word)
        depth += word == "("
    return top
