import copy
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from agentgym_tools.frozen import freeze, thaw

VALUE = {"name": "Ann", "cards": [{"left": 2.5}, None, True], "note": "ü"}

CHANGES_TO_A_DICT: list[Callable[[Any], object]] = [
    lambda d: d.__setitem__("name", "Bo"),
    lambda d: d.__delitem__("name"),
    lambda d: d.__ior__({"name": "Bo"}),
    lambda d: d.__init__({"name": "Bo"}),
    lambda d: d.clear(),
    lambda d: d.pop("name"),
    lambda d: d.popitem(),
    lambda d: d.setdefault("new", 1),
    lambda d: d.update(name="Bo"),
]
CHANGES_TO_A_LIST: list[Callable[[Any], object]] = [
    lambda v: v.__setitem__(0, 1),
    lambda v: v.__setitem__(slice(None), []),
    lambda v: v.__delitem__(0),
    lambda v: v.__iadd__([1]),
    lambda v: v.__imul__(2),
    lambda v: v.__init__([1]),
    lambda v: v.append(1),
    lambda v: v.clear(),
    lambda v: v.extend([1]),
    lambda v: v.insert(0, 1),
    lambda v: v.pop(),
    lambda v: v.remove(None),
    lambda v: v.reverse(),
    lambda v: v.sort(key=str),
]


def _attempt(change: Callable[[Any], object], target: object) -> None:
    with suppress(TypeError):  # a second __init__ is the one call that does nothing instead
        change(target)


@pytest.mark.parametrize("change", CHANGES_TO_A_DICT)
@pytest.mark.parametrize("path", [[], ["cards", 0]])
def test_no_method_changes_a_frozen_object(
    change: Callable[[Any], object], path: list[Any]
) -> None:
    frozen = target = freeze({**VALUE, "cards": [{"name": "inner"}]})
    before = json.dumps(frozen)
    for part in path:
        target = target[part]
    _attempt(change, target)
    assert json.dumps(frozen) == before


@pytest.mark.parametrize("change", CHANGES_TO_A_LIST)
def test_no_method_changes_a_frozen_array(change: Callable[[Any], object]) -> None:
    frozen = freeze(VALUE)
    _attempt(change, frozen["cards"])
    assert frozen == VALUE


def test_every_method_of_dict_and_list_that_could_change_is_refused() -> None:
    frozen = freeze(VALUE)
    for target in (frozen, frozen["cards"]):
        plain = type(target).__mro__[1]
        inherited = {
            name for name in vars(plain) if getattr(type(target), name) is vars(plain)[name]
        }
        assert not inherited & {
            *("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__init__"),
            *("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse"),
            *("setdefault", "sort", "update"),
        }


def test_frozen_values_are_plain_json_to_everyone_else() -> None:
    frozen = freeze(VALUE)
    assert frozen == VALUE
    assert json.dumps(frozen) == json.dumps(VALUE)
    assert copy.copy(frozen) is copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    with pytest.raises(TypeError):
        again["name"] = "Bo"


def test_a_thawed_copy_shares_nothing_that_changes() -> None:
    frozen = freeze(VALUE)
    plain = thaw(frozen)
    plain["cards"][0]["left"] = 0
    plain["cards"].append(1)
    assert frozen == VALUE
    assert type(plain) is dict
    assert type(plain["cards"]) is list
    assert type(plain["cards"][0]) is dict


@pytest.mark.parametrize("value", [{1: 2}, {"a": {2}}, [object()], b"bytes"])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        freeze(value)
