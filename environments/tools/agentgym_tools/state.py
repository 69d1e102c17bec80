"""One episode's state: a shared base and the few records that differ from it."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from agentgym.errors import UsageError
from agentgym_tools.base import Base, Key, canonical_text
from agentgym_tools.frozen import FrozenDict, freeze, thaw

Record: TypeAlias = Mapping[str, Any]
"""A record as it is read: it and all it holds refuse to be changed."""


class StateSnapshot(NamedTuple):
    """A state at one moment; it can be pickled and restored in another process.

    Attributes:
        base: The digest of the base it differs from.
        changes: See `State.changes`.
    """

    base: str
    changes: Mapping[str, Mapping[str, Record | None]]


class _Touched(NamedTuple):
    """A record that differs from the base's; both None where it is gone."""

    record: FrozenDict | None
    text: str | None


class State:
    """Named collections of JSON records, where a write copies one record.

    Making, forking and hashing one costs in proportion to the records that differ from the
    base, however large that is. Everything read is frozen; a record is changed in `edit`.
    A record that is set back to what the base holds counts as untouched, so that the
    fingerprint depends on the content alone.

    Args:
        base: The content to start from, which stays as it is.
    """

    __slots__ = ("_base", "_touched")

    def __init__(self, base: Base) -> None:
        self._base = base
        self._touched: dict[Key, _Touched] = {}

    # Reading.

    def get(self, collection: str, key: str) -> Record | None:
        """Return a record; None where there is none.

        Raises:
            KeyError: There is no such collection.
        """
        touched = self._touched.get((collection, key))
        return touched.record if touched else self._base.collections[collection].get(key)

    def items(self, collection: str) -> Iterator[tuple[str, Record]]:
        """Yield a collection's ids and records: the base's in its order, then new ones by id."""
        base = self._base.collections[collection]
        touched = {key: part for (name, key), part in self._touched.items() if name == collection}
        for key, record in base.items():
            current: Record | None = touched[key].record if key in touched else record
            if current is not None:
                yield key, current
        for key in sorted(touched.keys() - base.keys()):
            added = touched[key].record
            if added is not None:
                yield key, added

    # Writing.

    def put(self, collection: str, key: str, record: Record) -> None:
        """Add or replace a record by a copy of `record`.

        Raises:
            KeyError: There is no such collection.
            TypeError: The record is not a JSON object.
        """
        if not isinstance(record, dict) or not isinstance(key, str):
            raise TypeError("a record is a JSON object under a text id")
        frozen: FrozenDict = freeze(record)
        self._touch((collection, key), _Touched(frozen, canonical_text(frozen)))

    def delete(self, collection: str, key: str) -> None:
        """Remove a record.

        Raises:
            KeyError: There is no such collection or record.
        """
        if self.get(collection, key) is None:
            raise KeyError(key)
        self._touch((collection, key), _Touched(None, None))

    @contextmanager
    def edit(self, collection: str, key: str) -> Iterator[dict[str, Any]]:
        """Lend a changeable copy of a record, and put it back when the block ends well.

        Do not nest blocks for one record: the outer one would undo the inner.

        Raises:
            KeyError: There is no such collection or record.
        """
        record = self.get(collection, key)
        if record is None:
            raise KeyError(key)
        copy: dict[str, Any] = thaw(record)
        yield copy
        self.put(collection, key, copy)

    def _touch(self, key: Key, touched: _Touched) -> None:
        if touched.text == self._base.text(key):
            self._touched.pop(key, None)
        else:
            self._touched[key] = touched

    # The whole state.

    def changes(self) -> Mapping[str, Mapping[str, Record | None]]:
        """Return what differs from the base, by collection and id; None is a removed record."""
        found: dict[str, dict[str, Record | None]] = {}
        for name, key in sorted(self._touched):
            found.setdefault(name, {})[key] = self._touched[name, key].record
        frozen: Mapping[str, Mapping[str, Record | None]] = freeze(found)
        return frozen

    def snapshot(self) -> StateSnapshot:
        """Return the state as it is now; later changes do not reach it."""
        return StateSnapshot(self._base.digest, self.changes())

    def restore(self, snapshot: StateSnapshot) -> None:
        """Go back to a snapshot.

        Raises:
            UsageError: It was taken over other data; nothing was changed.
        """
        if snapshot.base != self._base.digest:
            raise UsageError(
                "This snapshot was taken over other data than the state's.",
                remedy="Restore it with the data files it was taken with.",
            )
        restored = State(self._base)
        for name, records in snapshot.changes.items():
            for key, record in records.items():
                if record is None:
                    restored.delete(name, key)
                else:
                    restored.put(name, key, record)
        self._touched = restored._touched

    def fork(self) -> "State":
        """Return a state with the same content that goes its own way."""
        twin = State(self._base)
        twin._touched = self._touched.copy()
        return twin

    def become(self, other: "State") -> None:
        """Take the content of a fork of this state: the cheap way back.

        Raises:
            UsageError: It is a state over another base.
        """
        if other._base is not self._base:
            raise UsageError("A state can only become one over the same base.")
        self._touched = other._touched.copy()

    def fingerprint(self) -> str:
        """Return a string that is the same exactly where base and content are the same."""
        digest = hashlib.sha256(self._base.digest.encode())
        for key in sorted(self._touched):
            entry = canonical_text({"key": key, "text": self._touched[key].text})
            digest.update(entry.encode(errors="surrogatepass") + b"\n")
        return digest.hexdigest()[:32]

    def canonical_sha256(self) -> str:
        """Hash the whole content, which takes milliseconds; see `Base.sha256`."""
        return self._base.sha256({key: part.text for key, part in self._touched.items()})

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Return a plain copy of the whole content."""
        names = self._base.collections
        return {name: {key: thaw(part) for key, part in self.items(name)} for name in names}
