"""Reads `tool[argument]` as models really write it: after thoughts, labels and quotes."""

import json
import re
from collections.abc import Sequence

from agentgym.json_text import leading_object
from agentgym.types import Action, Json, ToolCall, ToolSpec

# Anchored at a line's start, with no two unbounded runs in a row: linear in any text.
_LINE = re.compile(
    r"^[ \t>*_`-]{0,8}(?:action(?:[ \t]\d{1,3})?[ \t]{0,4}:)?[ \t*_`]{0,8}([A-Za-z][\w.-]{0,63})\[",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(r"^\s*[*_`]{0,3}thought(?:[ \t]\d{1,3})?[*_`]{0,3}:[*_`]{0,3}", re.IGNORECASE)


def parse_brackets(text: str, tools: Sequence[ToolSpec]) -> Action:
    """Read the first action, or the words where there is none.

    Args:
        text: Thoughts, then `tool[argument]`; what follows is left out. A tool on offer may be
            called inside a line, another name only at its beginning. Whatever stands before a
            closing `</think>` is left out too.
        tools: The tools on offer; which parameter an argument is for follows from them.

    Returns:
        The thought and one call; or words alone. An argument that no parameter can be found for
        stays text.
    """
    text = text.rpartition("</think>")[2]
    known = {tool.name: tool for tool in tools}
    found = _first(text, known)
    if found is None:
        return Action(text=_thought(text))
    name, start, end = found
    arguments = _arguments(_inside(text[end:]), known.get(name))
    return Action(
        text=_thought(text[:start]), tool_calls=(ToolCall(name=name, arguments=arguments),)
    )


def text_parameter(tool: ToolSpec) -> str | None:
    """Return the parameter that an argument without a name is for.

    The only required one; else the only one; else the last that takes words.
    """
    parameters: dict[str, Json] = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", []) if name in parameters]
    if len(required) == 1:
        return str(required[0])
    if len(required) > 1:
        return None
    wordy = [name for name, schema in parameters.items() if _takes_words(schema)]
    return next(iter(parameters if len(parameters) == 1 else wordy[-1:]), None)


def _first(text: str, known: dict[str, ToolSpec]) -> tuple[str, int, int] | None:
    """Return the called name and where the call and its argument begin."""
    lines = [(match.group(1), match.start(), match.end()) for match in _LINE.finditer(text)]
    called = next((found for found in lines if found[0] in known), None)
    if called is None and known:
        names = "|".join(re.escape(name) for name in known)
        inline = re.search(rf"(?<![\w.-])({names})\[", text)
        called = inline and (inline.group(1), inline.start(), inline.end())
    return called or next(iter(lines), None)


def _inside(rest: str) -> str:
    """Return what is in the brackets: to the last one of the line, else to the next of any."""
    line = rest.partition("\n")[0]
    if "]" in line:
        return line.rpartition("]")[0]
    return rest.partition("]")[0]


def _arguments(given: str, tool: ToolSpec | None) -> dict[str, Json] | str:
    if tool is None:
        return given
    parameters: dict[str, Json] = tool.parameters.get("properties", {})
    named = leading_object(given)
    if named is not None and not given[named[1] :].strip() and named[0].keys() <= set(parameters):
        return named[0]
    name = text_parameter(tool)
    if name is None:
        return given if given.strip() else {}
    if not given.strip() and name not in tool.parameters.get("required", []):
        return {}
    return {name: _value(given, parameters[name])}


def _value(given: str, schema: Json) -> Json:
    if _takes_words(schema):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _takes_words(schema: Json) -> bool:
    options = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return any(option.get("type") == "string" for option in options)


def _thought(text: str) -> str:
    return _LABEL.sub("", text, count=1).strip()
