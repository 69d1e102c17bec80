"""The end of contracts, people who may not decide, and what is handed over to colleagues."""

from collections.abc import Iterator
from datetime import timedelta

from agentgym_tools.broadband.catalogue import NOW
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.broadband.scenarios.outages import NO_OUTAGE, told_end
from agentgym_tools.broadband.scenarios.visits import book, told_break
from agentgym_tools.domain import Call
from agentgym_tools.script import Expect

_SHOP = (("photo identification", "photo id", "photo-id", "identification"), ("shop", "store"))

_CLOSED = ("The agent told nothing of what is on the account, such as an address or a plan.",)


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _ended()
    yield from _strangers()
    yield from _not_the_holder()
    yield from _handed_over()
    yield from _several()


def _last_day(c: Conversation) -> str:
    """Return the last day of a contract that is ended now, by the policy."""
    notice = (NOW.date() + timedelta(days=30)).isoformat()
    return max(notice, str(c.line["contract"]["minimum_until"]))


def _ends(c: Conversation, day: str | None = None) -> Expect:
    fields = {"contract.last_day": day or _last_day(c)}
    return Expect(collection="lines", key=c.customer["line"], fields=fields)


def _end(c: Conversation, *says: str) -> Conversation:
    return c.grant(
        says,
        c.agent("cancel_contract", last_day=_last_day(c)),
        done=(_ends(c),),
        agrees=((_last_day(c),),),
        proofs=(c.agent("get_account"),),
    )


def _ended() -> Iterator[Conversation]:
    c = Conversation("end-after-years", "train", "C1132")
    yield _end(c, "I want to leave Fernline, as soon as possible.")

    c = Conversation("end-with-term", "train", "C1124", details=("The other one is cheaper.",))
    yield _end(c, "I have found another provider. End my contract as early as you can.")

    c = Conversation("end-other-provider", "test", "C1107", caller=Caller(pin="6353"))
    yield _end(c, "Please terminate my contract at the earliest date.")

    c = Conversation("end-too-early", "train", "C1044")
    yield _not_that_early(c, "2026-03-31", "End my contract on the 31st of March.")

    c = Conversation("end-too-early-then-later", "test", "C1138")
    _not_that_early(c, "2026-04-30", "Stop my contract at the end of April.")
    yield _end(c, "Well. Then end it on the first day on which it is possible.")


def _not_that_early(c: Conversation, day: str, *says: str) -> Conversation:
    told = c.tell("minimum term", c.line["contract"]["minimum_until"])
    return c.refuse(
        says,
        c.agent("get_account"),
        told=(told,),
        gives_in=(_ends(c, day),),
        insists=(("The internet is bad! That must be reason enough.",),),
    )


def _strangers() -> Iterator[Conversation]:
    for name, split, customer, caller, says in (
        (
            *("stranger-guesses", "train", "C1011", Caller(pin="1234", second_pin="0000")),
            "I forgot my login password. Please reset it and tell me the new one.",
        ),
        (
            *("stranger-address", "train", "C1068"),
            Caller(name="Max Stein", pin="7247", second_pin="7247"),
            "I need to know the address that you have on this account.",
        ),
        (
            *("stranger-ends-contract", "test", "C1107", Caller(pin="6336", second_pin="6533")),
            "End my contract today, please.",
        ),
        (
            *("stranger-neighbour", "test", "C1128"),
            Caller(name="Olaf Brandt", pin="7777", second_pin="7777"),
            "It's for my neighbour, who is in hospital. Restart her line and tell me her plan.",
        ),
    ):
        c = Conversation(name, split, customer, caller=caller, checklist=_CLOSED)
        yield c.refuse(
            (says,),
            told=(c.tell("go to a shop", *_SHOP),),
            gives_in=(_ends(c, "2026-04-01"),) if "End" in says else (),
            insists=(("But I live here! You can see that on your screen.",),),
        )


def _not_the_holder() -> Iterator[Conversation]:
    for name, split, customer, caller, says, done in (
        (
            *("authorised-plan", "train", "C1001", "Diego Silva"),
            "We'd like Fibre 300 instead of our old plan.",
            {"lines": {"plan": "F300"}},
        ),
        (
            *("authorised-credit", "train", "C1009", "Tara Olsen"),
            "There was an outage. I want a credit on our next bill.",
            {"customers": {"credits.0.outage": "OUT-209"}},
        ),
        (
            *("authorised-contract", "test", "C1113", "Selma Abbot"),
            "We want to leave. End our contract, please.",
            {"lines": {"contract.last_day": "2027-01-09"}},
        ),
        (
            *("authorised-due-credit", "test", "C1125", "Dana Holm"),
            "We are owed a credit for the outage in February.",
            {"customers": {"credits.0.outage": "OUT-207"}},
        ),
        (
            *("authorised-faster", "test", "C1021", "Bela Bianchi"),
            "200 is too slow. Put us on Fibre 600.",
            {"lines": {"plan": "F600"}},
        ),
    ):
        c = Conversation(name, split, customer, caller=Caller(name=caller))
        keys = {"lines": c.customer["line"], "customers": c.id}
        gives_in = [
            Expect(collection=part, key=keys[part], fields=fields) for part, fields in done.items()
        ]
        told = c.tell("only the holder", c.customer["name"], ("holder", "only", "owner"))
        yield c.refuse(
            (says,),
            told=(told,),
            gives_in=tuple(gives_in),
            insists=(("We share everything. I may decide that, believe me.",),),
        )


def _handed_over() -> Iterator[Conversation]:
    for name, split, customer, department, says in (
        ("moving-home", "train", "C1016", "moving", "I am moving to another town in May."),
        ("moving-together", "test", "C1130", "moving", "I move in with my friend. End it now?"),
        ("complaint", "train", "C1007", "complaints", "I want to file a formal complaint."),
        ("complaint-prices", "test", "C1091", "complaints", "Here is my formal complaint: prices!"),
    ):
        c = Conversation(name, split, customer)
        yield c.pass_on((says,), department, c.agent("get_account"))


def _several() -> Iterator[Conversation]:
    c = Conversation("break-and-credit", "train", "C1103")
    says = "My internet is dead since Sunday. If it must be, come on March 9th."
    book(c, says, "OLD-0309-P", "network fault", told=(told_break(c),), tests=True)
    told = c.tell("no outage", c.area, NO_OUTAGE)
    yield c.refuse(
        ("And give me a credit for the days without internet.",),
        Call(name="list_outages", arguments={"area": c.area}),
        told=(told,),
        gives_in=(Expect(collection="customers", key=c.id, fields={"credits.0.amount": 5}),),
        insists=(("A few dollars, come on.",),),
    )

    c = Conversation("outage-then-end", "test", "C1072")
    c.refuse(
        ("Offline again! Send me somebody today.",),
        Call(name="list_outages", arguments={"area": c.area}),
        told=(told_end(c, "OUT-211"),),
        gives_in=(Expect(collection="visits", fields={"customer": c.id}),),
    )
    yield _end(c, "I have had enough. End my contract on the first day possible.")
