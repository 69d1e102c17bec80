"""The line is in order, but a device is not online or too slow; and televisions."""

from collections.abc import Iterator

from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.broadband.scenarios.outages import NO_OUTAGE
from agentgym_tools.domain import Call
from agentgym_tools.script import Deed, Expect


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _router()
    yield from _devices()
    yield from _slow()
    yield from _television()


def _fix(c: Conversation, device: str, says: str, *steps: Deed) -> Conversation:
    done = {f"devices.{device}.good": True}
    return c.repair((says,), *steps, until=done).handy(device)


def _router() -> Iterator[Conversation]:
    for name, split, customer, says in (
        ("wifi-gone", "train", "C1019", "Our wifi has vanished. Neither laptop nor phone sees it."),
        ("wifi-button", "test", "C1117", "I touched some button on the router, now wifi is gone."),
    ):
        c = Conversation(name, split, customer)
        yield _fix(c, "laptop", says, deeds.wifi_page(c.home), deeds.wifi_on(c.home))

    for name, split, customer, says in (
        ("channel-evenings", "train", "C1057", "In the evenings, wifi on my laptop is awful."),
        ("channel-new-flats", "train", "C1076", "Since they moved in next door, wifi is so slow."),
        ("channel-wants-credit", "test", "C1121", "Wifi is slow on all devices here."),
    ):
        c = Conversation(name, split, customer)
        busy = c.record("homes", c.home)["busy_channels"]
        free = next(number for number in (1, 6, 11) if number not in busy)
        c.able(*(deeds.channel(c.home, number) for number in busy))
        steps = (deeds.wifi_page(c.home), deeds.channel(c.home, free))
        _fix(c, "laptop", says, deeds.speed(c.home, "laptop"), *steps)
        if name == "channel-wants-credit":
            c.refuse(
                ("Much better! And I want a credit for the bad weeks.",),
                Call(name="list_outages", arguments={"area": c.area}),
                told=(c.tell("no outage", c.area, NO_OUTAGE),),
                gives_in=(
                    Expect(collection="customers", key=c.id, fields={"credits.0.amount": 5}),
                ),
                insists=(("I could not use what I paid for! Just a few dollars.",),),
            )
        yield c

    for name, split, customer, says in (
        ("camera-new", "train", "C1013", "My new camera does not find the wifi. The laptop does."),
        ("camera-door", "test", "C1037", "The camera at the door is not online, all else is."),
    ):
        c = Conversation(name, split, customer)
        steps = (deeds.settings(c.home, "camera"), deeds.wifi_page(c.home))
        yield _fix(c, "camera", says, *steps, deeds.both_bands(c.home))

    for name, split, customer, says, caller in (
        (
            "let-in-phone",
            "train",
            "C1002",
            "My phone can't get into the wifi. The laptop can.",
            None,
        ),
        ("let-in-guest", "train", "C1097", "The phone is refused.", Caller(name="Elif Greene")),
        ("let-in-new-phone", "test", "C1128", "I have a new phone. The router rejects it.", None),
    ):
        c = Conversation(name, split, customer, caller=caller)
        steps = (deeds.settings(c.home, "phone"), deeds.wifi_page(c.home))
        yield _fix(c, "phone", says, *steps, deeds.allow(c.home, "phone"))


