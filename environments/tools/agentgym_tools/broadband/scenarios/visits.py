"""Technicians' visits: when one is booked, called off, moved, or refused."""

from collections.abc import Iterator

from agentgym_tools.broadband.catalogue import WINDOWS
from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.domain import Call
from agentgym_tools.script import Deed, Expect, Parts, Wish, Wordings

FREE = ("free", "no charge", "no cost", "no fee", "without charge", "costs nothing", "0")
_HALVES = {
    WINDOWS["A"]: ("08:00", "morning", "8 to 12"),
    WINDOWS["P"]: ("13:00", "afternoon", "1 to 5"),
}
_SOON = ("48 hours", "48-hour", "48h", "48 hour")


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _booked()
    yield from _called_off()
    yield from _refused()


def book(
    c: Conversation,
    says: str,
    slot: str,
    reason: str,
    *,
    told: tuple[str, ...] = (),
    tests: bool = False,
    looks: tuple[Deed, ...] = (),
    before: str = "",
    changed: Wordings = (),
) -> Conversation:
    """Add the wish for a visit, or a fault that only a visit mends.

    Args:
        c: The conversation.
        says: How the person puts it.
        slot: The slot they want.
        reason: Why somebody comes.
        told: What has to be told.
        tests: Whether the usual tests come first.
        looks: What the person looks at before.
        before: The slot they wanted at first, where they change their mind.
        changed: What they say then, when asked to confirm.
    """
    fee = 0.0 if reason == "network fault" else 49.0
    visit = c.agent("book_visit", slot_id=slot, reason=reason, fee=fee)
    slots = Call(name="list_visit_slots", arguments={"area": c.area})
    proofs = (*c.tests()[1:], slots) if tests else (slots,)
    at_first = Wish(says=(says,), done=(_is_booked(c, before),)) if before else None
    cost: tuple[str, ...] = ("49",) if fee else FREE
    return c.grant(
        changed or (says,),
        *looks,
        visit,
        done=(_is_booked(c, slot),),
        agrees=(*when(c, slot), cost),
        proofs=proofs,
        told=told,
        before=at_first,
    )


def _is_booked(c: Conversation, slot: str) -> Expect:
    return Expect(collection="visits", fields={"customer": c.id, "slot": slot, "status": "booked"})


def when(c: Conversation, slot_id: str) -> Parts:
    """Return the parts that name a slot: its date and its half of the day."""
    slot = c.record("slots", slot_id)
    return ((slot["date"],), _HALVES[slot["window"]])


def told_break(c: Conversation) -> str:
    """Declare that the distance of a broken line has to be told."""
    at = c.line["loop"]["break_at_m"]
    return c.tell("distance", (f"{at}", f"{at}m", f"{at / 1000:g}", f"{at / 1000:g}km"))


def told_margin(c: Conversation) -> str:
    """Declare that the margin of a copper line has to be told."""
    margin = c.line["loop"]["margin_db"]
    return c.tell("margin", (f"{margin}", f"{margin}db"))


def _booked() -> Iterator[Conversation]:
    c = Conversation("visit-second-socket", "train", "C1044")
    says = "I'd like a second socket installed in my study, next Monday, March 9th, if possible."
    yield book(c, says, "OLD-0309-P", "installation")

    c = Conversation("visit-home-wiring", "test", "C1107")
    says = "I want a technician to check the wiring in my flat, on March 5th."
    yield book(c, says, "RIV-0305-A", "home wiring")

    c = Conversation("visit-changes-mind", "train", "C1016")
    says = "Could somebody install another socket on March 3rd?"
    changed = ("Hm, the 6th is better for me, March 6th in the morning. Can we take that?",)
    yield book(c, says, "QUA-0306-A", "installation", before="QUA-0303-P", changed=changed)

    c = Conversation("visit-authorised", "test", "C1085", caller=Caller(name="Lea Reyes"))
    says = "We want our socket moved to another room, on March 11th please."
    yield book(c, says, "NOR-0311-A", "installation")


