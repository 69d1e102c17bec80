"""The router is not logged in, or gets less than is paid for: passwords, locks, suspensions."""

from collections.abc import Iterator

from agentgym_tools.broadband import domain
from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.replay import replay
from agentgym_tools.script import Deed, Expect


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _rejected()
    yield from _locked()
    yield from _slow()
    yield from _suspended()
    yield from _for_security()
    yield from _several()


def new_login(c: Conversation) -> Deed:
    """Return the entering of the password that a reset gives."""
    login = c.record("lines", c.customer["line"])["login"]
    after = replay(domain(), [c.agent("reset_login")]).desk.state.get("lines", c.customer["line"])
    if after is None:
        raise ValueError(f"{c.name}: no line")
    return deeds.login(c.home, login["username"], after["login"]["password"])


def _rejected() -> Iterator[Conversation]:
    for name, split, customer, says, caller in (
        ("login-new-router", "train", "C1004", "I bought a new router; it won't go online.", None),
        (
            "login-reset-by-son",
            "train",
            "C1020",
            "My son pressed the reset hole of the router.",
            None,
        ),
        ("login-since-today", "test", "C1032", "No internet since today.", Caller(number=False)),
    ):
        c = Conversation(name, split, customer, caller=caller)
        yield c.repair((says,), c.agent("reset_login"), new_login(c)).handy()

    c = Conversation(
        *("login-asks-for-old", "test", "C1111"),
        manner="You would rather have your old login password back.",
    )
    yield c.repair(
        ("My router asks for the login password. What was the old one?",),
        c.agent("reset_login"),
        new_login(c),
    ).handy()


def _locked() -> Iterator[Conversation]:
    for name, split, customer, says, caller in (
        ("locked-tried-often", "train", "C1022", "I tried five passwords, none works.", None),
        ("locked-light-red", "train", "C1070", "The internet light of my router is red.", None),
        ("locked-flatmate", "test", "C1093", "We are offline.", Caller(name="Zoe Yilmaz")),
    ):
        c = Conversation(name, split, customer, caller=caller)
        yield _unlock(c, says).handy()

    c = Conversation(
        *("locked-wrong-password-first", "test", "C1098"),
        details=("Can't you just unlock it? I want to keep my old password.",),
    )
    yield _unlock(c, "Your network locked me out. Please let me in again.").handy()


def _unlock(c: Conversation, *says: str) -> Conversation:
    calls = (c.agent("get_line"), c.agent("reset_login"), c.agent("unlock_port"))
    return c.repair(says, *calls, new_login(c))


def _slow() -> Iterator[Conversation]:
    for name, split, customer, says, caller in (
        ("speed-paid-for-600", "train", "C1048", "I pay for 600 and get 50 at my desktop.", None),
        ("speed-since-friday", "train", "C1101", "Since Friday all is slow.", Caller("Edda Reyes")),
        ("speed-films", "test", "C1114", "I can't watch films any more, it stutters.", None),
        ("speed-authorised", "test", "C1129", "We only get 50 Mbit/s.", Caller("Bela Kaya")),
    ):
        c = Conversation(name, split, customer, caller=caller)
        device = "desktop" if "desktop" in c.record("homes", c.home)["devices"] else "laptop"
        yield c.repair(
            (says,),
            c.agent("reprovision_line"),
            deeds.restart(c.home),
            deeds.speed(c.home, device),
        ).handy(device)


def _invoice(c: Conversation) -> tuple[str, str]:
    """Return the overdue invoice, and the name of having been told of it and its amount."""
    key = f"INV-{c.id[1:]}-02"
    record = c.record("invoices", key)
    if record["status"] != "overdue":
        raise ValueError(f"{c.name}: {key} is not overdue")
    return key, c.tell("overdue invoice", key, f"{record['amount']}")


