from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_tools.domain import Domain

# What calls of the small domains are made of, and what no call should be made of.
words = st.sampled_from(
    [
        *("#W1", "#W2", "m1", "m2", "card", "gift", "ann_lee_1", "no longer needed"),
        *("R1", "bo_kim_1", "F1", "2024-05-20", "SFO", "DEN", "economy", "business"),
        *("one_way", "no", "yes", "", "x", "\ud800", "2 + 2", "9**9**9"),
    ]
)
numbers = st.sampled_from([0, 1, -1, 100, 2.5, 10**30, float("nan")])
flights = st.fixed_dictionaries({"flight_number": words, "date": words})
people = st.fixed_dictionaries({"first_name": words, "last_name": words, "dob": words})
payments = st.fixed_dictionaries({"payment_id": words, "amount": numbers})
values = st.recursive(
    words | numbers | st.none() | st.booleans() | flights | people | payments,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("date"), inner),
    max_leaves=4,
)


@given(data=st.data())
def test_any_arguments_are_answered_and_a_wrong_call_changes_nothing(
    small_domain: Domain, data: st.DataObject
) -> None:
    desk = small_domain.open()
    for _ in range(3):
        tool = data.draw(st.sampled_from(list(small_domain.toolkit.declared().values())))
        names = list(tool.spec.parameters["properties"])
        arguments: dict[str, Any] = {name: data.draw(values) for name in names}
        before = desk.state.fingerprint()
        try:
            answer = desk.agent.call(tool.name, arguments)
        except ToolError as error:
            answer, changeable = str(error), False
        else:
            changeable = tool.effect == "write"
        assert answer
        assert changeable or desk.state.fingerprint() == before
