"""Who writes, and what they tell of themselves when asked."""

from typing import NamedTuple

from agentgym_tools.domain import Call
from agentgym_tools.script import Fact
from agentgym_tools.state import Record

_PROVE = ("identity", "identify", "verify", "verification", "authenticate")
_NUMBER = ("customer number", "customer id", "account number", "customer no", *_PROVE)
_NAME = ("full name", "name", "your names", "who i am speaking", "who you are", *_PROVE)
_PIN = ("account pin", "pin", "pin code", "passcode", *_PROVE)
_AGAIN = (
    *("try again", "once more", "again", "not match", "don't match", "doesn't match"),
    *("no match", "incorrect", "wrong", "not correct", "could not", "couldn't", "unable"),
    *("another", "other pin", "different pin", "right pin", "correct pin", "check the pin"),
)
_REFUSES = ("shop", "store", "photo", "photo identification", "photo id", "photo-id")


class Caller(NamedTuple):
    """The person who writes; by default the holder, who knows number and PIN.

    Attributes:
        name: Their name, where they are not the holder.
        pin: The PIN they give first, where it is not the right one.
        second_pin: The PIN they give next, where that is not the right one either.
        number: Whether they know the customer number.
    """

    name: str | None = None
    pin: str | None = None
    second_pin: str | None = None
    number: bool = True

    @property
    def known(self) -> bool:
        """Whether they can prove who they are in the end."""
        return self.second_pin is None

    def checks(self, customer_id: str, customer: Record) -> tuple[Call, ...]:
        """Return the calls that find out who they are."""
        name = self.name or customer["name"]
        pins = [self.pin, self.second_pin or customer["pin"]] if self.pin else [customer["pin"]]
        checks = [
            Call(
                name="check_caller",
                arguments={"customer_id": customer_id, "name": name, "pin": pin},
            )
            for pin in pins
        ]
        found = Call(name="find_customer", arguments={"text": customer["name"]})
        return (*checks,) if self.number else (found, *checks)

    def story(self, customer_id: str, customer: Record) -> str:
        """Return who they are, for an LLM user."""
        name = self.name or customer["name"]
        about = "your account" if name == customer["name"] else f"the account of {customer['name']}"
        number = f"customer number {customer_id}" if self.number else "number not known to you"
        pin = f"The PIN is {self.pin or customer['pin']}."
        if self.pin:
            pin += f" Asked again, you say {self.second_pin or customer['pin']}."
        return f"You are {name}; it is about {about}, {number}. {pin}"


def caller_facts(customer_id: str, customer: Record, caller: Caller) -> tuple[Fact, ...]:
    """Return what a caller tells of themselves."""
    holder = customer["name"]
    name = caller.name or holder
    who = f"My name is {name}."
    if name != holder:
        who = f"I am {name}. The account is in the name of {holder}."
    number = f"The customer number is {customer_id}."
    if not caller.number:
        number = f"I don't have the number here. It should be under {holder}."
    facts = [
        Fact(name="number", asked=_NUMBER, says=(number,)),
        Fact(name="name", asked=_NAME, says=(who,)),
        Fact(
            name="pin",
            asked=_PIN,
            says=(f"The PIN is {caller.pin or customer['pin']}.",),
            then=() if caller.known else ("I have told you the PIN.",),
        ),
    ]
    if caller.pin:
        second = caller.second_pin or customer["pin"]
        then = ("I don't know any other PIN.",)
        says = (f"Then try {second}.",)
        facts.append(Fact(name="second pin", asked=_AGAIN, says=says, then=then))
    if caller.known:
        return tuple(facts)
    return tuple(fact.model_copy(update={"unless": _REFUSES}) for fact in facts)
