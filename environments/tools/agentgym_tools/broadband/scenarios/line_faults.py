"""No internet, or one that drops: boxes, cables and the line itself."""

from collections.abc import Iterator

from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.broadband.scenarios.visits import book, told_break, told_margin
from agentgym_tools.script import Deed


def conversations() -> Iterator[Conversation]:
    """Yield the conversations."""
    yield from _fibre()
    yield from _optical_boxes()
    yield from _copper()
    yield from _broken()
    yield from _routers()


def _fibre() -> Iterator[Conversation]:
    c = Conversation("fibre-after-dusting", "train", "C1067", details=("I had dusted the shelf.",))
    yield c.repair(
        ("Since I cleaned up this morning nothing works, no websites, no mail.",),
        deeds.lights(c.home),
        deeds.plug(c.home, "fibre"),
    ).handy()

    c = Conversation("fibre-all-green", "train", "C1092", manner="You first say all is green.")
    looks = deeds.lights(c.home)
    misread = looks.model_copy(
        update={"first": looks.call, "first_says": ("Everything looks green to me.",)}
    )
    yield c.repair(
        ("My internet is dead. I need it for a call in an hour, so please hurry.",),
        misread,
        deeds.plug(c.home, "fibre"),
    ).handy()

    c = Conversation(
        *("fibre-cat", "test", "C1134"),
        manner="You plug in the network cable first when asked for the fibre.",
    )
    fibre = deeds.plug(c.home, "fibre")
    mistake = deeds.wrongly(fibre, deeds.plug(c.home, "network"), "I pushed the yellow one in.")
    yield c.repair(
        ("The cat has been behind the cupboard again, and now the internet is gone.",),
        deeds.lights(c.home),
        mistake,
    ).handy()

    c = Conversation("network-cable-painters", "train", "C1010")
    yield c.repair(
        ("We had the painters in, and I put everything back together. No internet since.",),
        deeds.lights(c.home),
        deeds.plug(c.home, "network"),
    ).handy()

    c = Conversation("network-cable-holiday", "test", "C1017", caller=Caller(number=False))
    yield c.repair(
        ("I came home from my holidays and neither laptop nor phone gets any page.",),
        deeds.lights(c.home),
        deeds.plug(c.home, "network"),
    ).handy()

    c = Conversation(
        *("network-cable-child", "train", "C1126"),
        manner="Asked to plug the network cable in, you restart the router at first.",
    )
    cable = deeds.plug(c.home, "network")
    wrong = deeds.wrongly(cable, deeds.restart(c.home), "I have turned the router off and on.")
    yield c.repair(
        ("My son unplugged something to charge his console. Now nothing is online.",),
        deeds.cables(c.home),
        wrong,
    ).handy()


def _optical_boxes() -> Iterator[Conversation]:
    c = Conversation("box-power-strip", "train", "C1014")
    yield c.repair(
        ("There's no internet in the whole house, on no device.",),
        deeds.switch_on(c.home, "optical box"),
    ).handy()

    c = Conversation(
        *("box-energy-saver", "test", "C1029"),
        caller=Caller(name="Lea Castro"),
        details=("My flatmate likes to save energy.",),
    )
    yield c.repair(
        ("Hi, our internet went off around midnight and has not come back.",),
        deeds.lights(c.home),
        deeds.switch_on(c.home, "optical box"),
    ).handy()

    c = Conversation("box-from-technician", "train", "C1038")
    yield _register(c, "I got a new optical box by mail, connected it, and nothing happens.")

    c = Conversation("box-second-hand", "train", "C1049", caller=Caller(name="Viktor Ferro"))
    yield _register(c, "I swapped the broken optical box for another one. There's no internet yet.")

    c = Conversation("box-since-yesterday", "test", "C1063", caller=Caller(pin="5129"))
    yield _register(c, "The internet has been gone since yesterday evening. Please fix it.")

    c = Conversation(
        *("box-wrong-label", "test", "C1109"),
        manner="Asked for the label, you read the router's at first.",
    )
    read = deeds.label(c.home, "optical box")
    wrong = deeds.wrongly(read, deeds.label(c.home, "router"))
    serial = c.record("homes", c.home)["optical_box"]["serial"]
    register = c.agent("register_box", kind="optical box", serial=serial)
    says = ("Your colleague sent me another box with a blinking light, and it does not work.",)
    yield c.repair(says, wrong, register).handy()


def _register(c: Conversation, *says: str) -> Conversation:
    serial = c.record("homes", c.home)["optical_box"]["serial"]
    register = c.agent("register_box", kind="optical box", serial=serial)
    return c.repair(says, deeds.label(c.home, "optical box"), register).handy()


