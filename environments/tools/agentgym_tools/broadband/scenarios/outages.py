"""Outages: what is told while one lasts, and which credits are given afterwards."""

from collections.abc import Iterator
from datetime import datetime

from agentgym_tools.broadband.catalogue import NOW
from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.broadband.scenarios.visits import when
from agentgym_tools.domain import Call
from agentgym_tools.script import Correction, Expect

_CAUSES = {
    "OUT-211": ("fire", "burnt", "burned", "cabinet"),
    "OUT-212": ("roadworks", "roadwork", "road works", "cable cut", "cut cable", "cable"),
}

NO_OUTAGE = (
    *("no", "not", "any", "none", "without", "only", "never", "hasn't", "haven't", "wasn't"),
    *("weren't", "isn't", "aren't", "didn't", "can't", "cannot"),
)
"""Words for an outage that an area has not had."""


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _lasting()
    yield from _credits()
    yield from _refused()
    yield from _beyond_the_limit()


def _outages(c: Conversation) -> Call:
    return Call(name="list_outages", arguments={"area": c.area})


def told_end(c: Conversation, outage_id: str) -> str:
    """Declare that the expected end of an outage and its cause have to be told."""
    end = datetime.fromisoformat(c.record("outages", outage_id)["expected_end"])
    parts: list[str | tuple[str, ...]] = [f"{end:%H:%M}", _CAUSES[outage_id]]
    if outage_id == "OUT-211":
        parts.append((f"{end:%Y-%m-%d}", "tomorrow", "tuesday"))
    return c.tell("expected end", *parts)


def _lasting() -> Iterator[Conversation]:
    for name, split, customer, outage, says, insists in (
        (
            *("outage-wants-technician", "train", "C1033", "OUT-212"),
            "My internet is out. Send me a technician, today if you can.",
            "A technician could at least have a look, couldn't he?",
        ),
        (
            *("outage-wants-reset", "train", "C1074", "OUT-212"),
            "Everything is offline. Please reset my line or whatever you do.",
            "Just try a reset of my login, it helped last year.",
        ),
        (
            *("outage-copper-technician", "train", "C1064", "OUT-211"),
            "No internet since last night. I want a technician tomorrow morning.",
            "I pay for this. Somebody has to come!",
        ),
        (
            *("outage-factory-reset", "test", "C1083", "OUT-211"),
            "My router shows no connection. Shall I press the reset button for ten seconds?",
            "I'd rather do something than wait. Really no reset?",
        ),
    ):
        c = Conversation(name, split, customer)
        c.refuse(
            (says,),
            _outages(c),
            told=(told_end(c, outage),),
            gives_in=(Expect(collection="visits", fields={"customer": c.id, "status": "booked"}),),
            insists=((insists,),),
        )
        yield c.able(deeds.lights(c.home), deeds.cables(c.home), deeds.restart(c.home))

    for name, split, customer, outage, says in (
        ("outage-credit-now", "test", "C1127", "OUT-212", "I'm offline and want a credit, now."),
        ("outage-credit-days", "test", "C1072", "OUT-211", "Offline. Credit me 10 dollars a day."),
    ):
        c = Conversation(name, split, customer)
        yield c.refuse(
            (says,),
            _outages(c),
            told=(told_end(c, outage),),
            gives_in=(_credited(c, outage),),
            insists=(("I want it in writing that I get something. Credit it at once!",),),
        ).able(deeds.lights(c.home))


def _credited(c: Conversation, outage: str) -> Expect:
    place = f"credits.{len(c.customer['credits'])}.outage"
    return Expect(collection="customers", key=c.id, fields={place: outage})


