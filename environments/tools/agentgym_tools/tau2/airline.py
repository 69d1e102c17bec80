"""The airline domain's tools: flights, customers and reservations."""

from collections.abc import Sequence
from typing import Any

from agentgym.errors import ToolError
from agentgym_tools.state import Record
from agentgym_tools.tau2.airline_records import (
    Cabin,
    Certificate,
    FlightInfo,
    FlightType,
    Insurance,
    Passenger,
    Payment,
    Reservation,
)
from agentgym_tools.tau2.airline_search import AIRPORTS, direct_flights, onestop_flights
from agentgym_tools.tau2.toolkit import Tau2Toolkit, parsed
from agentgym_tools.toolkit import reads, writes

NOW = "2024-05-15T15:00:00"
"""The domain's only moment, which its policy names."""

NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
INSURANCE_PRICE = 30
BAGGAGE_PRICE = 50


class AirlineTools(Tau2Toolkit):
    """What an airline agent can do."""

    @writes
    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: FlightType,
        cabin: Cabin,
        flights: list[FlightInfo | dict[str, Any]],
        passengers: list[Passenger | dict[str, Any]],
        payment_methods: list[Payment | dict[str, Any]],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: Insurance,
    ) -> Record:
        """Book flights for a user.

        Args:
            user_id: The user who books, such as 'sara_doe_496'.
            origin: The IATA code of the city to leave from, such as 'SFO'.
            destination: The IATA code of the city to go to, such as 'JFK'.
            flight_type: 'one_way' or 'round_trip'.
            cabin: 'basic_economy', 'economy' or 'business'.
            flights: Every flight of the trip.
            passengers: Everyone who flies.
            payment_methods: What is paid with, and how much with each.
            total_baggages: The number of checked bags.
            nonfree_baggages: How many of them have to be paid for.
            insurance: Whether to add travel insurance.
        """
        chosen = parsed(FlightInfo, flights)
        travellers = parsed(Passenger, passengers)
        payments = parsed(Payment, payment_methods)
        user = self._user(user_id)
        booking = Reservation(
            reservation_id=self._new_reservation_id(),
            user_id=user_id,
            origin=origin,
            destination=destination,
            flight_type=flight_type,
            cabin=cabin,
            flights=[],
            passengers=list(travellers),
            payment_history=list(payments),
            created_at=NOW,
            total_baggages=total_baggages,
            nonfree_baggages=nonfree_baggages,
            insurance=insurance,
        ).model_dump()
        count = len(travellers)
        booking["flights"] = [self._seats(flight, cabin, count) for flight in chosen]
        price = _total(booking["flights"], count)
        if insurance == "yes":
            price += INSURANCE_PRICE * count
        price += BAGGAGE_PRICE * nonfree_baggages
        _check_payments(user, payments, price)
        self._pay(user_id, payments)
        for flight in booking["flights"]:
            with self.state.edit("flights", flight["flight_number"]) as changed:
                changed["dates"][flight["date"]]["available_seats"][cabin] -= count
        self.state.put("reservations", booking["reservation_id"], booking)
        with self.state.edit("users", user_id) as changed:
            changed["reservations"].append(booking["reservation_id"])
        return self._reservation(booking["reservation_id"])

    @writes
    def cancel_reservation(self, reservation_id: str) -> Record:
        """Cancel a whole reservation and refund what was paid.

        Args:
            reservation_id: The reservation id, such as 'ZFA04Y'.
        """
        self._reservation(reservation_id)
        with self.state.edit("reservations", reservation_id) as changed:
            paid = changed["payment_history"]
            paid += [_payment(entry["payment_id"], -entry["amount"]) for entry in paid]
            changed["status"] = "cancelled"
        return self._reservation(reservation_id)

    @reads
    def get_reservation_details(self, reservation_id: str) -> Record:
        """Look up a reservation.

        Args:
            reservation_id: The reservation id, such as '8JX2WO'.
        """
        return self._reservation(reservation_id)

    @reads
    def get_user_details(self, user_id: str) -> Record:
        """Look up a user: profile, payment methods and reservations.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
        """
        return self._user(user_id)

    @reads
    def list_all_airports(self) -> list[dict[str, str]]:
        """List every airport with its city."""
        return [{"iata": code, "city": city} for code, city in AIRPORTS.items()]

    @reads
    def search_direct_flight(self, origin: str, destination: str, date: str) -> list[Record]:
        """Find flights between two cities on a date that can be booked.

        Args:
            origin: The airport to leave from, such as 'JFK'.
            destination: The airport to go to, such as 'LAX'.
            date: The date as YYYY-MM-DD, such as '2024-01-01'.
        """
        return direct_flights(self.state, date, origin=origin, destination=destination)

    @reads
    def search_onestop_flight(self, origin: str, destination: str, date: str) -> list[list[Record]]:
        """Find pairs of flights with one change between two cities that can be booked.

        Args:
            origin: The airport to leave from, such as 'JFK'.
            destination: The airport to go to, such as 'LAX'.
            date: The date to leave on as YYYY-MM-DD, such as '2024-05-01'.
        """
        return onestop_flights(self.state, date, origin=origin, destination=destination)

    @writes
    def send_certificate(self, user_id: str, amount: int) -> str:
        """Send a user a travel certificate. Be careful: it is money.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
            amount: Its worth in dollars.
        """
        held = self._user(user_id)["payment_methods"]
        for new in NEW_CERTIFICATES:
            if new not in held:
                with self.state.edit("users", user_id) as changed:
                    changed["payment_methods"][new] = Certificate(
                        id=new, amount=amount
                    ).model_dump()
                return f"Certificate {new} added to user {user_id} with amount {amount}."
        raise ToolError("Too many certificates")

    @writes
    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> Record:
        """Change the number of bags of a reservation.

        Args:
            reservation_id: The reservation id, such as 'ZFA04Y'.
            total_baggages: The new number of checked bags.
            nonfree_baggages: How many of them have to be paid for.
            payment_id: A payment method of the user, such as 'credit_card_7815826'.
        """
        reservation = self._reservation(reservation_id)
        extra = max(0, nonfree_baggages - reservation["nonfree_baggages"])
        paid = self._charge(reservation["user_id"], payment_id, BAGGAGE_PRICE * extra)
        with self.state.edit("reservations", reservation_id) as changed:
            changed["payment_history"] += paid
            changed["total_baggages"] = total_baggages
            changed["nonfree_baggages"] = nonfree_baggages
        return self._reservation(reservation_id)

    @writes
    def update_reservation_flights(
        self,
        reservation_id: str,
        cabin: Cabin,
        flights: list[FlightInfo | dict[str, Any]],
        payment_id: str,
    ) -> Record:
        """Change the flights or the cabin of a reservation.

        Args:
            reservation_id: The reservation id, such as 'ZFA04Y'.
            cabin: The cabin that the whole reservation is to have.
            flights: Every flight of the new trip, also those that stay.
            payment_id: A payment method of the user, such as 'credit_card_7815826'.
        """
        chosen = parsed(FlightInfo, flights)
        reservation = self._reservation(reservation_id)
        count = len(reservation["passengers"])
        booked = [self._kept_or_new(reservation, cabin, flight) for flight in chosen]
        price = _total(booked, count) - _total(reservation["flights"], count)
        paid = self._charge(reservation["user_id"], payment_id, price)
        with self.state.edit("reservations", reservation_id) as changed:
            changed["payment_history"] += paid
            changed["flights"] = booked
            changed["cabin"] = cabin
        return self._reservation(reservation_id)

    @writes
    def update_reservation_passengers(
        self, reservation_id: str, passengers: list[Passenger | dict[str, Any]]
    ) -> Record:
        """Change who flies; their number stays.

        Args:
            reservation_id: The reservation id, such as 'ZFA04Y'.
            passengers: Everyone who is to fly.
        """
        travellers = parsed(Passenger, passengers)
        reservation = self._reservation(reservation_id)
        if len(travellers) != len(reservation["passengers"]):
            raise ToolError("Number of passengers does not match")
        with self.state.edit("reservations", reservation_id) as changed:
            changed["passengers"] = [passenger.model_dump() for passenger in travellers]
        return self._reservation(reservation_id)

    @reads
    def get_flight_status(self, flight_number: str, date: str) -> str:
        """Tell a flight's status on a date.

        Args:
            flight_number: The flight number.
            date: The date.
        """
        status: str = self._flight_on(flight_number, date)["status"]
        return status

    # What the tools share.

    def _user(self, user_id: str) -> Record:
        return self.record("users", user_id, f"User {user_id} not found")

    def _reservation(self, reservation_id: str) -> Record:
        missing = f"Reservation {reservation_id} not found"
        return self.record("reservations", reservation_id, missing)

    def _flight(self, number: str) -> Record:
        return self.record("flights", number, f"Flight {number} not found")

    def _flight_on(self, number: str, date: str) -> Record:
        dates = self._flight(number)["dates"]
        if date not in dates:
            raise ToolError(f"Flight {number} not found on date {date}")
        on_date: Record = dates[date]
        return on_date

    def _new_reservation_id(self) -> str:
        for new in NEW_RESERVATIONS:
            if self.state.get("reservations", new) is None:
                return new
        raise ToolError("Too many reservations")

    def _seats(self, chosen: FlightInfo, cabin: Cabin, count: int) -> Record:
        """Return a flight as it is booked, where it has seats for everyone."""
        number, date = chosen.flight_number, chosen.date
        flight, on_date = self._flight(number), self._flight_on(number, date)
        if on_date["status"] != "available":
            raise ToolError(f"Flight {number} not available on date {date}")
        if on_date["available_seats"][cabin] < count:
            raise ToolError(f"Not enough seats on flight {number}")
        return {
            "flight_number": number,
            "origin": flight["origin"],
            "destination": flight["destination"],
            "date": date,
            "price": on_date["prices"][cabin],
        }

    def _kept_or_new(self, reservation: Record, cabin: Cabin, chosen: FlightInfo) -> Record:
        """Return a flight that stays at the price it was booked for, or book it anew."""
        if cabin == reservation["cabin"]:
            for flight in reservation["flights"]:
                if (flight["flight_number"], flight["date"]) == (
                    chosen.flight_number,
                    chosen.date,
                ):
                    kept: Record = flight
                    return kept
        return self._seats(chosen, cabin, len(reservation["passengers"]))

    def _charge(self, user_id: str, payment_id: str, price: int) -> list[Record]:
        """Take a price, or give back a negative one; return the payment, none for nothing."""
        methods = self._user(user_id)["payment_methods"]
        if payment_id not in methods:
            raise ToolError("Payment method not found")
        method = methods[payment_id]
        if method["source"] == "certificate":
            raise ToolError("Certificate cannot be used to update reservation")
        if method["source"] == "gift_card":
            if method["amount"] < price:
                raise ToolError("Gift card balance is not enough")
            with self.state.edit("users", user_id) as changed:
                changed["payment_methods"][payment_id]["amount"] -= price
        return [_payment(payment_id, price)] if price != 0 else []

    def _pay(self, user_id: str, payments: Sequence[Payment]) -> None:
        """Take checked payments; a certificate is used up by any."""
        with self.state.edit("users", user_id) as changed:
            methods = changed["payment_methods"]
            for payment in payments:
                method = methods.get(payment.payment_id)
                if method is None:  # a certificate that was named twice
                    raise ToolError(f"Payment method {payment.payment_id} not found")
                if method["source"] == "gift_card":
                    method["amount"] -= payment.amount
                elif method["source"] == "certificate":
                    del methods[payment.payment_id]


def _payment(payment_id: str, amount: int) -> Record:
    return Payment(payment_id=payment_id, amount=amount).model_dump()


def _total(flights: Sequence[Record], count: int) -> int:
    prices: list[int] = [flight["price"] for flight in flights]
    return sum(prices) * count


def _check_payments(user: Record, payments: Sequence[Payment], price: int) -> None:
    for payment in payments:
        method = user["payment_methods"].get(payment.payment_id)
        if method is None:
            raise ToolError(f"Payment method {payment.payment_id} not found")
        if method["source"] != "credit_card" and method["amount"] < payment.amount:
            raise ToolError(f"Not enough balance in payment method {payment.payment_id}")
    paid = sum(payment.amount for payment in payments)
    if paid != price:
        raise ToolError(f"Payment amount does not add up, total price is {price}, but paid {paid}")
