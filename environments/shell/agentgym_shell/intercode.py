"""InterCode's reward for bash, as a formula over changed files and outputs.

Source: Yang et al., "InterCode: Standardizing and Benchmarking Interactive Coding with Execution
Feedback" (2023), and `BashEnv.get_reward` of the repository princeton-nlp/intercode, whose rounding
of each part to two decimals is left out.
"""

import math
import re
from collections import Counter
from typing import NamedTuple

from agentgym_shell.trees import Entry, Tree

_WEIGHT = 0.33
_BASE = 0.01
_TOKEN = re.compile(r"\w\w+")


class Parts(NamedTuple):
    """The parts of the reward; but for the first each from 0 to 0.33.

    Attributes:
        base: Always 0.01.
        file_diff: How alike the sets of changes are, whatever was written.
        file_content: The share of changes added on both sides that have the same content, which
            InterCode tells by MD5 and this by SHA-256.
        output: How alike the two outputs are.
    """

    base: float
    file_diff: float
    file_content: float
    output: float


def intercode_parts(
    *, initial: Tree, agent: Tree, gold: Tree, agent_output: str, gold_output: str
) -> Parts:
    """Return the parts of InterCode's reward.

    Args:
        initial: The files before anything was done.
        agent: The files as the agent left them.
        gold: The files as they should be.
        agent_output: What the agent saw last, or answered.
        gold_output: What it should be.
    """
    made, wanted = changes(initial, agent), changes(initial, gold)
    common = [change for change in made.keys() & wanted.keys() if change[1] == "??"]
    equal = sum(made[change] == wanted[change] for change in common)
    return Parts(
        base=_BASE,
        file_diff=_WEIGHT * (1 - math.erf(len(made.keys() ^ wanted.keys()))),
        file_content=_WEIGHT * (equal / len(common) if common else 1.0),
        output=_WEIGHT * similarity(agent_output, gold_output),
    )


def changes(initial: Tree, now: Tree) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return what `git status --short` would list, with the content of each file it stands for.

    Files and links count, folders by what is in them. A folder that held no file before is one
    change with all in it.

    Returns:
        By path and status (`??` added, `M`, `D`), the files' paths and contents.
    """
    before, after = _tracked(initial), _tracked(now)
    known = {path[:end] for path in before for end in _slashes(path)}
    found: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for path in before:
        if path not in after:
            found[path, "D"] = ()
        elif _seen(before[path]) != _seen(after[path]):
            found[path, "M"] = ((path, after[path].content),)
    for path in sorted(after.keys() - before.keys()):
        top = next((path[:end] for end in _slashes(path) if path[:end] not in known), path)
        found[top, "??"] = (*found.get((top, "??"), ()), (path, after[path].content))
    return found


def similarity(one: str, other: str) -> float:
    """Return the cosine of two texts' TF-IDF vectors, as scikit-learn's defaults make them.

    Tokens are words of two letters or more in lower case; a token in `d` of the 2 texts weighs
    its count times `ln(3 / (1 + d)) + 1`. Without any token, equal texts have 1, others 0.
    """
    counts = [Counter(_TOKEN.findall(text.lower())) for text in (one, other)]
    if not counts[0] and not counts[1]:
        return float(one == other)
    if counts[0] == counts[1]:
        return 1.0
    return _cosine(*counts)


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    rare = math.log(3 / 2) + 1  # of a token in one text; one in both weighs ln(1) + 1 = 1

    def norm(mine: Counter[str], theirs: Counter[str]) -> float:
        return math.sqrt(sum((n * (1 if w in theirs else rare)) ** 2 for w, n in mine.items()))

    product = sum(count * other[word] for word, count in one.items() if word in other)
    return product / (norm(one, other) * norm(other, one)) if product else 0.0


def _tracked(tree: Tree) -> dict[str, Entry]:
    return {path: entry for path, entry in tree.items() if entry.kind in ("file", "link")}


def _seen(entry: Entry) -> tuple[str, str, bool]:
    """Return what git sees of a file."""
    return entry.kind, entry.content, bool(entry.mode & 0o100)


def _slashes(path: str) -> list[int]:
    return [end for end, letter in enumerate(path) if letter == "/" and end]