def _copper() -> Iterator[Conversation]:
    c = Conversation("phone-cable-sofa", "train", "C1047")
    yield c.repair(
        ("We moved the sofa, and now there is no internet any more.",),
        deeds.lights(c.home),
        deeds.plug(c.home, "phone"),
    ).handy()

    c = Conversation("phone-cable-test-first", "test", "C1135", caller=Caller(pin="4393"))
    yield c.repair(
        ("No connection at all. I am sure it is your fault, nobody touched anything here.",),
        deeds.lights(c.home),
        deeds.plug(c.home, "phone"),
    ).handy()

    c = Conversation("filter-new-telephone", "train", "C1015")
    yield _filter(c, "Since I have the new telephone, my internet breaks off all the time.")

    c = Conversation("filter-videos-stop", "train", "C1086", caller=Caller(number=False))
    yield _filter(c, "Every few minutes my videos stop. It's been like that for a week.")

    c = Conversation(
        *("filter-wants-technician", "test", "C1088"),
        manner="You think that only a technician can help, but do what you are asked.",
    )
    yield _filter(c, "The line drops all day long. Just send me somebody, please.")

    for name, split, customer, says in (
        ("profile-calls-break", "train", "C1023", "My video calls break up every few minutes."),
        ("profile-since-upgrade", "test", "C1112", "Since January my internet keeps dropping."),
    ):
        c = Conversation(name, split, customer)
        yield _stable(c, deeds.cables(c.home), says)

    c = Conversation(
        *("profile-restarted-ten-times", "train", "C1095"),
        details=("I have restarted the router ten times already, it does not help.",),
    )
    yield _stable(c, deeds.cables(c.home), "The internet goes away and comes back all day.")

    c = Conversation(
        *("profile-filter-forgotten", "test", "C1105"),
        caller=Caller(name="Kemal Novak"),
        manner="Asked for the cables, you first ask which one is meant.",
    )
    look = deeds.cables(c.home)
    misread = look.model_copy(
        update={
            "first": look.call,
            "first_says": ("I see a lot of cables. Which one do you mean?",),
        }
    )
    yield _stable(c, misread, "Our connection is unstable, games are impossible.")


def _filter(c: Conversation, *says: str) -> Conversation:
    return c.repair(says, deeds.cables(c.home), deeds.fit_filter(c.home)).handy()


def _stable(c: Conversation, look: Deed, *says: str) -> Conversation:
    change = c.agent("set_profile", profile="stable")
    return c.repair(says, look, change, deeds.restart(c.home)).handy()


def _broken() -> Iterator[Conversation]:
    c = Conversation("break-excavator", "train", "C1082")
    says = "They are digging in our street, and my internet is gone."
    yield book(c, says, "NOR-0304-P", "network fault", told=(told_break(c),), tests=True)

    c = Conversation("break-morning-only", "test", "C1102")
    says = "Nothing works here. If someone has to come, only in the morning of March 9th."
    yield book(c, says, "HIL-0309-A", "network fault", told=(told_break(c),), tests=True)

    c = Conversation("break-copper", "train", "C1025", caller=Caller(name="Cem Holm"))
    says = "No internet since the storm. If you need to send someone, this Wednesday suits us."
    yield book(c, says, "HIL-0304-P", "network fault", told=(told_break(c),), tests=True)

    c = Conversation("break-changes-day", "test", "C1036")
    yield book(
        *(c, "My line is dead. Somebody can come tomorrow, March 3rd.", "PAR-0304-P"),
        "network fault",
        told=(told_break(c),),
        tests=True,
        before="PAR-0303-A",
        changed=("Oh wait, not tomorrow. The day after, March 4th, please.",),
    )

    c = Conversation("noise-harbour", "train", "C1050")
    yield book(
        *(c, "My connection drops all the time. I can be at home on March 10th.", "HAR-0310-A"),
        "network fault",
        told=(told_margin(c),),
        tests=True,
        looks=(deeds.cables(c.home),),
    ).handy()

    c = Conversation("noise-old-town", "test", "C1051")
    yield book(
        *(
            c,
            "The internet is slow and breaks off. Take the earliest date if you must.",
        ),
        *("OLD-0309-P", "network fault"),
        told=(told_margin(c),),
        tests=True,
        looks=(deeds.cables(c.home),),
    ).handy()


def _routers() -> Iterator[Conversation]:
    c = Conversation("router-orange", "train", "C1118")
    yield c.repair(
        ("All my devices say there is no internet.",), deeds.lights(c.home), deeds.restart(c.home)
    ).handy()

    c = Conversation("router-thunder", "test", "C1139", caller=Caller(number=False))
    yield c.repair(
        ("After last night's thunderstorm the internet does not work.",),
        deeds.lights(c.home),
        deeds.restart(c.home),
    ).handy()

    c = Conversation("router-switched-off", "train", "C1084")
    yield _router_on(c, "My laptop does not find our wifi any more.")

    c = Conversation("router-grandmother", "test", "C1120", caller=Caller(pin="8575"))
    yield _router_on(c, "My internet does not work, and I don't understand these things at all.")


def _router_on(c: Conversation, *says: str) -> Conversation:
    # Restarting would not help, and a restart of what is off is what the person would report.
    looks = deeds.lights(c.home)
    return c.repair(says, looks, deeds.switch_on(c.home, "router")).handy()
