"""BFCL's call syntax, `[f(a=1), g(b='x')]`, read with `ast`: nothing is ever evaluated."""

import ast
import math
import re
from collections.abc import Mapping, Sequence

from agentgym.errors import ToolError
from agentgym.types import Json, ToolCall

LONGEST = 50_000
"""Characters of a text that is read as calls; no call of the benchmark comes near it."""

DEEPEST = 40
"""Brackets or signs inside each other: the parser's own recursion stays far from its limit."""

_LIKELY = re.compile(r"\[\s*[A-Za-z_][\w.]*\(.*\]|[A-Za-z_][\w.]*\(.*\)", re.DOTALL)
_RUN_OF_SIGNS = re.compile(rf"(?:[-+~]\s*){{{DEEPEST}}}|(?:\bnot\s+){{{DEEPEST}}}")


def parse_calls(text: str) -> tuple[ToolCall, ...]:
    """Read a model's words as calls.

    Returns:
        The calls; none where the words are not calls but words.

    Raises:
        ToolError: They are meant as calls, but cannot be read as such, or have something other
            than literals and named arguments, or are nested too deep, or too long.
    """
    stripped = text.strip()
    likely = _LIKELY.fullmatch(stripped) is not None
    if len(stripped) > LONGEST or _nested(stripped):
        if likely:
            raise ToolError("These calls are too long or nested too deep.")
        return ()
    try:
        body = ast.parse(stripped, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if likely:
            raise ToolError("These are not calls: write [name(argument=value), ...].") from None
        return ()
    parts = body.elts if isinstance(body, ast.List) else [body]
    if not any(isinstance(part, ast.Call) for part in parts):
        return ()
    return tuple(_call(part) for part in parts)


def parse_gold(source: str, parameters: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, Json]]:
    """Read one call of the benchmark's answers, which may have arguments by position.

    Args:
        source: Such as "sort('a.txt')".
        parameters: The names of each function's parameters, in order.

    Returns:
        The function's name, and its arguments by name.

    Raises:
        ToolError: It is not a call with literal arguments.
    """
    call = ast.parse(source, mode="eval").body
    if not isinstance(call, ast.Call):
        raise ToolError(f"{source!r} is not a call.")
    name = _name(call)
    by_position = zip(parameters[name], call.args, strict=False)
    first = {parameter: _literal(value) for parameter, value in by_position}
    return name, {**first, **_keywords(call)}


def _call(node: ast.expr) -> ToolCall:
    if not isinstance(node, ast.Call):
        raise ToolError("A list of calls holds calls only.")
    if node.args:
        raise ToolError(f"{_name(node)}: give every argument by its name.")
    return ToolCall(name=_name(node), arguments=_keywords(node))


def _name(call: ast.Call) -> str:
    if not isinstance(call.func, ast.Name):
        raise ToolError("A function is called by its plain name.")
    return call.func.id


def _keywords(call: ast.Call) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ToolError(f"{_name(call)}: give every argument by its name.")
        if keyword.arg in found:
            raise ToolError(f"{_name(call)}: {keyword.arg} is given twice.")
        found[keyword.arg] = _literal(keyword.value)
    return found


def _literal(node: ast.expr) -> Json:
    """Return a literal as JSON; a tuple is a list."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ToolError("Arguments are literals: no names, calls or operators.") from None
    return _json(value)


def _json(value: object) -> Json:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_json(part) for part in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _json(part) for key, part in value.items()}
    raise ToolError("Arguments are texts, finite numbers, true, false, none, lists and dicts.")


def _nested(text: str) -> bool:
    """Whether brackets, wherever they stand, or signs nest deeper than `DEEPEST`."""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest > DEEPEST or _RUN_OF_SIGNS.search(text) is not None
