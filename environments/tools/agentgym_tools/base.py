"""The pristine content of a domain, read once in a process and shared by every episode."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from agentgym_tools.frozen import FrozenDict, freeze

Key = tuple[str, str]
"""A collection's name and a record's id."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical_text(record: Mapping[str, object]) -> str:
    """Return the one JSON text of a record, whatever the order of its keys."""
    return _encode(record)


class Base:
    """Named collections of JSON records that nothing changes.

    Args:
        collections: Records by id, by collection. It is copied.

    Raises:
        TypeError: A record is not a JSON object, or holds what is not JSON.
    """

    def __init__(self, collections: Mapping[str, Mapping[str, Mapping[str, object]]]) -> None:
        self.collections: Mapping[str, Mapping[str, FrozenDict]] = freeze(dict(collections))
        for name, records in self.collections.items():
            for key, record in records.items():
                if not isinstance(record, FrozenDict):
                    raise TypeError(f"record {key!r} of {name!r} is not a JSON object")
        self._texts: dict[Key, str] = {}

    def text(self, key: Key) -> str | None:
        """Return a record's canonical text; None where there is no such record."""
        text = self._texts.get(key)
        if text is None:
            record = self.collections[key[0]].get(key[1])
            if record is not None:
                text = self._texts[key] = canonical_text(record)
        return text

    @cached_property
    def digest(self) -> str:
        """The hash of the whole content."""
        return self.sha256({})

    def sha256(self, changes: Mapping[Key, str | None]) -> str:
        """Hash the content with some records replaced, as one canonical JSON text.

        It is the sha256 of `json.dumps(content, sort_keys=True, separators=(",", ":"),
        ensure_ascii=False)`.

        Args:
            changes: Canonical texts of the records that differ; None for one that is gone.
        """
        by_name: dict[str, dict[str, str | None]] = {}
        for (name, key), text in changes.items():
            by_name.setdefault(name, {})[key] = text
        digest = hashlib.sha256(b"{")
        for number, (name, pages) in enumerate(self._books.items()):
            digest.update(f"{',' if number else ''}{_encode(name)}:{{".encode())
            digest.update(pages.written(by_name.get(name, {})))
            digest.update(b"}")
        digest.update(b"}")
        return digest.hexdigest()

    @cached_property
    def _books(self) -> dict[str, "_Pages"]:
        return {name: self._pages(name) for name in sorted(self.collections)}

    def _pages(self, name: str) -> "_Pages":
        keys = sorted(self.collections[name])
        return _Pages.of(keys, [_entry(key, self.text((name, key)) or "") for key in keys])


def _entry(key: str, text: str) -> bytes:
    # Lone surrogates, which a model can write, have no UTF-8 form of their own.
    return f"{_encode(key)}:{text}".encode(errors="surrogatepass")


class _Pages(NamedTuple):
    """A collection as it is written.

    Attributes:
        keys: Its ids in order.
        joined: Its entries in that order, with commas between them.
        starts: Where each entry starts in `joined`; last, where one more would.
    """

    keys: list[str]
    joined: memoryview
    starts: list[int]

    @classmethod
    def of(cls, keys: list[str], entries: list[bytes]) -> "_Pages":
        starts = accumulate((len(entry) + 1 for entry in entries), initial=0)
        return cls(keys, memoryview(b",".join(entries)), list(starts))

    def written(self, changes: Mapping[str, str | None]) -> bytes | memoryview:
        """Return the entries with some replaced, added, or gone."""
        if not changes:
            return self.joined
        pieces: list[bytes | memoryview] = []
        done = 0
        for key in sorted(changes):
            place = bisect_left(self.keys, key)
            pieces += self._run(done, place)
            text = changes[key]
            if text is not None:
                pieces.append(_entry(key, text))
            done = place + (place < len(self.keys) and self.keys[place] == key)
        pieces += self._run(done, len(self.keys))
        return b",".join(pieces)

    def _run(self, first: int, end: int) -> list[memoryview]:
        return [self.joined[self.starts[first] : self.starts[end] - 1]] if first < end else []
