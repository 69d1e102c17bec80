"""Reads ReAct text as models really write it: bold labels, code fences, made-up observations."""

import re

from agentgym.json_text import leading_object
from agentgym.types import Action, Json, ToolCall

# Anchored at a line's start, with no two unbounded runs in a row: linear in any text.
_LABEL = re.compile(
    r"^[ \t>*_#`]*(thought|action[ \t]input|action|observation|answer|final[ \t]answer)"
    r"(?:[ \t]\d{1,3})?[*_`]{0,3}:[*_`]{0,3}",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"\s*```\w*")
_CALL = re.compile(r"([\w.-]+)[ \t]*(?=[({])")
_NO_INPUT = frozenset({"", "none", "null", "n/a", "()"})
_NAMES = ("action", "name", "tool")
_INPUTS = ("action_input", "arguments", "input", "parameters")


def parse_react(text: str) -> Action:
    """Read the first action, or the words where there is none.

    Args:
        text: `Thought: ...`, `Action: tool`, `Action Input: {...}`, each label on a line of its
            own. What follows the first action is left out: the model made it up. Whatever
            stands before a closing `</think>` is left out too.

    Returns:
        The thought and one call; or words alone, from an `Answer:` or the whole text. An input
        that is not a JSON object stays text.
    """
    text = text.rpartition("</think>")[2]
    labels = list(_LABEL.finditer(text))
    for index, label in enumerate(labels):
        match _kind(label):
            case "action":
                call = _read_call(text, label.end(), labels[index + 1 :])
                return Action(text=_thought(text[: label.start()]), tool_calls=(call,))
            case "answer":
                return Action(text=_until_observation(text[label.end() :]))
            case _:
                continue
    return Action(text=_thought(_until_observation(text)))


def _kind(label: re.Match[str]) -> str:
    return " ".join(label.group(1).lower().split()).removeprefix("final ")


def _thought(text: str) -> str:
    label = _LABEL.match(text.lstrip())
    if label and _kind(label) == "thought":
        return text.lstrip()[label.end() :].strip()
    return text.strip()


def _until_observation(text: str) -> str:
    for label in _LABEL.finditer(text):
        if _kind(label) == "observation" and text[: label.start()].strip():
            return text[: label.start()].strip()
    return text.strip()


def _read_call(text: str, start: int, later: list[re.Match[str]]) -> ToolCall:
    """Read the call whose name is expected at `start`, before the labels in `later`."""
    whole = leading_object(_unfence(text[start:]))
    if whole is not None and (call := _from_object(whole[0])) is not None:
        return call
    head = text[start : later[0].start() if later else len(text)].strip()
    if later and _kind(later[0]) == "action input":
        begin, end = later[0].end(), later[1].start() if len(later) > 1 else len(text)
        return ToolCall(name=_bare(head), arguments=_read_input(text[begin:], text[begin:end]))
    if (inline := _CALL.match(head)) is not None:
        given = head[inline.end() :]
        if given.startswith("("):
            given = given[1:].rstrip().removesuffix(")")
        return ToolCall(name=inline.group(1), arguments=_read_input(given, given))
    name, _, given = head.partition("\n")
    return ToolCall(name=_bare(name), arguments=_read_input(given, given))


def _read_input(text: str, up_to_label: str) -> dict[str, Json] | str:
    """Read arguments from the beginning of `text`, or give back what stands before a label."""
    found = leading_object(_unfence(text))
    if found is not None:
        return found[0]
    raw = _unfence(up_to_label).strip().removesuffix("```").strip()
    return {} if raw.lower() in _NO_INPUT else raw


def _from_object(value: dict[str, Json]) -> ToolCall | None:
    """Read an action written as one object that holds both name and input."""
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    given: dict[str, Json] = next(
        (value[key] for key in _INPUTS if isinstance(value.get(key), dict)), {}
    )
    return ToolCall(name=name, arguments=given) if name else None


def _unfence(text: str) -> str:
    fence = _FENCE.match(text)
    return text[fence.end() :] if fence else text


def _bare(name: str) -> str:
    """Strip what models put around a tool's name."""
    return name.strip().strip("`*\"'[]").removesuffix("()").strip()
