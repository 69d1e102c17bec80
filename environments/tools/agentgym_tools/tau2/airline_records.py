"""The records of the airline domain, in the order in which their fields are written."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Cabin = Literal["business", "economy", "basic_economy"]
FlightType = Literal["round_trip", "one_way"]
Insurance = Literal["yes", "no"]


class Available(BaseModel):
    """A flight that can be booked, with seats and prices in dollars by cabin."""

    status: Literal["available"]
    available_seats: dict[Cabin, int]
    prices: dict[Cabin, int]


class Landed(BaseModel):
    """A flight that has arrived."""

    status: Literal["landed"]
    actual_departure_time_est: str
    actual_arrival_time_est: str


class Cancelled(BaseModel):
    """A flight that does not take place."""

    status: Literal["cancelled"]


class Expected(BaseModel):
    """A flight that is about to leave."""

    status: Literal["on time", "delayed"]
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


class Flying(BaseModel):
    """A flight in the air."""

    status: Literal["flying"]
    actual_departure_time_est: str
    estimated_arrival_time_est: str


FlightDate = Annotated[
    Available | Landed | Cancelled | Expected | Flying, Field(discriminator="status")
]


class Flight(BaseModel):
    """A flight number with what becomes of it on each date."""

    flight_number: str
    origin: str
    destination: str
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, FlightDate]


class UserName(BaseModel):
    """A user's name."""

    first_name: str
    last_name: str


class UserAddress(BaseModel):
    """Where a user lives."""

    address1: str
    address2: str | None = None
    city: str
    country: str
    state: str
    zip: str


class CreditCard(BaseModel):
    """A credit card on file."""

    source: Literal["credit_card"] = "credit_card"
    id: str
    brand: str
    last_four: str


class GiftCard(BaseModel):
    """A gift card, with what is left on it in dollars."""

    source: Literal["gift_card"] = "gift_card"
    id: str
    amount: float


class Certificate(BaseModel):
    """A travel certificate, with its worth in dollars."""

    source: Literal["certificate"] = "certificate"
    id: str
    amount: float


PaymentMethod = Annotated[CreditCard | GiftCard | Certificate, Field(discriminator="source")]


class Passenger(BaseModel):
    """Who flies."""

    first_name: str = Field(description="The passenger's first name")
    last_name: str = Field(description="The passenger's last name")
    dob: str = Field(description="The date of birth as YYYY-MM-DD")


class User(BaseModel):
    """A customer."""

    user_id: str
    name: UserName
    address: UserAddress
    email: str
    dob: str
    payment_methods: dict[str, PaymentMethod]
    saved_passengers: list[Passenger]
    membership: Literal["regular", "silver", "gold"]
    reservations: list[str]


class FlightInfo(BaseModel):
    """A flight on a date."""

    flight_number: str = Field(description="The flight number, such as 'HAT001'")
    date: str = Field(description="The date as YYYY-MM-DD, such as '2024-05-01'")


class ReservationFlight(BaseModel):
    """A booked flight, with its price for one passenger in dollars."""

    flight_number: str
    origin: str
    destination: str
    date: str
    price: int


class Payment(BaseModel):
    """Money paid, or paid back where it is negative."""

    payment_id: str = Field(description="The payment method's id")
    amount: int = Field(description="The amount in dollars")


class Reservation(BaseModel):
    """A booking; its status is None while it stands."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: FlightType
    cabin: Cabin
    flights: list[ReservationFlight]
    passengers: list[Passenger]
    payment_history: list[Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Insurance
    status: Literal["cancelled"] | None = None


class AirlineContent(BaseModel):
    """The whole content of the domain."""

    flights: dict[str, Flight]
    users: dict[str, User]
    reservations: dict[str, Reservation]
