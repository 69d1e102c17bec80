"""JSON values that cannot be changed, so that many states can share one copy of them.

They are dicts and lists still: they compare equal to plain ones and `json` writes them. Every
method that would change one raises; only a call that names the base class, such as
`dict.__setitem__(frozen, ...)`, gets around that, which no code does by mistake.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from agentgym.types import Json


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "this record is shared and cannot be changed; change it in `with state.edit(...)`"
    )


class FrozenDict(dict[str, Any]):
    """A JSON object that cannot be changed."""

    __slots__ = ()

    def __new__(cls, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> "FrozenDict":
        """Fill it here, as a second call of `__init__` must change nothing."""
        self = dict.__new__(cls)
        dict.update(self, items)
        return self

    def __init__(self, *_: object) -> None:
        pass

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, _: object) -> "FrozenDict":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


class FrozenList(list[Any]):
    """A JSON array that cannot be changed."""

    __slots__ = ()

    def __new__(cls, items: Iterable[Any] = ()) -> "FrozenList":
        """Fill it here, as a second call of `__init__` must change nothing."""
        self = list.__new__(cls)
        list.extend(self, items)
        return self

    def __init__(self, *_: object) -> None:
        pass

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __copy__(self) -> "FrozenList":
        return self

    def __deepcopy__(self, _: object) -> "FrozenList":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


def freeze(value: Json) -> Json:
    """Return a JSON value's frozen copy; what is frozen already is returned as it is.

    Raises:
        TypeError: It is not JSON: an object of another type, or a key that is not text.
    """
    if type(value) in _FIXED:
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} of a JSON object is not text")
        return FrozenDict([(key, freeze(part)) for key, part in value.items()])
    if isinstance(value, list | tuple):
        return FrozenList([freeze(part) for part in value])
    raise TypeError(f"{type(value).__name__} is not a JSON type")


_FIXED = frozenset({str, int, float, bool, type(None), FrozenDict, FrozenList})


def thaw(value: Json) -> Json:
    """Return a plain copy of a JSON value that shares nothing changeable with it."""
    if isinstance(value, dict):
        return {key: thaw(part) for key, part in value.items()}
    if isinstance(value, list):
        return [thaw(part) for part in value]
    return value