def _suspended() -> Iterator[Conversation]:
    c = Conversation("unpaid-forgotten", "train", "C1003", details=("Did I forget something?",))
    yield _pays(c, "My internet stopped working over the weekend. What is wrong?").handy()

    c = Conversation(
        *("unpaid-promises-first", "test", "C1054"),
        manner="You promise to pay on Friday, and pay only when told that this is not enough.",
    )
    invoice, told = _invoice(c)
    pay = deeds.pay(c.home, invoice)
    looks = deeds.lights(c.home)
    promise = deeds.wrongly(pay, looks, "I'll pay on Friday, I promise. Just switch it on now.")
    yield c.repair(
        ("You have cut me off! I work from home, turn it on again.",),
        c.agent("list_invoices"),
        promise,
        c.agent("restore_service"),
        told=(told,),
    ).handy()

    for name, split, customer, says, insists in (
        (
            *("unpaid-next-month", "train", "C1026"),
            "My service is suspended. Switch it on, I will pay it with the next invoice.",
            "I have been a customer for years! You can trust me.",
        ),
        (
            *("unpaid-instalments", "test", "C1065"),
            "I know I am suspended. Turn it on and I'll pay by instalments, starting in April.",
            "My children need it for school. There must be some way.",
        ),
    ):
        c = Conversation(name, split, customer, manner="You cannot pay today.")
        yield c.refuse(
            (says,),
            c.agent("list_invoices"),
            told=(_invoice(c)[1],),
            gives_in=(
                Expect(collection="lines", key=c.customer["line"], fields={"standing": "active"}),
            ),
            insists=((insists,),),
        )


def _pays(c: Conversation, *says: str) -> Conversation:
    invoice, told = _invoice(c)
    return c.repair(
        says,
        c.agent("list_invoices"),
        deeds.pay(c.home, invoice),
        c.agent("restore_service"),
        told=(told,),
    )


def _for_security() -> Iterator[Conversation]:
    for name, split, customer, says, field in (
        ("security-lock", "train", "C1035", "My internet is off. Please turn it on.", "locked"),
        (
            "security-lock-hurry",
            "test",
            "C1100",
            "Offline since an hour, I'm in a hurry!",
            "locked",
        ),
        ("abuse-suspended", "train", "C1061", "Why do I have no internet?", "suspended"),
        ("abuse-work", "test", "C1090", "I can't work, there is no connection.", "suspended"),
    ):
        c = Conversation(name, split, customer)
        reason = ("security",) if field == "locked" else ("abuse", "abused", "misuse")
        told = c.tell("why", reason, ("locked", "lock", "blocked", "suspended", "suspension"))
        yield c.pass_on(
            (says,), "security", c.agent("test_line"), c.agent("get_line"), told=(told,)
        )


def _several() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("box-and-speed-move", "train", "C1060", "I plugged in my replacement box, all is dead."),
        ("box-and-speed-again", "test", "C1131", "No internet with the box you sent me."),
    ):
        c = Conversation(name, split, customer)
        serial = c.record("homes", c.home)["optical_box"]["serial"]
        yield c.repair(
            (says,),
            deeds.label(c.home, "optical box"),
            c.agent("register_box", kind="optical box", serial=serial),
            c.agent("reprovision_line"),
            deeds.restart(c.home),
        ).handy()

    for name, split, customer, says in (
        ("locked-and-laptop", "train", "C1005", "Nothing in our flat is online."),
        ("locked-and-device", "test", "C1031", "My router has no internet."),
    ):
        c = Conversation(name, split, customer)
        shut = next(
            key
            for key, device in c.record("homes", c.home)["devices"].items()
            if device["mac"] not in c.record("homes", c.home)["router"]["wifi"]["allowed"]
        )
        _unlock(c, says)
        yield c.repair(
            (f"Fine. But my {shut} still isn't online.",),
            deeds.settings(c.home, shut),
            deeds.allow(c.home, shut),
            until={f"devices.{shut}.good": True},
        ).handy(shut)

    for name, split, customer, says in (
        ("unpaid-and-frozen", "train", "C1071", "The wifi is there, but no page opens."),
        ("unpaid-then-frozen", "test", "C1119", "I have no internet. Did you cut me off?"),
    ):
        c = Conversation(name, split, customer)
        invoice, told = _invoice(c)
        yield c.repair(
            (says,),
            deeds.lights(c.home),
            deeds.restart(c.home),
            c.agent("list_invoices"),
            deeds.pay(c.home, invoice),
            c.agent("restore_service"),
            told=(told,),
        ).handy()
