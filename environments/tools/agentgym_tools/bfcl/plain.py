"""The wheel's objects as JSON, for fingerprints: equal where later calls act equally."""

import random
from datetime import date, datetime
from typing import Any

from agentgym.types import Json

_UNSEEN = frozenset({"_last_modified", "_api_description"})
"""Attributes that no call shows or depends on; the first is of the clock."""


def plain(value: Any) -> Json:
    """Return an object and all it holds as a JSON value.

    Objects that are held twice, such as a file of two directories, are told apart from equal
    ones: a number stands where one comes again.
    """
    return _Walk().plain(value)


class _Walk:
    def __init__(self) -> None:
        self._met: dict[int, int] = {}

    def plain(self, value: Any) -> Json:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case list() | tuple():
                return [self.plain(part) for part in value]
            case dict():
                return [[self.plain(key), self.plain(part)] for key, part in value.items()]
            case set():
                return sorted((self.plain(part) for part in value), key=repr)
            case random.Random():
                return list(value.getstate()[1])
            case date() | datetime():
                return value.isoformat()
        return self._object(value)

    def _object(self, value: Any) -> Json:
        if id(value) in self._met:
            return {"again": self._met[id(value)]}
        self._met[id(value)] = len(self._met)
        parts = vars(value).items()
        return {
            "type": type(value).__name__,
            "parts": {name: self.plain(part) for name, part in parts if name not in _UNSEEN},
        }