def _devices() -> Iterator[Conversation]:
    for name, split, customer, device, setting, says in (
        (
            "airplane-after-flight",
            "train",
            "C1058",
            "laptop",
            "airplane",
            "Back from Rome, no net.",
        ),
        (
            "airplane-phone",
            "test",
            "C1078",
            "phone",
            "airplane",
            "My phone has no internet at all.",
        ),
        ("phone-wifi-off", "train", "C1073", "phone", "wifi", "My phone burns its mobile data."),
        ("laptop-wifi-off", "test", "C1106", "laptop", "wifi", "The laptop is not online."),
        ("dns-from-work", "train", "C1089", "laptop", "dns", "Websites don't open on my laptop."),
        ("dns-student", "test", "C1099", "laptop", "dns", "My phone works, the laptop doesn't."),
        (
            "vpn-home-office",
            "train",
            "C1018",
            "laptop",
            "vpn",
            "My laptop is slow since I work here.",
        ),
        ("vpn-films", "test", "C1079", "laptop", "vpn", "Downloads on the laptop take forever."),
    ):
        c = Conversation(name, split, customer)
        fix = deeds.switch(c.home, device, setting)
        yield _fix(c, device, says, deeds.settings(c.home, device), fix)

    for name, split, customer, device, says in (
        ("wifi-password-changed", "train", "C1056", "laptop", "My laptop can't join our wifi."),
        ("wifi-password-phone", "test", "C1115", "phone", "The phone says the password is wrong."),
    ):
        c = Conversation(name, split, customer)
        password = c.record("homes", c.home)["router"]["wifi"]["password"]
        band = c.record("homes", c.home)["devices"][device]["band"]
        label = deeds.label(c.home, "router")
        join = deeds.join(c.home, device, band, password)
        yield _fix(c, device, says, deeds.settings(c.home, device), label, join)

    for name, split, customer, says in (
        ("network-cable-and-airplane", "train", "C1055", "Nothing is online since we redecorated."),
        ("network-cable-then-phone", "test", "C1137", "We moved the router, and lost everything."),
    ):
        c = Conversation(name, split, customer)
        devices = c.record("homes", c.home)["devices"]
        device = next(key for key, part in devices.items() if part["airplane"])
        c.repair((says,), deeds.lights(c.home), deeds.plug(c.home, "network"))
        fix = deeds.switch(c.home, device, "airplane")
        again = f"Better! Only the {device} still shows nothing."
        yield _fix(c, device, again, deeds.settings(c.home, device), fix)


def _slow() -> Iterator[Conversation]:
    for name, split, customer, says in (
        (
            "attic-office",
            "train",
            "C1006",
            "In my attic the laptop crawls; next to the router not.",
        ),
        ("garden-laptop", "test", "C1042", "The laptop is so slow in the summer house."),
    ):
        c = Conversation(name, split, customer)
        password = c.record("homes", c.home)["router"]["wifi"]["password"]
        join = deeds.join(c.home, "laptop", "2.4", password)
        yield _fix(c, "laptop", says, deeds.settings(c.home, "laptop"), join)

    c = Conversation("worn-cable", "train", "C1075", details=("The laptop is fast.",))
    says = "My desktop computer gets 90 where I pay for 300."
    yield _fix(c, "desktop", says, deeds.cables(c.home), deeds.new_cable(c.home))


def _television() -> Iterator[Conversation]:
    picture = {"tv": "a clear picture"}

    for name, split, customer, says, caller in (
        ("tv-dark", "train", "C1077", "The television stays black.", None),
        ("tv-new-shelf", "test", "C1094", "I moved the television, now it is dark.", None),
        ("tv-stands-still", "train", "C1116", "The picture on my television does not move.", None),
        ("tv-match", "test", "C1133", "The match is on and the tv hangs!", Caller("Ivan Kaya")),
    ):
        c = Conversation(name, split, customer, caller=caller)
        loose = c.record("homes", c.home)["set_top_box"]["hdmi"] == "loose"
        fix = deeds.plug(c.home, "tv") if loose else deeds.restart(c.home, "set-top box")
        other = deeds.restart(c.home, "set-top box") if loose else deeds.plug(c.home, "tv")
        yield c.repair((says,), deeds.television(c.home), fix, until=picture).able(other).handy()

    for name, split, customer, says in (
        ("tv-new-box", "train", "C1012", "My new set-top box shows an error and no channel."),
        ("tv-box-swapped", "train", "C1027", "I swapped set-top boxes with my sister. No picture."),
        ("tv-since-move", "test", "C1043", "No television since I replaced the box."),
        ("tv-hurry", "test", "C1080", "The film starts soon, and the television shows an error."),
    ):
        c = Conversation(name, split, customer)
        serial = c.record("homes", c.home)["set_top_box"]["serial"]
        yield (
            c.repair(
                (says,),
                deeds.television(c.home),
                deeds.label(c.home, "set-top box"),
                c.agent("register_box", kind="set-top box", serial=serial),
                until=picture,
            )
            .able(deeds.restart(c.home, "set-top box"))
            .handy()
        )

    c = Conversation("tv-not-in-plan-declines", "test", "C1066")
    told = c.tell("not in the plan", c.plan["name"], ("tv", "television", "error 30"))
    plan = Expect(collection="lines", key=c.customer["line"], fields={"plan": "D50TV"})
    yield c.refuse(
        ("My television shows an error. Make it work, but I won't pay a cent more.",),
        deeds.television(c.home),
        c.agent("get_line"),
        told=(told,),
        gives_in=(plan,),
        insists=(("Register the box, then it will work, won't it? I keep my plan.",),),
    )
