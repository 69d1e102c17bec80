"""Plans and profiles: changes that are allowed, and many that are not."""

from collections.abc import Iterator
from datetime import date, timedelta

from agentgym_tools.broadband.catalogue import NOW, PLANS, months_later
from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.domain import Call
from agentgym_tools.script import Expect, Parts, Wish, Wordings


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _changed()
    yield from _with_conditions()
    yield from _not_changed()
    yield from _profiles()


def _plans(c: Conversation) -> Call:
    return Call(name="list_plans", arguments={"technology": c.line["technology"]})


def _on(c: Conversation, plan: str) -> Expect:
    return Expect(collection="lines", key=c.customer["line"], fields={"plan": plan})


def _terms(plan_id: str) -> Parts:
    """Return what a request for agreement to a plan has to name."""
    plan = PLANS[plan_id]
    until = months_later(NOW.date(), plan["minimum_months"]).isoformat()
    return ((plan["name"], plan_id), (f"{plan['price']}",), (until,))


def change(
    c: Conversation, plan: str, says: Wordings, *, before: str = "", at_first: str = ""
) -> Conversation:
    """Add the wish for a plan, which ends with the restart of the router.

    Args:
        c: The conversation.
        plan: The plan.
        says: How it is asked for.
        before: The plan that was wanted at first, where the person changes their mind.
        at_first: How that one was asked for.
    """
    speed = c.record("plans", plan)["down"]
    shares = {"fast": 1.0, "standard": 0.9, "stable": 0.75, None: 1.0}
    got = round(speed * shares[c.line["profile"]], 1)
    running = Expect(collection="connection", key=c.id, fields={"down": got})
    old = Wish(says=(at_first,), done=(_on(c, before),)) if before else None
    return c.grant(
        says,
        c.agent("change_plan", plan_id=plan),
        deeds.restart(c.home),
        done=(_on(c, plan), running),
        agrees=_terms(plan),
        proofs=(c.agent("get_account"), _plans(c)),
        before=old,
    ).able(deeds.speed(c.home, "laptop"))


def _changed() -> Iterator[Conversation]:
    for name, split, customer, plan, says in (
        ("plan-faster", "train", "C1136", "F300", "100 is too slow for us. I want Fibre 300."),
        ("plan-fastest", "train", "C1068", "F600", "Put me on the fastest that you have."),
        ("plan-copper-up", "train", "C1008", "D100", "I'd like to go to Copper 100."),
        ("plan-cheaper-after-term", "test", "C1141", "D16", "I want your cheapest plan."),
    ):
        yield change(Conversation(name, split, customer), plan, (says,))

    c = Conversation("plan-changes-mind", "test", "C1045", caller=Caller(number=False))
    changed = "No, wait. If I change, then with television: Copper 50 with TV, please."
    at_first = "I'd like to have Copper 100 in future."
    c.able(deeds.television(c.home))
    yield change(c, "D50TV", (changed,), before="D100", at_first=at_first)


def _with_conditions() -> Iterator[Conversation]:
    c = Conversation("tv-plan-wanted", "train", "C1039")
    told = c.tell("not in the plan", c.plan["name"], ("tv", "television", "error 30"))
    picture = Expect(collection="connection", key=c.id, fields={"tv": "a clear picture"})
    yield c.grant(
        ("My television does not work. If I need another plan, I'll take Fibre 300 with TV.",),
        deeds.television(c.home),
        c.agent("change_plan", plan_id="F300TV"),
        done=(_on(c, "F300TV"), picture),
        agrees=_terms("F300TV"),
        proofs=(c.agent("get_account"), _plans(c)),
        told=(told,),
    ).able(deeds.restart(c.home))

    c = Conversation("bill-paid-at-once", "test", "C1087", manner="You pay when told to.")
    invoice = f"INV-{c.id[1:]}-02"
    told = c.tell("overdue invoice", invoice)
    running = Expect(collection="connection", key=c.id, fields={"down": 300.0})
    yield c.grant(
        ("Please change my plan to Fibre 300 with TV.",),
        deeds.pay(c.home, invoice),
        c.agent("change_plan", plan_id="F300TV"),
        deeds.restart(c.home),
        done=(_on(c, "F300TV"), running),
        agrees=_terms("F300TV"),
        proofs=(c.agent("get_account"), c.agent("list_invoices")),
        told=(told,),
    )


def _not_changed() -> Iterator[Conversation]:
    for name, split, customer, plan, says in (
        ("cheaper-in-term", "train", "C1007", "D16", "I want the cheaper plan, Copper 16."),
        ("cheaper-pensioner", "test", "C1138", "F100", "I am retired now. Put me on Fibre 100."),
    ):
        c = Conversation(name, split, customer)
        told = c.tell("minimum term", c.line["contract"]["minimum_until"])
        insists = "Then let me talk to your boss, who can decide that!"
        yield _no_change(c, plan, says, told, insists)

    for name, split, customer, says in (
        ("short-line", "train", "C1069", "I want Copper 100, as my neighbour has it."),
        ("short-line-upgrade", "test", "C1130", "My new plan shall be Copper 100."),
    ):
        c = Conversation(name, split, customer)
        most = c.line["max_down"]
        told = c.tell("what the line carries", (f"{most}", f"{most}mbit"))
        insists = "Just switch it, I'll see what arrives."
        yield _no_change(c, "D100", says, told, insists, c.agent("get_line"))

    for name, split, customer, plan, says in (
        ("changed-lately", "train", "C1028", "F600", "Let me have Fibre 600, please."),
        ("changed-lately-copper", "test", "C1123", "D50", "I'd like to have Copper 50."),
    ):
        c = Conversation(name, split, customer)
        first = date.fromisoformat(c.customer["plan_changed"]) + timedelta(days=30)
        told = c.tell("first day", first.isoformat())
        yield _no_change(c, plan, says, told, "Can't you do it today? It's only a few days.")

    c = Conversation("bill-first", "train", "C1110")
    told = c.tell("overdue invoice", f"INV-{c.id[1:]}-02")
    says = "I'd like the faster plan, Copper 100."
    insists = "I'll pay the bill next month. Change the plan now."
    yield _no_change(c, "D100", says, told, insists, c.agent("list_invoices"))


def _no_change(
    c: Conversation, plan: str, says: str, told: str, insists: str, *proofs: Call
) -> Conversation:
    return c.refuse(
        (says,),
        *(proofs or (c.agent("get_account"),)),
        told=(told,),
        gives_in=(_on(c, plan),),
        insists=((insists,),),
    )


def _profiles() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("fast-profile", "train", "C1008", "I read that there's a fast profile. I want that."),
        ("fast-profile-nearly", "test", "C1123", "Set my line to the fast profile, please."),
    ):
        c = Conversation(name, split, customer)
        margin = c.line["loop"]["margin_db"]
        told = c.tell("margin", (f"{margin}", f"{margin}db"), ("12", "12db"))
        fast = Expect(collection="lines", key=c.customer["line"], fields={"profile": "fast"})
        yield c.refuse(
            (says,),
            c.agent("test_line"),
            told=(told,),
            gives_in=(fast,),
            insists=(("I'll take the risk. Please set it.",),),
        )

    c = Conversation("fast-profile-enough", "test", "C1122")
    yield c.repair(
        ("Can my line be a bit faster, with the fast profile?",),
        c.agent("set_profile", profile="fast"),
        deeds.restart(c.home),
        until={"down": float(c.plan["down"])},
    ).handy("laptop")
