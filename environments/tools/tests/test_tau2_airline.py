import json
from typing import Any

import pytest

from agentgym.errors import ToolError
from agentgym_tools.domain import Desk

BO = {"first_name": "Bo", "last_name": "Kim", "dob": "1990-01-01"}
F1 = {"flight_number": "F1", "date": "2024-05-20"}
BOOKING: dict[str, Any] = {
    "user_id": "bo_kim_1",
    "origin": "SFO",
    "destination": "DEN",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [F1],
    "passengers": [BO],
    "payment_methods": [{"payment_id": "card", "amount": 100}],
    "total_baggages": 0,
    "nonfree_baggages": 0,
    "insurance": "no",
}
UPDATE: dict[str, Any] = {
    "reservation_id": "R1",
    "cabin": "economy",
    "flights": [F1],
    "payment_id": "card",
}


def call(desk: Desk, name: str, /, **arguments: Any) -> Any:
    return json.loads(desk.agent.call(name, arguments))


def fails(desk: Desk, name: str, /, **arguments: Any) -> str:
    """Make a call that has to be refused and change nothing; return the answer."""
    before = desk.state.fingerprint()
    with pytest.raises(ToolError) as raised:
        desk.agent.call(name, arguments)
    assert desk.state.fingerprint() == before
    return str(raised.value)


def methods(desk: Desk) -> Any:
    return call(desk, "get_user_details", user_id="bo_kim_1")["payment_methods"]


def test_a_booking_takes_seats_and_money_and_uses_up_certificates(airline: Desk) -> None:
    paid = [
        {"payment_id": "gift", "amount": 30},
        {"payment_id": "cert", "amount": 60},
        {"payment_id": "card", "amount": 190},
    ]
    booking = {
        **BOOKING,
        "passengers": [BO, BO],
        "payment_methods": paid,
        "nonfree_baggages": 1,
        "total_baggages": 1,
        "insurance": "no",
        "cabin": "economy",
    }
    paid[2]["amount"] = 160
    booked = call(airline, "book_reservation", **booking)
    assert booked["reservation_id"] == "HATHAT"
    assert booked["flights"] == [{**F1, "origin": "SFO", "destination": "DEN", "price": 100}]
    assert methods(airline)["gift"]["amount"] == 90.0
    assert "cert" not in methods(airline)
    flight = airline.state.get("flights", "F1")
    assert flight is not None
    assert flight["dates"]["2024-05-20"]["available_seats"]["economy"] == 0
    full = fails(airline, "book_reservation", **BOOKING)
    assert full == "Not enough seats on flight F1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"user_id": "no"}, "User no not found"),
        ({"flights": [{**F1, "flight_number": "F9"}]}, "Flight F9 not found"),
        ({"flights": [{**F1, "date": "2024-06-01"}]}, "Flight F1 not found on date 2024-06-01"),
        (
            {"flights": [{**F1, "date": "2024-05-14"}]},
            "Flight F1 not available on date 2024-05-14",
        ),
        ({"passengers": [BO, BO, BO]}, "Not enough seats on flight F1"),
        (
            {"insurance": "yes"},
            "Payment amount does not add up, total price is 130, but paid 100",
        ),
        ({"payment_methods": [{"payment_id": "x", "amount": 100}]}, "Payment method x not found"),
        (
            {"payment_methods": [{"payment_id": "gift", "amount": 121}]},
            "Not enough balance in payment method gift",
        ),
        (
            {"payment_methods": [{"payment_id": "cert", "amount": 50}] * 2},
            "Payment method cert not found",
        ),
        (
            {"flights": [{"flight_number": "F1"}]},
            "1 validation error for FlightInfo\ndate\n  Field required [type=missing, "
            "input_value={'flight_number': 'F1'}, input_type=dict]\n"
            "    For further information visit https://errors.pydantic.dev/2.14/v/missing",
        ),
        ({"flights": ["F1"]}, "'str' object has no attribute 'flight_number'"),
        (
            {"cabin": "first"},
            "1 validation error for Reservation\ncabin\n  Input should be 'business', 'economy' "
            "or 'basic_economy' [type=literal_error, input_value='first', input_type=str]\n"
            "    For further information visit https://errors.pydantic.dev/2.14/v/literal_error",
        ),
    ],
)
def test_what_cannot_be_booked(airline: Desk, change: dict[str, Any], message: str) -> None:
    assert fails(airline, "book_reservation", **{**BOOKING, **change}) == message


