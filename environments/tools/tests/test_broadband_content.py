import json
from datetime import datetime

import pytest

from agentgym_tools.broadband import domain, generator
from agentgym_tools.broadband.catalogue import NOW, months_later
from agentgym_tools.broadband.connection import Session, Signal, connection
from agentgym_tools.state import State

SITUATIONS = generator.situations()


def test_the_generator_makes_the_shipped_content() -> None:
    assert generator.text(generator.build()) == generator.CONTENT.read_text("utf-8")


def test_another_seed_makes_other_content() -> None:
    assert generator.build(1) != generator.build(2)
    assert generator.situations(1) != generator.situations(2)


def test_every_record_names_records_that_exist() -> None:
    content = domain().base.collections
    for key, customer in content["customers"].items():
        line, home = content["lines"][customer["line"]], content["homes"][customer["home"]]
        assert line["customer"] == home["customer"] == key
        assert line["plan"] in content["plans"]
    assert all(
        invoice["customer"] in content["customers"] for invoice in content["invoices"].values()
    )
    for key, visit in content["visits"].items():
        slot = content["slots"][visit["slot"]]
        assert slot["visit"] == key
        assert slot["area"] == content["customers"][visit["customer"]]["address"]["area"]


def test_names_numbers_and_serials_are_unambiguous() -> None:
    content = domain().base.collections
    customers = content["customers"].values()
    names = [customer["name"] for customer in customers]
    names += [name for customer in customers for name in customer["authorised"]]
    assert len(set(names)) == len(names)
    serials = [
        home["optical_box"]["serial"] for home in content["homes"].values() if home["optical_box"]
    ]
    assert len(set(serials)) == len(serials)


def test_a_customer_with_nothing_wrong_has_a_good_connection() -> None:
    state = State(domain().base)
    for customer in SITUATIONS["plain"]:
        found = connection(state, customer)
        assert found.good
        assert all(link.good for link in found.devices.values())


@pytest.mark.parametrize(
    ("situation", "signal", "session"),
    [
        ("fibre loose", Signal.NONE, Session.NONE),
        ("box off", Signal.NONE, Session.NONE),
        ("box replaced", Signal.UNREGISTERED, Session.NONE),
        ("wan loose", Signal.GOOD, Session.NONE),
        ("fibre break", Signal.NONE, Session.NONE),
        ("phone cable loose", Signal.NONE, Session.NONE),
        ("filter missing", Signal.UNSTABLE, Session.UP),
        ("profile too fast", Signal.UNSTABLE, Session.UP),
        ("noisy copper", Signal.UNSTABLE, Session.UP),
        ("login wrong", Signal.GOOD, Session.REJECTED),
        ("login locked", Signal.GOOD, Session.LOCKED),
        ("security lock", Signal.GOOD, Session.LOCKED),
        ("under provisioned", Signal.GOOD, Session.UP),
        ("suspended unpaid", Signal.GOOD, Session.SUSPENDED),
        ("router frozen", Signal.GOOD, Session.NONE),
        ("outage fibre", Signal.NONE, Session.NONE),
        ("outage dsl", Signal.NONE, Session.NONE),
    ],
)
def test_a_fault_shows_in_the_connection(situation: str, signal: Signal, session: Session) -> None:
    state = State(domain().base)
    for customer in SITUATIONS[situation]:
        found = connection(state, customer)
        assert (found.signal, found.session, found.good) == (signal, session, False)


def test_the_policy_states_the_time_and_the_end_of_notice() -> None:
    assert f"{NOW:%A}, {NOW.day} {NOW:%B %Y}, {NOW:%H:%M}" in " ".join(domain().policy.split())
    assert "1 April 2026 (30 days from today)" in " ".join(domain().policy.split())


@pytest.mark.parametrize(
    ("months", "day"), [(12, "2027-03-02"), (24, "2028-03-02"), (10, "2027-01-02")]
)
def test_a_term_ends_on_the_same_day_of_the_month(months: int, day: str) -> None:
    assert months_later(NOW.date(), months).isoformat() == day


def test_a_term_from_the_31st_ends_on_the_28th() -> None:
    assert months_later(datetime(2025, 12, 31).date(), 2).isoformat() == "2026-02-28"


def test_the_file_holds_one_record_a_line() -> None:
    lines = generator.CONTENT.read_text("utf-8").splitlines()
    assert json.loads("\n".join(lines))
    assert sum('"pin"' in line for line in lines) == len(domain().base.collections["customers"])
