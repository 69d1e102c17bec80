from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.types import Json
from agentgym_tools.base import Base
from agentgym_tools.comparing import alike, differences, holds
from agentgym_tools.domain import Domain
from agentgym_tools.script import Expect
from agentgym_tools.state import State
from agentgym_tools.toolkit import Toolkit

BASE = Base(
    {
        "members": {"m1": {"name": "Ann", "fees": 2.5, "loans": ["l1"]}, "m2": {"name": "Bo"}},
        "loans": {"l1": {"member": "m1", "book": "b1", "tags": ["a", "b"], "note": "x"}},
    }
)


def in_debt(state: State, key: str) -> Mapping[str, Json] | None:
    member = state.get("members", key)
    return None if member is None else {"debt": member.get("fees", 0) > 0}


DOMAIN = Domain(
    name="library",
    base=BASE,
    toolkit=Toolkit,
    policy="",
    unordered=frozenset({"tags"}),
    ignored=frozenset({"loans.note"}),
    derived={"debtors": in_debt},
)


def state(*puts: tuple[str, str, dict[str, Json]]) -> State:
    made = State(BASE)
    for collection, key, record in puts:
        made.put(collection, key, record)
    return made


def loan(**fields: Json) -> dict[str, Json]:
    return {"member": "m1", "book": "b1", "tags": ["a", "b"], "note": "x", **fields}


def test_equal_states_do_not_differ() -> None:
    assert differences(DOMAIN, State(BASE), State(BASE)) == ()


def test_numbers_are_compared_with_tolerance() -> None:
    ours = state(("members", "m1", {"name": "Ann", "fees": 0.1 + 0.2, "loans": ["l1"]}))
    gold = state(("members", "m1", {"name": "Ann", "fees": 0.3, "loans": ["l1"]}))
    assert not differences(DOMAIN, ours, gold)
    assert alike(25, 25.0)
    assert not alike(25, 25.01)
    assert not alike(True, 1)
    assert not alike(9876543210, 9876543211)
    assert not alike(10**400, 1.0)


def test_bags_have_no_order_and_other_lists_do() -> None:
    assert not differences(DOMAIN, state(("loans", "l1", loan(tags=["b", "a"]))), State(BASE))
    assert differences(DOMAIN, state(("loans", "l1", loan(tags=["a", "a"]))), State(BASE))
    ours = state(("members", "m2", {"name": "Bo", "loans": ["l1", "l2"]}))
    gold = state(("members", "m2", {"name": "Bo", "loans": ["l2", "l1"]}))
    assert differences(DOMAIN, ours, gold)


def test_ignored_fields_and_free_collections_do_not_count() -> None:
    assert not differences(DOMAIN, state(("loans", "l1", loan(note="y"))), State(BASE))
    changed = state(("loans", "l1", loan(book="b2")))
    assert not differences(DOMAIN, changed, State(BASE), free=("loans",))
    assert differences(DOMAIN, changed, State(BASE)) == ("loans l1 was changed",)


def test_ids_that_were_made_up_count_by_what_they_stand_for() -> None:
    ours = state(
        ("loans", "new-1", loan(book="b9")),
        ("loans", "new-2", loan(book="b8")),
        ("members", "m2", {"name": "Bo", "loans": ["new-2", "new-1"]}),
    )
    gold = state(
        ("loans", "new-1", loan(book="b8")),
        ("loans", "new-2", loan(book="b9")),
        ("members", "m2", {"name": "Bo", "loans": ["new-1", "new-2"]}),
    )
    assert not differences(DOMAIN, ours, gold)
    crossed = ours.fork()
    crossed.put("members", "m2", {"name": "Bo", "loans": ["new-1", "new-2"]})
    assert differences(DOMAIN, crossed, gold)


def test_what_is_missing_or_too_much_is_named() -> None:
    gold = State(BASE)
    gold.delete("loans", "l1")
    assert differences(DOMAIN, State(BASE), gold) == ("loans l1 was not changed",)
    assert differences(DOMAIN, gold, State(BASE)) == ("loans l1 was changed",)
    extra = state(("loans", "l2", loan()))
    assert differences(DOMAIN, extra, State(BASE)) == ("loans l2 was changed",)


def test_statements_about_the_state() -> None:
    now = State(BASE)
    assert holds(DOMAIN, now, Expect(collection="members", key="m1", fields={"loans.0": "l1"}))
    assert holds(DOMAIN, now, Expect(collection="loans", fields={"book": "b1"}))
    assert holds(DOMAIN, now, Expect(collection="loans", fields={"book": "b2"}, absent=True))
    assert not holds(DOMAIN, now, Expect(collection="loans", fields={"book": "b1"}, absent=True))
    assert holds(DOMAIN, now, Expect(collection="debtors", key="m1", fields={"debt": True}))
    assert holds(DOMAIN, now, Expect(collection="debtors", key="m3", absent=True))
    with pytest.raises(KeyError, match="names a key"):
        holds(DOMAIN, now, Expect(collection="debtors", fields={"debt": True}))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(values, values)
def test_being_alike_is_being_equal_where_no_number_is_near_another(one: Json, other: Json) -> None:
    assert alike(one, one)
    assert alike(one, other) == alike(other, one)
    if alike(one, other):
        assert repr(one) == repr(other) or one == other


@given(st.permutations([f"b{n}" for n in range(4)]))
def test_new_records_are_alike_in_whatever_order_they_were_made(books: list[str]) -> None:
    ours = state(*(("loans", f"new-{i}", loan(book=b)) for i, b in enumerate(books)))
    gold = state(*(("loans", f"new-{i}", loan(book=f"b{i}")) for i in range(4)))
    assert not differences(DOMAIN, ours, gold)