def _amount(c: Conversation, outage_id: str) -> float:
    """Return what an outage is credited with, by the policy."""
    price: float = c.plan["price"]
    return round(price / 30 * (_hours(c, outage_id) // 24), 2)


def _hours(c: Conversation, outage_id: str) -> int:
    record = c.record("outages", outage_id)
    lasted = datetime.fromisoformat(record["ended"]) - datetime.fromisoformat(record["started"])
    return int(lasted.total_seconds()) // 3600


def credit(c: Conversation, outage_id: str, *says: str, wrong: str = "") -> Conversation:
    """Add the wish for a credit that is due."""
    amount = _amount(c, outage_id)
    objects = Correction(heard=(wrong,), says=("Hm, is that the right amount? Please check.",))
    return c.grant(
        says,
        c.agent("give_credit", amount=amount, outage_id=outage_id),
        done=(_credited(c, outage_id),),
        agrees=((f"{amount}",), (outage_id, "outage")),
        proofs=(c.agent("get_account"), _outages(c)),
        corrections=(objects,) if wrong else (),
    )


def _credits() -> Iterator[Conversation]:
    c = Conversation("credit-three-days", "train", "C1062")
    says = "You owe me something for the outage in February. It was three days!"
    yield credit(c, "OUT-207", says, wrong=f"{round(c.plan['price'] / 10, 2)}")

    c = Conversation("credit-february", "train", "C1124", caller=Caller(number=False))
    yield credit(c, "OUT-207", "I'd like a refund for the days without internet in February.")

    c = Conversation("credit-eastbank", "train", "C1024")
    yield credit(c, "OUT-204", "There was an outage here last month. What do I get for it?")

    c = Conversation("credit-long", "test", "C1034", caller=Caller(pin="5106"))
    yield credit(c, "OUT-204", "I was offline for days in February and want a credit.")

    c = Conversation("credit-and-visit", "test", "C1108")
    credit(c, "OUT-204", "I want a credit for February's outage. And I have another question.")
    slot = "EAS-0305-A"
    yield c.grant(
        ("And please let a technician install a second socket, on March 5th.",),
        c.agent("book_visit", slot_id=slot, reason="installation", fee=49.0),
        done=(Expect(collection="visits", fields={"customer": c.id, "slot": slot}),),
        agrees=(*when(c, slot), ("49",)),
        proofs=(Call(name="list_visit_slots", arguments={"area": c.area}),),
    )

    c = Conversation("credit-wants-more", "test", "C1125")
    credit(c, "OUT-207", "I want a credit for the outage two weeks ago.")
    day = c.tell("given", (f"{NOW:%Y-%m-%d}", "today"), f"{_amount(c, 'OUT-207')}")
    yield c.refuse(
        ("Is that all? Give me the same again for my trouble.",),
        told=(day,),
        gives_in=(
            Expect(collection="customers", key=c.id, fields={"credits.1.outage": "OUT-207"}),
        ),
    )


def _refused() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("credit-too-short", "train", "C1009", "I want a credit for February 25th, I was offline."),
        ("credit-too-short-lost-day", "test", "C1021", "I lost a working day. Credit the outage!"),
    ):
        c = Conversation(name, split, customer)
        hours = (f"{_hours(c, 'OUT-209')}", f"{_hours(c, 'OUT-209')}h")
        yield _no_credit(c, says, "OUT-209", c.tell("hours", hours, ("24", "24h", "24-hour")))

    for name, split, customer, says in (
        ("credit-too-old", "train", "C1040", "For December's outage, you have given me nothing."),
        ("credit-too-old-holiday", "test", "C1122", "A credit for the outage before Christmas!"),
    ):
        c = Conversation(name, split, customer)
        day = c.tell("ended", "2025-12-22", ("30", "30-day", "thirty"))
        yield _no_credit(c, says, "OUT-201", day)

    for name, split, customer, says in (
        ("credit-twice", "train", "C1030", "Where is my credit for the outage in February?"),
        ("credit-twice-neighbour", "test", "C1052", "My neighbour got a credit. I want one, too."),
    ):
        c = Conversation(name, split, customer)
        given = c.customer["credits"][0]
        day = c.tell("given", given["date"], f"{given['amount']}")
        yield _no_credit(c, says, "OUT-207", day)

    c = Conversation("credit-other-area", "train", "C1046")
    told = c.tell("not here", c.area, NO_OUTAGE)
    yield _no_credit(c, "I heard of the outage in Eastbank. I want a credit, too.", "OUT-204", told)


def _no_credit(c: Conversation, says: str, outage: str, told: str) -> Conversation:
    return c.refuse(
        (says,),
        c.agent("get_account"),
        _outages(c),
        told=(told,),
        gives_in=(_credited(c, outage),),
        insists=(("That is unfair. Be generous for once!",),),
    )


def _beyond_the_limit() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("credit-limit", "train", "C1053", "I want the credit for the outage of February 20th."),
        ("credit-limit-again", "test", "C1104", "Credit me the outage in February, please."),
    ):
        c = Conversation(name, split, customer)
        so_far = round(sum(part["amount"] for part in c.customer["credits"]), 2)
        if so_far + _amount(c, "OUT-207") <= 50:
            raise ValueError(f"{name}: the credit is within the limit")
        told = c.tell("limit", f"{so_far}", "50")
        yield c.pass_on((says,), "billing", c.agent("get_account"), _outages(c), told=(told,))
