import copy
import hashlib
import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentgym.errors import UsageError
from agentgym_tools.base import Base
from agentgym_tools.state import State

CONTENT: dict[str, dict[str, Any]] = {
    "orders": {
        "#2": {"id": "#2", "items": [{"price": 25}], "status": "pending"},
        "#1": {"id": "#1", "items": [], "status": "ü"},
    },
    "users": {"ann": {"left": 1.0, "orders": ["#1", "#2"]}, "bo": {}},
    "empty": {},
}
BASE = Base(CONTENT)


def canonical(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


values = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 25, 25.0, -0.0, "", "ü", "#1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)
records = st.dictionaries(st.sampled_from(["id", "items", "status", "left"]), values, max_size=3)
collections = st.sampled_from(sorted(CONTENT))
keys = st.sampled_from(["#1", "#2", "#3", "ann", "bo", '"', "a,b"])


class AgainstPlainDicts(RuleBasedStateMachine):
    """A state does what deep-copied dicts do, and hashes as their whole JSON text would."""

    @initialize()
    def start(self) -> None:
        self.state = State(BASE)
        self.plain = copy.deepcopy(CONTENT)
        self.kept: list[tuple[Any, dict[str, Any]]] = []
        self.fingerprints: dict[bytes, str] = {canonical(CONTENT): State(BASE).fingerprint()}

    @rule(collection=collections, key=keys, record=records)
    def put(self, collection: str, key: str, record: dict[str, Any]) -> None:
        self.state.put(collection, key, record)
        self.plain[collection][key] = copy.deepcopy(record)
        record["items"] = "the caller's own record changed later"

    @rule(collection=collections, key=keys)
    def put_back_what_the_base_has(self, collection: str, key: str) -> None:
        original = CONTENT[collection].get(key)
        if original is not None:
            self.state.put(collection, key, original)
            self.plain[collection][key] = copy.deepcopy(original)

    @rule(collection=collections, key=keys)
    def delete(self, collection: str, key: str) -> None:
        if key in self.plain[collection]:
            self.state.delete(collection, key)
            del self.plain[collection][key]
        else:
            with pytest.raises(KeyError):
                self.state.delete(collection, key)

    @rule(collection=collections, key=keys, value=values, fails=st.booleans())
    def edit(self, collection: str, key: str, value: Any, fails: bool) -> None:
        if key not in self.plain[collection]:
            with pytest.raises(KeyError), self.state.edit(collection, key):
                pass
            return
        try:
            with self.state.edit(collection, key) as record:
                record.setdefault("items", [])
                record["items"] = [value, record["items"]]
                record["new"] = value
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            return
        changed = self.plain[collection][key]
        changed["items"] = [copy.deepcopy(value), changed.get("items", [])]
        changed["new"] = copy.deepcopy(value)

    @rule()
    def snapshot(self) -> None:
        snapshot = pickle.loads(pickle.dumps(self.state.snapshot()))
        self.kept.append((snapshot, copy.deepcopy(self.plain)))

    @rule()
    def fork(self) -> None:
        self.kept.append((self.state.fork(), copy.deepcopy(self.plain)))

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        kept, plain = data.draw(st.sampled_from(self.kept))
        if isinstance(kept, State):
            self.state.become(kept)
        else:
            self.state.restore(kept)
        self.plain = copy.deepcopy(plain)

    @invariant()
    def same_content(self) -> None:
        assert canonical(self.state.to_json()) == canonical(self.plain)
        for name, content in self.plain.items():
            assert {key for key, _ in self.state.items(name)} == set(content)
            for key in ["#1", "#2", "#3", "ann"]:
                assert self.state.get(name, key) == content.get(key)

    @invariant()
    def same_hash(self) -> None:
        text = canonical(self.plain)
        assert self.state.canonical_sha256() == hashlib.sha256(text).hexdigest()
        fingerprint = self.state.fingerprint()
        assert self.fingerprints.setdefault(text, fingerprint) == fingerprint
        assert len(set(self.fingerprints.values())) == len(self.fingerprints)

    @invariant()
    def the_base_is_as_it_was(self) -> None:
        assert State(BASE).to_json() == CONTENT
        assert canonical(BASE.collections) == canonical(CONTENT)

    @invariant()
    def changes_are_what_differs(self) -> None:
        expected = {
            (name, key)
            for name in CONTENT
            for key in {*CONTENT[name], *self.plain[name]}
            if canonical({"it": CONTENT[name].get(key)})
            != canonical({"it": self.plain[name].get(key)})
        }
        changes = self.state.changes()
        assert {(name, key) for name, part in changes.items() for key in part} == expected


TestAgainstPlainDicts = AgainstPlainDicts.TestCase
TestAgainstPlainDicts.settings = settings(max_examples=50, stateful_step_count=30)


def test_everything_read_refuses_to_be_changed() -> None:
    state = State(BASE)
    state.put("users", "new", {"orders": []})
    with state.edit("users", "bo") as record:
        record["orders"] = []
    read = [state.get("users", key) for key in ("ann", "bo", "new")]
    read += [record for _, record in state.items("users")]
    read += list(state.changes()["users"].values())
    before = state.fingerprint()
    for part in read:
        assert isinstance(part, dict)
        with pytest.raises(TypeError, match="cannot be changed"):
            part["orders"] = ["#9"]
        with pytest.raises(TypeError, match="cannot be changed"):
            part["orders"].append("#9")
    assert state.fingerprint() == before


def test_what_an_edit_lent_is_not_the_state_once_it_is_over() -> None:
    state = State(BASE)
    with state.edit("users", "ann") as record:
        record["left"] = 2.0
    before = state.fingerprint()
    record["left"] = 3.0
    record["orders"].clear()
    assert state.fingerprint() == before
    assert state.get("users", "ann") == {"left": 2.0, "orders": ["#1", "#2"]}


def test_a_state_does_not_share_what_it_was_made_from() -> None:
    content = copy.deepcopy(CONTENT)
    base = Base(content)
    content["users"]["ann"]["left"] = 99
    assert State(base).get("users", "ann") == CONTENT["users"]["ann"]


def test_a_fork_goes_its_own_way() -> None:
    state = State(BASE)
    state.delete("users", "bo")
    fork = state.fork()
    fork.put("users", "cy", {})
    state.put("users", "bo", {})
    assert state.fingerprint() == State(BASE).fingerprint()
    assert fork.changes() == {"users": {"bo": None, "cy": {}}}


def test_whole_and_decimal_numbers_are_different_content() -> None:
    state, other = State(BASE), State(BASE)
    state.put("users", "n", {"left": 25})
    other.put("users", "n", {"left": 25.0})
    assert state.fingerprint() != other.fingerprint()


def test_a_lone_surrogate_is_hashed() -> None:
    state = State(BASE)
    state.put("users", "\ud800", {"name": "\udfff"})
    assert state.fingerprint() != State(BASE).fingerprint()
    assert state.canonical_sha256() != State(BASE).canonical_sha256()


def test_another_base_is_another_fingerprint_and_its_snapshot_is_refused() -> None:
    other = State(Base({"users": {}}))
    assert other.fingerprint() != State(BASE).fingerprint()
    state = State(BASE)
    state.delete("users", "bo")
    before = state.fingerprint()
    with pytest.raises(UsageError, match="other data"):
        state.restore(other.snapshot())
    with pytest.raises(UsageError, match="same base"):
        state.become(other)
    assert state.fingerprint() == before


@pytest.mark.parametrize("record", [None, 1, "text", ["list"], {"a": {1}}, {1: 2}])
def test_what_is_no_record_is_refused(record: Any) -> None:
    state = State(BASE)
    with pytest.raises(TypeError):
        state.put("users", "x", record)
    with pytest.raises(TypeError):
        Base({"users": {"x": record}})
    assert not state.changes()


def test_an_unknown_collection_is_refused() -> None:
    state = State(BASE)
    with pytest.raises(KeyError):
        state.put("cats", "x", {})
    with pytest.raises(KeyError):
        state.get("cats", "x")
    with pytest.raises(KeyError):
        list(state.items("cats"))
