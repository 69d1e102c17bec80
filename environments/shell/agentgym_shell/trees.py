"""The files of a sandbox as values, compared on the host and never executed."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from re import compile as pattern_of
from typing import Literal, NamedTuple, TypeAlias

from agentgym_shell.tasks import DROPPINGS, StateCheck

_SHOWN = 10

Kind = Literal["file", "folder", "link", "pipe", "other"]


class Entry(NamedTuple):
    """One file, without its times and owner.

    Attributes:
        mode: Permission bits; 0 for a link, which has none of its own.
        content: A hash of a file's content, or where a link points.
    """

    kind: Kind
    mode: int
    content: str = ""


Tree: TypeAlias = Mapping[str, Entry]
"""Entries by absolute path."""


def tree_hash(tree: Tree) -> str:
    """Return a hash that is the same for the same entries in whatever order."""
    digest = hashlib.sha256()
    for path in sorted(tree):
        digest.update(repr((path, *tree[path])).encode())
    return digest.hexdigest()


def differences(found: Tree, expected: Tree, check: StateCheck) -> list[str]:
    """Return how files differ from what is expected, one line each, where a check looks."""
    mine, theirs = (dict(_selected(tree, check)) for tree in (found, expected))
    lines = [f"{path} is missing" for path in sorted(theirs.keys() - mine.keys())]
    lines += [f"{path} should not be there" for path in sorted(mine.keys() - theirs.keys())]
    for path in sorted(mine.keys() & theirs.keys()):
        problem = _problem(mine[path], theirs[path], modes=check.modes)
        if problem:
            lines.append(f"{path} {problem}")
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"and {more} more"] if more > 0 else lines


def selected(tree: Tree, check: StateCheck) -> Tree:
    """Return the entries a check looks at."""
    return dict(_selected(tree, check))


def _selected(tree: Tree, check: StateCheck) -> Iterator[tuple[str, Entry]]:
    ignored = pattern_of("|".join(_patterns((*DROPPINGS, *check.ignore))))
    roots = tuple(f"{path}/" for path in check.paths)
    for path, entry in tree.items():
        if f"{path}/".startswith(roots) and not ignored.match(path):
            yield path, entry


def _patterns(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield translate(path)
        yield translate(f"{path}/*")


def _problem(found: Entry, expected: Entry, *, modes: bool) -> str | None:
    if found.kind != expected.kind:
        return f"is a {found.kind}, not a {expected.kind}"
    if found.content != expected.content:
        return "has other content" if found.kind == "file" else f"points to {found.content}"
    if modes and found.mode != expected.mode:
        return f"has mode {found.mode:o}, not {expected.mode:o}"
    return None