def _called_off() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("visit-not-needed", "train", "C1132", "I don't need the technician any more."),
        ("visit-travelling", "test", "C1140", "I am travelling on the day of the technician."),
    ):
        c = Conversation(name, split, customer)
        visit = _visit(c)
        yield c.grant(
            (f"{says} Please cancel the visit.",),
            Call(name="cancel_visit", arguments={"visit_id": visit}),
            done=(Expect(collection="visits", key=visit, fields={"status": "cancelled"}),),
            agrees=when(c, visit[2:]),
            proofs=(c.agent("get_account"),),
        )

    c = Conversation("visit-moved", "train", "C1041")
    visit = _visit(c)
    yield _move(c, visit, "RIV-0312-P", "Can we move my technician's visit to March 12th?")

    c = Conversation("visit-moved-earlier", "test", "C1113", caller=Caller(name="Selma Abbot"))
    visit = _visit(c)
    yield _move(c, visit, "MIL-0306-A", "The technician should come earlier, on March 6th.")

    for name, split, customer, says, caller in (
        ("visit-too-late", "train", "C1011", "Please cancel tomorrow's visit.", Caller()),
        ("visit-too-late-to-move", "train", "C1001", "I need to move my visit.", Caller()),
        ("visit-too-late-sick", "test", "C1091", "I am ill. Cancel my visit.", Caller()),
        ("visit-too-late-work", "test", "C1059", "I have to work, cancel my visit.", Caller()),
    ):
        c = Conversation(name, split, customer, caller=caller)
        visit = _visit(c)
        cancelled = Expect(collection="visits", key=visit, fields={"status": "cancelled"})
        date, half = when(c, visit[2:])
        yield c.refuse(
            (says,),
            c.agent("get_account"),
            told=(c.tell("too late", date, half, _SOON),),
            gives_in=(cancelled,),
            insists=(("It is only a visit! Surely you can make an exception?",),),
        )


def _visit(c: Conversation) -> str:
    visits = c.record("customers", c.id)
    found = [
        f"V-{key}"
        for key, slot in c.slots()
        if slot["visit"] and c.record("visits", slot["visit"])["customer"] == c.id
    ]
    if len(found) != 1 or not visits:
        raise ValueError(f"{c.name}: {c.id} has no visit")
    return found[0]


def _move(c: Conversation, visit: str, slot: str, *says: str) -> Conversation:
    old = c.record("visits", visit)
    new = c.agent("book_visit", slot_id=slot, reason=old["reason"], fee=old["fee"])
    return c.grant(
        says,
        Call(name="cancel_visit", arguments={"visit_id": visit}),
        new,
        done=(
            Expect(collection="visits", key=visit, fields={"status": "cancelled"}),
            _is_booked(c, slot),
        ),
        agrees=when(c, slot),
        proofs=(c.agent("get_account"), Call(name="list_visit_slots", arguments={"area": c.area})),
    )


def _refused() -> Iterator[Conversation]:
    c = Conversation("visit-second-one", "train", "C1081")
    date, _ = when(c, _visit(c)[2:])
    yield c.refuse(
        ("I'd like a technician for a second socket. The earlier the better, this Wednesday.",),
        c.agent("get_account"),
        told=(c.tell("one visit at a time", date, ("one", "already", "only")),),
        gives_in=(Expect(collection="visits", fields={"customer": c.id, "slot": "PAR-0304-P"}),),
        insists=(("But that is for something else. I want both.",),),
    )

    c = Conversation(
        *("visit-before-steps", "test", "C1096"),
        manner="You want a technician, and grudgingly do what you are asked instead.",
    )
    says = ("My computer is far too slow for what I pay. Send me a technician, at no cost.",)
    yield c.repair(
        says,
        deeds.cables(c.home),
        deeds.new_cable(c.home),
        until={"devices.desktop.good": True},
    ).handy("desktop")
