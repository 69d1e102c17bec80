"""The physical model: every fault can be mended, in any order, and looking changes nothing."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_tools.broadband import domain, generator
from agentgym_tools.broadband.connection import Reach, Signal, Tv, connection
from agentgym_tools.domain import Call, Desk
from agentgym_tools.replay import answer
from agentgym_tools.state import State
from agentgym_tools.toolkit import Effect, Toolkit

SITUATIONS = generator.situations()
OUT_OF_REACH = {
    *("fibre break", "copper break", "noisy copper", "outage fibre", "outage dsl"),
    *("security lock", "suspended abuse", "tv not in plan"),
}
"""What neither the agent's repairs nor the customer's mend."""
MENDABLE = [key for name, ids in SITUATIONS.items() if name not in OUT_OF_REACH for key in ids]
CUSTOMERS = [key for ids in SITUATIONS.values() for key in ids]


def repairs(state: State, customer: str) -> Iterator[Call]:
    """Yield everything that the troubleshooting guide knows for a customer's home."""
    record = state.get("customers", customer)
    assert record is not None
    home, line = state.get("homes", record["home"]), state.get("lines", record["line"])
    assert home is not None
    assert line is not None

    def agent(tool: str, **arguments: object) -> Call:
        return Call(name=tool, arguments={"customer_id": customer, **arguments})

    def user(tool: str, **arguments: object) -> Call:
        return Call(name=tool, arguments={"home": record["home"], **arguments}, requestor="user")

    yield agent("reprovision_line")
    yield agent("unlock_port")
    yield agent("reset_login")
    yield agent("restore_service")
    password = answer(domain().open(state.fork()), agent("reset_login")).text.split('"')[-2]
    yield user("enter_login", username=line["login"]["username"], password=password)
    yield user("pay_invoice", invoice_id=f"INV-{customer[1:]}-02")
    if line["technology"] == "dsl":
        yield agent("set_profile", profile="stable")
        yield user("fit_filter")
        yield user("fix_cable", cable="phone")
    else:
        serial = home["optical_box"]["serial"]
        yield agent("register_box", kind="optical box", serial=serial)
        yield user("switch_power", device="optical box", on=True)
        yield user("fix_cable", cable="fibre")
        yield user("fix_cable", cable="network")
    if home["set_top_box"]:
        serial = home["set_top_box"]["serial"]
        yield agent("register_box", kind="set-top box", serial=serial)
        yield user("fix_cable", cable="tv")
        yield user("restart", device="set-top box")
    yield user("switch_power", device="router", on=True)
    yield user("restart", device="router")
    free = next(number for number in (1, 6, 11) if number not in home["busy_channels"])
    yield user("set_wifi", on=True, channel=free, bands=["2.4", "5"])
    for name, device in home["devices"].items():
        if "cable" in device:
            yield user("fix_cable", cable="desktop", spare=True)
            continue
        yield user("allow_device", device=name)
        yield user("set_device", device=name, airplane=False, wifi=True)
        yield user("set_device", device=name, vpn=False, automatic_dns=True)
        password = home["router"]["wifi"]["password"]
        yield user("join_wifi", device=name, band="2.4", password=password)


@given(customer=st.sampled_from(MENDABLE), data=st.data())
def test_every_fault_is_mended_whatever_the_order(customer: str, data: st.DataObject) -> None:
    desk = domain().open()
    every = list(repairs(desk.state, customer))
    # A second round, as some repairs show only after others: a router that is off takes nothing.
    for _ in range(2):
        for call in data.draw(st.permutations(every)):
            answer(desk, call)
    answer(desk, next(call for call in every if call.name == "unlock_port"))
    found = connection(desk.state, customer)
    assert found.good
    assert all(link.good for link in found.devices.values()), found.devices
    assert found.tv in (Tv.NO_BOX, Tv.PICTURE)


@pytest.mark.parametrize("situation", sorted(OUT_OF_REACH - {"security lock", "suspended abuse"}))
def test_what_is_out_of_reach_stays_wrong(situation: str) -> None:
    desk = domain().open()
    for customer in SITUATIONS[situation]:
        for call in [*repairs(desk.state, customer)] * 2:
            answer(desk, call)
        found = connection(desk.state, customer)
        assert not found.good or found.tv is Tv.NOT_IN_PLAN


def looks(desk: Desk, customer: str) -> Iterator[Call]:
    record = desk.state.get("customers", customer)
    assert record is not None
    given = {
        "customer_id": customer,
        "home": record["home"],
        "text": record["name"],
        "area": record["address"]["area"],
        "technology": "dsl",
        "device": "laptop",
        "name": record["name"],
        "pin": "1",
    }
    sides: tuple[tuple[Toolkit | None, bool], ...] = ((desk.agent, False), (desk.user, True))
    for toolkit, own in sides:
        assert toolkit is not None
        for tool in toolkit.declared().values():
            if tool.effect is Effect.READ:
                arguments = {name: given[name] for name in tool.spec.parameters["properties"]}
                if tool.name == "read_label":
                    arguments["device"] = "router"
                yield Call(
                    name=tool.name, arguments=arguments, requestor="user" if own else "assistant"
                )


@pytest.mark.parametrize("customer", CUSTOMERS[::7])
def test_looking_changes_nothing(customer: str) -> None:
    desk = domain().open()
    before = connection(desk.state, customer)
    answers = [answer(desk, call) for call in looks(desk, customer)]
    assert len(answers) == 16
    assert not desk.state.changes()
    assert connection(desk.state, customer) == before


@given(customer=st.sampled_from(CUSTOMERS))
def test_a_speed_is_given_exactly_to_what_is_online(customer: str) -> None:
    found = connection(State(domain().base), customer)
    for link in found.devices.values():
        assert (link.speed.down > 0) == (link.reach is Reach.ONLINE)
        assert link.reach is Reach.ONLINE or not link.good
        assert link.speed.down <= found.speed.down


def test_a_missing_filter_costs_margin_that_a_slower_profile_can_make_up_for() -> None:
    state = State(domain().base)
    with state.edit("lines", "L1044") as line, state.edit("homes", "H1044") as home:
        line["loop"]["margin_db"] = 14.0
        home["phone_socket"]["filter"] = False
    assert connection(state, "C1044").signal is Signal.UNSTABLE
    with state.edit("homes", "H1044") as home:
        home["router"]["lease"]["profile"] = "stable"
    assert connection(state, "C1044").signal is Signal.GOOD
    assert connection(state, "C1044").speed.down == 75.0


def test_an_outage_is_for_its_area_and_technology_alone() -> None:
    state = State(domain().base)
    assert not connection(state, SITUATIONS["outage fibre"][0]).good
    assert connection(state, "C1099").good  # copper, in the same area


def test_the_connection_is_a_record_that_tasks_can_name() -> None:
    derive = domain().derived["connection"]
    record = derive(State(domain().base), "C1089")
    assert record is not None
    assert record["devices"]["laptop"]["reach"] == Reach.NO_NAMES
    assert derive(State(domain().base), "C9") is None
    with pytest.raises(KeyError):
        connection(State(domain().base), "C9")
