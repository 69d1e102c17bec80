"""The clinic's records, as its content file and its tools have them.

Dates are "2026-03-02", moments "2026-03-02 09:00" in the clinic's own time, amounts whole euros.
Every record but a department's and a service's is known by an id with a letter before it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Date = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$")]
Matter = Literal["appointments", "prescriptions", "billing"]
"""What an adult can let someone else see to."""


class Part(BaseModel):
    """Base of the clinic's models: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Service(Part):
    """Something a department offers.

    Attributes:
        fee: What a visit costs.
        late_fee: What a visit that is cancelled late, or missed, costs.
        referral: Whether the policy asks for a referral.
        min_age: Youngest age in years on the day of the visit; None is any.
        max_age: Oldest age in years on the day of the visit; None is any.
        preparation: What the patient has to do or bring.
    """

    id: str
    name: str
    department: str
    fee: int
    late_fee: int
    referral: bool
    min_age: int | None
    max_age: int | None
    preparation: str


class Department(Part):
    """A department.

    Attributes:
        minutes: How long each of its visits takes.
        complaints_officer: Who answers complaints about it.
        reply_days: Within how many working days.
    """

    id: str
    name: str
    floor: int
    extension: str
    minutes: int
    complaints_officer: str
    reply_days: int


class Leave(Part):
    """Days on which a practitioner is away, both ends included."""

    first: Date
    last: Date


class Practitioner(Part):
    """Someone who sees patients.

    Attributes:
        services: Ids of the services they offer.
        takes_new_patients: Whether they see patients who never attended a visit with them.
    """

    id: str
    name: str
    department: str
    services: tuple[str, ...]
    languages: tuple[str, ...]
    takes_new_patients: bool
    leave: tuple[Leave, ...]


class Guardian(Part):
    """A child's parent or other guardian; the record keeps them when the child grows up."""

    name: str
    relation: str


class Representative(Part):
    """Someone an adult patient lets act for them, in some matters."""

    name: str
    relation: str
    may: tuple[Matter, ...]


class Patient(Part):
    """A patient."""

    id: str
    name: str
    date_of_birth: Date
    phone: str
    email: str
    postcode: str
    plan: Literal["standard", "plus"]
    registered_on: Date
    guardians: tuple[Guardian, ...]
    representatives: tuple[Representative, ...]


class Slot(Part):
    """A time at which a practitioner can see someone."""

    id: str
    practitioner: str
    start: Moment
    taken: bool


class Appointment(Part):
    """A visit: to come, done, missed or cancelled.

    Attributes:
        slot: The slot it takes; None where its time is past.
        moves: How often it was moved.
        referral: The referral it uses.
        late: Whether it was cancelled late.
    """

    id: str
    patient: str
    practitioner: str
    service: str
    start: Moment
    slot: str | None
    status: Literal["booked", "attended", "missed", "cancelled"]
    moves: int
    referral: str | None
    booked_on: Date
    late: bool


class Referral(Part):
    """Leave to be seen by a department.

    Attributes:
        visits: How many visits it is good for.
        used: How many were made or are booked.
    """

    id: str
    patient: str
    department: str
    issued_by: str
    issued_on: Date
    valid_until: Date
    visits: int
    used: int


class Invoice(Part):
    """What a patient was asked to pay.

    Attributes:
        kind: For a visit, for one that was missed, or for one that was cancelled late.
        waived_on: When it was let go.
    """

    id: str
    patient: str
    appointment: str
    kind: Literal["visit", "missed", "late"]
    amount: int
    issued_on: Date
    due_on: Date
    status: Literal["open", "paid", "waived"]
    waived_on: Date | None


class Prescription(Part):
    """A medicine that a patient takes for some time.

    Attributes:
        days: How long one issue lasts.
        renewals: How often it may be renewed.
        renewals_used: How often it was.
        last_issued_on: When it was last issued or renewed.
        review_by: The day by which the prescriber wants to see the patient.
    """

    id: str
    patient: str
    medicine: str
    controlled: bool
    prescriber: str
    days: int
    renewals: int
    renewals_used: int
    last_issued_on: Date
    review_by: Date
    status: Literal["active", "ended"]


class Waiting(Part):
    """A place on a waiting list.

    Attributes:
        practitioner: The one who is waited for; None is anyone who offers the service.
    """

    id: str
    patient: str
    service: str
    practitioner: str | None
    added_on: Date


class IdentityAlert(Part):
    """A note that someone could not show that they may act for a patient."""

    id: str
    patient: str
    at: Moment


class Handover(Part):
    """A conversation that was handed over to a person."""

    id: str
    summary: str
    at: Moment


class ClinicContent(Part):
    """All records, by id."""

    departments: dict[str, Department]
    services: dict[str, Service]
    practitioners: dict[str, Practitioner]
    patients: dict[str, Patient]
    slots: dict[str, Slot]
    appointments: dict[str, Appointment]
    referrals: dict[str, Referral]
    invoices: dict[str, Invoice]
    prescriptions: dict[str, Prescription]
    waiting: dict[str, Waiting]
    identity_alerts: dict[str, IdentityAlert]
    handovers: dict[str, Handover]
