"""Final states compared: what an episode left against what the gold calls lead to."""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agentgym.types import Json
from agentgym_tools.domain import Domain
from agentgym_tools.script import Expect
from agentgym_tools.state import State

TOLERANCE = 1e-6
"""Absolute difference up to which two numbers are one; money is in cents at the finest."""


def differences(
    domain: Domain, state: State, gold: State, free: Collection[str] = ()
) -> tuple[str, ...]:
    """Return where two states over one base differ, as words for people; none where they agree.

    Numbers are compared with tolerance, the domain's unordered lists as bags, and ids that the
    tools made up by what they stand for, not by how they read.

    Args:
        domain: Whose states they are.
        state: The one to judge.
        gold: The one that is right.
        free: Collections that are left out.
    """
    comparison = _Comparison(domain, state, gold)
    return tuple(comparison.found(free))


def alike(one: Json, other: Json) -> bool:
    """Whether two JSON values are the same, numbers with tolerance."""
    return _Alike(frozenset(), {})(one, other)


def holds(domain: Domain, state: State, expect: Expect) -> bool:
    """Whether a statement is true of a state.

    Raises:
        KeyError: The domain has no such collection.
    """
    return any(_fits(record, expect) for record in _records(domain, state, expect)) ^ expect.absent


def _records(domain: Domain, state: State, expect: Expect) -> Iterator[Mapping[str, Any]]:
    name, key = expect.collection, expect.key
    derive = domain.derived.get(name)
    if derive is not None and key is None:
        raise KeyError(f"{name!r} is derived, so a statement about it names a key")
    if derive is None and key is None:
        yield from (record for _, record in state.items(name))
        return
    found = derive(state, key or "") if derive else state.get(name, key or "")
    if found is not None:
        yield found


def _fits(record: Mapping[str, Any], expect: Expect) -> bool:
    return all(alike(_at(record, path), value) for path, value in expect.fields.items())


def _at(record: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(record, Mapping):
            record = record.get(part)
        elif isinstance(record, list | tuple) and part.isdigit() and int(part) < len(record):
            record = record[int(part)]
        else:
            return None
    return record


class _Alike:
    """Equality of JSON values as grading means it.

    Args:
        unordered: Names of fields whose lists are bags.
        ids: Ids made up in the episode, each with the gold's for the same thing.
    """

    def __init__(self, unordered: Collection[str], ids: Mapping[str, str]) -> None:
        self._unordered = unordered
        self._ids = ids

    def __call__(self, one: Json, other: Json, field: str = "") -> bool:
        if isinstance(one, Mapping):
            return isinstance(other, Mapping) and self._records(one, other)
        if isinstance(one, list | tuple):
            return isinstance(other, list | tuple) and self._lists(one, other, field)
        if isinstance(one, bool) or isinstance(other, bool):
            return one is other
        if isinstance(one, int) and isinstance(other, int):
            return one == other  # exactly, as ids are, and however large
        if isinstance(one, int | float) and isinstance(other, int | float):
            return _close(one, other)
        if isinstance(one, str):
            return bool(self._ids.get(one, one) == other)
        return bool(one == other)

    def _records(self, one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
        renamed = {self._ids.get(name, name): value for name, value in one.items()}
        if renamed.keys() != other.keys():
            return False
        return all(self(value, other[name], name) for name, value in renamed.items())

    def _lists(self, one: Collection[Json], other: Collection[Json], field: str) -> bool:
        if len(one) != len(other):
            return False
        if field not in self._unordered:
            return all(self(a, b) for a, b in zip(one, other, strict=True))
        left = list(other)
        for value in one:
            place = next((i for i, rest in enumerate(left) if self(value, rest)), None)
            if place is None:
                return False
            del left[place]
        return True


def _close(one: float, other: float) -> bool:
    try:
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=TOLERANCE)
    except OverflowError:  # an integer beyond all floats
        return False


class _Comparison:
    def __init__(self, domain: Domain, state: State, gold: State) -> None:
        self._domain = domain
        self._ours, self._golds = state.changes(), gold.changes()
        self._ids = self._same_things()
        self._alike = _Alike(domain.unordered, self._ids)

    def found(self, free: Collection[str]) -> Iterator[str]:
        for name in sorted(self._ours.keys() | self._golds.keys()):
            if name in free:
                continue
            ours = {self._ids.get(k, k): v for k, v in self._ours.get(name, {}).items()}
            golds = self._golds.get(name, {})
            for key in sorted(ours.keys() | golds.keys()):
                one = ours[key] if key in ours else self._before(name, key)
                other = golds[key] if key in golds else self._before(name, key)
                if not self._same(name, one, other):
                    yield _described(name, key, one, other, self._before(name, key))

    def _before(self, name: str, key: str) -> Mapping[str, Any] | None:
        return self._domain.base.collections[name].get(key)

    def _same(self, name: str, one: Any, other: Any) -> bool:
        if one is None or other is None:
            return one is other
        return self._alike(self._graded(name, one), self._graded(name, other))

    def _graded(self, name: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
        ignored = self._domain.ignored
        return {key: value for key, value in record.items() if f"{name}.{key}" not in ignored}

    def _same_things(self) -> dict[str, str]:
        """Pair the ids that were made up here with the gold's, collection by collection."""
        ids: dict[str, str] = {}
        for name in sorted(self._ours.keys() & self._golds.keys()):
            left = self._new(name, self._golds[name])
            for key in self._new(name, self._ours[name]):
                match = _Alike(self._domain.unordered, ids)
                for twin in sorted(left, key=lambda twin: twin != key):  # its own name first
                    ids[key] = twin
                    one, other = self._ours[name][key], self._golds[name][twin]
                    if match(self._graded(name, one or {}), self._graded(name, other or {})):
                        left.remove(twin)
                        break
                    del ids[key]
        return {key: twin for key, twin in ids.items() if key != twin}

    def _new(self, name: str, records: Mapping[str, Any]) -> list[str]:
        base = self._domain.base.collections[name]
        return [key for key in sorted(records) if key not in base and records[key] is not None]


def _described(name: str, key: str, one: Any, other: Any, before: Any) -> str:
    if other == before:
        return f"{name} {key} was changed"
    if one == before:
        return f"{name} {key} was not changed"
    if one is None or other is None:
        return f"{name} {key} {'is missing' if one is None else 'should be gone'}"
    fields = [f for f in other if f not in one or not alike(one[f], other[f])]
    return f"{name} {key} was changed otherwise: {', '.join(fields) or 'other fields'}"
