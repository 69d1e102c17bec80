"""Looking for flights that can be booked."""

from collections.abc import Mapping
from datetime import date as calendar_date
from datetime import timedelta

from agentgym_tools.state import Record, State

AIRPORTS: Mapping[str, str] = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}
"""The cities of the airports that the flights name; the data has codes only."""

_NEXT_DAY = "+1"


def direct_flights(
    state: State,
    date: str,
    *,
    origin: str,
    destination: str | None = None,
    leave_after: str = "",
    shown_date: str | None = None,
) -> list[Record]:
    """Return the flights on a date that have seats for sale.

    Args:
        state: The airline's state.
        date: The date as YYYY-MM-DD.
        origin: The airport they leave from.
        destination: The airport they go to; any by default.
        leave_after: The earliest time of departure as HH:MM:SS.
        shown_date: The date to put on them; none by default.
    """
    found: list[Record] = []
    for _, flight in state.items("flights"):
        if flight["origin"] != origin or destination not in (None, flight["destination"]):
            continue
        on_date = flight["dates"].get(date)
        if on_date is None or on_date["status"] != "available":
            continue
        if flight["scheduled_departure_time_est"] >= leave_after:
            found.append(_offer(flight, on_date, shown_date))
    return found


def onestop_flights(
    state: State, date: str, *, origin: str, destination: str
) -> list[list[Record]]:
    """Return pairs of flights where the second leaves after the first has arrived.

    A first flight that arrives on the day after is followed by one of that day.
    """
    pairs: list[list[Record]] = []
    for first in direct_flights(state, date, origin=origin, shown_date=date):
        arrival = first["scheduled_arrival_time_est"]
        overnight = arrival.endswith(_NEXT_DAY)
        day = _day_after(date) if overnight else date
        onward = direct_flights(
            state,
            day,
            origin=first["destination"],
            destination=destination,
            leave_after=arrival.removesuffix(_NEXT_DAY),
            shown_date=day,
        )
        pairs += [[first, second] for second in onward]
    return pairs


def _day_after(date: str) -> str:
    return (calendar_date.fromisoformat(date) + timedelta(days=1)).isoformat()


def _offer(flight: Record, on_date: Record, shown_date: str | None) -> Record:
    return {
        "flight_number": flight["flight_number"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "status": "available",
        "scheduled_departure_time_est": flight["scheduled_departure_time_est"],
        "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
        "date": shown_date,
        "available_seats": on_date["available_seats"],
        "prices": on_date["prices"],
    }
