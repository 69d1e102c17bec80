"""What the linters cannot check: the size of files, reasons for exceptions, text that ages."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 400
LIBRARY = sorted(
    path
    for pattern in ("agentgym/**/*.py", "environments/*/agentgym_*/**/*.py", "examples/**/*.py")
    for path in ROOT.glob(pattern)
)
TESTS = sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("environments/*/tests/**/*.py")])

HISTORY = re.compile(
    r"\b(?:no longer|used to be|previously|formerly|TODO|FIXME|XXX|HACK|as before|was renamed)\b",
    re.IGNORECASE,
)
EXCEPTION = re.compile(r"(?:#\s*(?:noqa|type:\s*ignore))\b")
NAMED = re.compile(r"#\s*(?:noqa: [A-Z]+\d+|type: ignore\[[\w-]+)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def comments(path: Path) -> Iterator[tuple[int, str]]:
    source = io.StringIO(path.read_text("utf-8"))
    for token in tokenize.generate_tokens(source.readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("path", [*LIBRARY, *TESTS], ids=named)
def test_no_file_is_long(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def test_the_median_file_is_read_in_one_sitting() -> None:
    assert median(len(path.read_text("utf-8").splitlines()) for path in LIBRARY) <= 150


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_catching_everything_gives_its_reason(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if "noqa: BLE001" in line:
            assert re.search(r"noqa: BLE001 - \w+", line), f"{named(path)}:{number} gives no reason"


@pytest.mark.parametrize("path", [*LIBRARY, *TESTS], ids=named)
def test_exceptions_from_the_rules_name_the_rule(path: Path) -> None:
    vague = [
        number
        for number, comment in comments(path)
        if EXCEPTION.search(comment) and not NAMED.search(comment)
    ]
    assert not vague, f"{named(path)} lines {vague}"


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_comments_tell_no_history(path: Path) -> None:
    telling = [
        f"{named(path)}:{number} {comment}"
        for number, comment in comments(path)
        if HISTORY.search(comment)
    ]
    assert not telling
