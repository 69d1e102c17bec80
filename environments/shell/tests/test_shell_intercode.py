"""InterCode's reward: the formula, its parts, and what git would call a change."""

import math
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_shell.intercode import Parts, changes, intercode_parts, similarity
from agentgym_shell.trees import Entry, Tree


def files(contents: Mapping[str, str]) -> Tree:
    return {path: Entry("file", 0o644, content) for path, content in contents.items()}


def literal(
    missing: int, extra: int, same_changes: int, diff_same: int, answer_similarity: float
) -> float:
    """The reward as `BashEnv.get_reward` writes it, without the rounding of its parts."""
    reward = 0.01
    reward += 0.33 * (1 - math.erf(missing + extra))
    p2_score = 0.33
    if diff_same > 0:
        p2_score = 0.33 * (same_changes / diff_same)
    reward += p2_score
    reward += 0.33 * answer_similarity
    return reward


def tfidf_cosine(one: str, other: str) -> float:
    """TfidfVectorizer's defaults written out: smooth idf, rows of length 1, their product."""
    documents = [re.findall(r"(?u)\b\w\w+\b", text.lower()) for text in (one, other)]
    vocabulary = sorted(set(documents[0]) | set(documents[1]))
    n = len(documents)
    rows = []
    for document in documents:
        row = []
        for term in vocabulary:
            df = sum(term in other_document for other_document in documents)
            idf = math.log((1 + n) / (1 + df)) + 1
            row.append(document.count(term) * idf)
        norm = math.sqrt(sum(value * value for value in row))
        rows.append([value / norm if norm else 0.0 for value in row])
    return float(sum(a * b for a, b in zip(*rows, strict=True)))


def reward(initial: Tree, agent: Tree, gold: Tree, outputs: tuple[str, str] = ("", "")) -> Parts:
    return intercode_parts(
        initial=initial,
        agent=agent,
        gold=gold,
        agent_output=outputs[0],
        gold_output=outputs[1],
    )


def test_all_right_is_one() -> None:
    before, after = files({"/work/a": "1"}), files({"/work/a": "2", "/work/b": "3"})
    parts = reward(before, after, after, ("12 files", "12 files"))
    assert sum(parts) == pytest.approx(1.0)
    assert parts == (0.01, 0.33, 0.33, 0.33)


@given(
    st.dictionaries(st.sampled_from(["/w/a", "/w/b", "/w/c"]), st.sampled_from("xy")),
    st.dictionaries(st.sampled_from(["/w/a", "/w/b", "/w/c"]), st.sampled_from("xy")),
    st.text("ab cd1", max_size=12),
    st.text("ab cd1", max_size=12),
)
def test_the_reward_is_the_formula(
    made: dict[str, str], wanted: dict[str, str], output: str, expected: str
) -> None:
    initial = files({"/w/old": "0"})
    parts = reward(
        initial, {**initial, **files(made)}, {**initial, **files(wanted)}, (output, expected)
    )
    common = made.keys() & wanted.keys()
    equal = sum(made[path] == wanted[path] for path in common)
    words = re.findall(r"\b\w\w+\b", output + " " + expected)
    alike = tfidf_cosine(output, expected) if words else float(output == expected)
    assert sum(parts) == pytest.approx(
        literal(
            len(wanted.keys() - made.keys()),
            len(made.keys() - wanted.keys()),
            equal,
            len(common),
            alike,
        )
    )


def test_every_change_missed_or_too_much_costs() -> None:
    before = files({"/w/old": "0"})
    gold = {**before, **files({"/w/a": "1"})}
    values = [
        sum(reward(before, {**before, **files(made)}, gold))
        for made in ({"/w/a": "1"}, {}, {"/w/b": "1"}, {"/w/b": "1", "/w/c": "1"})
    ]
    assert values[0] == pytest.approx(1.0)
    assert values[1] == pytest.approx(0.67 + 0.33 * (1 - math.erf(1)))
    assert values[2] == pytest.approx(0.67 + 0.33 * (1 - math.erf(2)))
    assert values[3] == pytest.approx(0.67 + 0.33 * (1 - math.erf(3)))


def test_the_content_of_modified_files_is_not_compared() -> None:
    before = files({"/w/a": "1"})
    parts = reward(before, files({"/w/a": "2"}), files({"/w/a": "3"}))
    assert sum(parts) == pytest.approx(1.0)


def test_changes_are_those_of_git_status() -> None:
    before = {
        "/w": Entry("folder", 0o755),
        "/w/gone": Entry("file", 0o644, "1"),
        "/w/same": Entry("file", 0o644, "1"),
        "/w/run": Entry("file", 0o644, "1"),
        "/w/read": Entry("file", 0o644, "1"),
        "/w/link": Entry("link", 0, "same"),
    }
    after = {
        "/w": Entry("folder", 0o700),
        "/w/same": Entry("file", 0o644, "1"),
        "/w/run": Entry("file", 0o755, "1"),
        "/w/read": Entry("file", 0o600, "1"),
        "/w/link": Entry("link", 0, "gone"),
        "/w/new": Entry("folder", 0o755),
        "/w/new/deep": Entry("folder", 0o755),
        "/w/new/deep/one": Entry("file", 0o644, "2"),
        "/w/new/two": Entry("file", 0o644, "3"),
        "/w/empty": Entry("folder", 0o755),
        "/w/pipe": Entry("pipe", 0o644),
    }
    assert changes(before, after) == {
        ("/w/gone", "D"): (),
        ("/w/run", "M"): (("/w/run", "1"),),
        ("/w/link", "M"): (("/w/link", "gone"),),
        ("/w/new", "??"): (("/w/new/deep/one", "2"), ("/w/new/two", "3")),
    }


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 1.0),
        ("7", "7", 1.0),
        ("7", "8", 0.0),
        ("7", "12", 0.0),
        ("alpha beta", "beta  ALPHA", 1.0),
        ("alpha", "beta", 0.0),
    ],
)
def test_similar_outputs(one: str, other: str, expected: float) -> None:
    assert similarity(one, other) == expected


@given(st.text("abcd 12_é\n", max_size=40), st.text("abcd 12_é\n", max_size=40))
def test_similarity_is_the_cosine_of_the_vectors(one: str, other: str) -> None:
    if re.findall(r"\b\w\w+\b", f"{one} {other}"):
        assert similarity(one, other) == pytest.approx(tfidf_cosine(one, other))
    assert 0 <= similarity(one, other) <= 1 + 1e-12
    assert similarity(one, one) == 1
