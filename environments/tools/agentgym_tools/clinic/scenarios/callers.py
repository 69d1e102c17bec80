"""Who writes to the clinic, and what they tell of themselves when asked."""

from collections.abc import Mapping
from typing import NamedTuple

from agentgym_tools.clinic.calendar import day, said_date
from agentgym_tools.script import Fact
from agentgym_tools.state import Record

_NAME = ("full name", "name", "names", "who you are", "who i am speaking", "who is writing")
_BIRTH = (
    *("date of birth", "dates of birth", "birth date", "birthdate", "birthday", "born", "dob"),
    "birth dates",
)
_CONTACT = (
    *("phone number", "phone", "phone numbers", "telephone", "postcode", "postcodes"),
    *("post code", "postal code", "zip code"),
)


class Caller(NamedTuple):
    """A person who writes, and for whom.

    Attributes:
        patient: The patient's id.
        by: Who writes, where it is not the patient.
        proof: Which contact detail they give.
        born: The date of birth they give, where it is not the right one.
        contact: The contact detail they give, where it is not the right one.
    """

    patient: str
    by: str | None = None
    proof: str = "phone"
    born: str | None = None
    contact: str | None = None


def facts(callers: Mapping[Caller, Record]) -> tuple[Fact, ...]:
    """Return what a person tells when asked: of themselves, or of each patient they write for."""
    names = " ".join(_name(caller, record) for caller, record in callers.items())
    births = " ".join(_birth(caller, record) for caller, record in callers.items())
    contacts = " ".join(_contact(caller, record) for caller, record in callers.items())
    return (
        Fact(name="name", asked=_NAME, says=(names,)),
        Fact(name="date of birth", asked=_BIRTH, says=(births,)),
        Fact(name="contact", asked=_CONTACT, says=(contacts,)),
    )


def _name(caller: Caller, record: Record) -> str:
    if caller.by is None:
        return f"My name is {record['name']}."
    return f"I am {caller.by}, and this is about {record['name']}."


def _birth(caller: Caller, record: Record) -> str:
    born = caller.born or record["date_of_birth"]
    said = f"{said_date(born)} {day(born).year}"
    return f"I was born on {said}." if caller.by is None else f"{record['name']}: born on {said}."


def _contact(caller: Caller, record: Record) -> str:
    what = "phone number" if caller.proof == "phone" else "postcode"
    whose = "My" if caller.by is None else f"For {record['name']}, the"
    return f"{whose} {what} is {caller.contact or record[caller.proof]}."