def test_at_most_three_bookings_and_certificates(airline: Desk) -> None:
    for _ in range(3):
        call(airline, "book_reservation", **{**BOOKING, "flights": [], "payment_methods": []})
        answer = airline.agent.call("send_certificate", {"user_id": "bo_kim_1", "amount": 100})
    assert answer == "Certificate certificate_3221324 added to user bo_kim_1 with amount 100."
    assert methods(airline)["certificate_3221324"]["amount"] == 100.0
    assert fails(airline, "book_reservation", **BOOKING) == "Too many reservations"
    again = fails(airline, "send_certificate", user_id="bo_kim_1", amount=100)
    assert again == "Too many certificates"


def test_a_cancelled_reservation_is_paid_back(airline: Desk) -> None:
    cancelled = call(airline, "cancel_reservation", reservation_id="R1")
    assert [paid["amount"] for paid in cancelled["payment_history"]] == [80, -80]
    assert cancelled["status"] == "cancelled"


def test_a_kept_flight_keeps_its_price_and_another_cabin_does_not(airline: Desk) -> None:
    kept = call(airline, "update_reservation_flights", **UPDATE)
    assert [flight["price"] for flight in kept["flights"]] == [80]
    assert len(kept["payment_history"]) == 1
    up = call(airline, "update_reservation_flights", **{**UPDATE, "cabin": "business"})
    assert up["payment_history"][-1] == {"payment_id": "card", "amount": 220}
    down = call(
        airline,
        "update_reservation_flights",
        **{**UPDATE, "cabin": "basic_economy", "payment_id": "gift"},
    )
    assert down["payment_history"][-1] == {"payment_id": "gift", "amount": -250}
    assert methods(airline)["gift"]["amount"] == 370.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reservation_id": "R9"}, "Reservation R9 not found"),
        ({"payment_id": "no"}, "Payment method not found"),
        ({"payment_id": "cert"}, "Certificate cannot be used to update reservation"),
        ({"payment_id": "gift", "cabin": "business"}, "Gift card balance is not enough"),
        ({"cabin": "first"}, "'first'"),
        ({"flights": [{**F1, "date": "2024-05-15"}]}, "Flight F1 not available on date 2024-05-15"),
    ],
)
def test_what_cannot_be_updated(airline: Desk, change: dict[str, Any], message: str) -> None:
    assert fails(airline, "update_reservation_flights", **{**UPDATE, **change}) == message


def test_only_further_bags_that_are_not_free_are_paid_for(airline: Desk) -> None:
    bags = {"reservation_id": "R1", "payment_id": "gift"}
    name = "update_reservation_baggages"
    more = call(airline, name, **bags, total_baggages=3, nonfree_baggages=2)
    assert more["payment_history"][-1] == {"payment_id": "gift", "amount": 100}
    fewer = call(airline, name, **bags, total_baggages=1, nonfree_baggages=0)
    assert len(fewer["payment_history"]) == 2
    assert methods(airline)["gift"]["amount"] == 20.0
    text = fails(airline, name, **bags, total_baggages="3", nonfree_baggages="2")
    assert text == "unsupported operand type(s) for -: 'str' and 'int'"


def test_passengers_change_but_not_their_number(airline: Desk) -> None:
    eve = {**BO, "first_name": "Eve"}
    name = "update_reservation_passengers"
    assert call(airline, name, reservation_id="R1", passengers=[eve])["passengers"] == [eve]
    more = fails(airline, name, reservation_id="R1", passengers=[eve, eve])
    assert more == "Number of passengers does not match"


def test_connections_wait_for_the_first_flight_to_land(airline: Desk) -> None:
    route = {"origin": "SFO", "destination": "JFK"}
    pairs = call(airline, "search_onestop_flight", **route, date="2024-05-20")
    assert [[leg["flight_number"] for leg in pair] for pair in pairs] == [
        ["F1", "F2"],
        ["F4", "F2"],
        ["F4", "F3"],
    ]
    assert [leg["date"] for leg in pairs[1]] == ["2024-05-20", "2024-05-21"]
    last = call(airline, "search_onestop_flight", **route, date="2024-05-21")
    assert [[leg["flight_number"] for leg in pair] for pair in last] == [["F1", "F2"]]
    direct = {"origin": "SFO", "destination": "DEN"}
    assert call(airline, "search_direct_flight", **direct, date="2024-05-15") == []
    assert call(airline, "search_direct_flight", **direct, date="someday") == []


def test_airports_and_statuses(airline: Desk) -> None:
    airports = call(airline, "list_all_airports")
    assert {"iata": "SFO", "city": "San Francisco"} in airports
    on = {"flight_number": "F1", "date": "2024-05-15"}
    assert airline.agent.call("get_flight_status", on) == "delayed"
    missing = fails(airline, "get_flight_status", flight_number="F9", date="2024-05-15")
    assert missing == "Flight F9 not found"
