"""What customers do at home when they are asked to: phrases, the call, and what they report."""

from collections.abc import Sequence

from agentgym.types import Json
from agentgym_tools.broadband.scenarios.phrasing import (
    AT_THE_BOX,
    CABLES,
    CALLED,
    inspecting,
    phrases,
    plugging,
    shown,
    turning,
)
from agentgym_tools.domain import Call
from agentgym_tools.script import Deed, Wordings

_LOOKED = ("{result}", "One moment ... {result}", "I have looked. {result}")
_DID = ("Done. {result}", "All right: {result}", "Just did that. {result}")


def _deed(
    name: str, asked: tuple[str, ...], says: Wordings, tool: str, home: str, **arguments: Json
) -> Deed:
    call = Call(name=tool, arguments={"home": home, **arguments}, requestor="user")
    return Deed(name=name, asked=asked, call=call, says=says)


def wrongly(deed: Deed, instead: Deed, *says: str) -> Deed:
    """Return a deed where the customer does another one at the first time of asking."""
    return deed.model_copy(update={"first": instead.call, "first_says": says or instead.says})


# Looking.


def lights(home: str) -> Deed:
    """Look at the lights, which tell what is switched on, too."""
    asked = phrases(
        *("look at the lights", "lights", "light", "led", "leds", "lit", "has power", "have power"),
        *("powered", "gets power", "getting power", "power switch", "power strip", "power button"),
        *("is the router", "is the optical box", "box switched on", "box turned on", "box is on"),
        *("router switched on", "router turned on", "router is on", "turn on the router"),
        *("switch on the router", "switch on the optical box", "turn on the optical box"),
    )
    return _deed("look at the lights", asked, _LOOKED, "read_lights", home)


def cables(home: str, names: Sequence[str] = (), *, desktop: bool = False) -> Deed:
    """Look at the cables.

    Args:
        home: The home's id.
        names: What the cables of the home are called.
        desktop: Whether every cable that is named is to be looked at, as the desktop's.
    """
    asked = phrases("look at the cables", "check the cables", "cables", "all cables", "filter")
    named = ("cable", "wire") if desktop else inspecting(("cable", *names))
    return _deed("look at the cables", (*asked, *named), _LOOKED, "check_cables", home)


def label(home: str, device: str) -> Deed:
    """Read a label."""
    asked = phrases(
        f"read the label of the {device}", "label", "sticker", "serial number", "serial"
    )
    return _deed(
        f"read the label of the {device}", asked, _LOOKED, "read_label", home, device=device
    )


def wifi_page(home: str) -> Deed:
    """Open the router's wifi page."""
    asked = phrases(
        *("open the router's wifi page", "wifi page", "wifi settings", "router settings"),
        *("router page", "router's settings", "admin page", "neighbours", "neighbors"),
        *("neighbouring", "neighboring", "channel", "channels", "device list", "list of devices"),
        *("allowed", "on the list", "access list", "device filter", "mac filter", "blocked"),
        *("wifi is on", "wifi is enabled", "band", "bands", "is the wifi", "wifi of the router"),
        *("wifi on", "wifi off", "wifi enabled", "wifi switched on", "wifi turned on"),
    )
    return _deed("open the router's wifi page", asked, _LOOKED, "show_wifi", home)


def settings(home: str, device: str, *, meant: bool = True) -> Deed:
    """Look at a device's settings.

    Args:
        home: The home's id.
        device: The device.
        meant: Whether it is the one that is talked about, even if it is not named.
    """
    name = f"look at the settings of the {device}"
    asked = (name, *shown(device, meant=meant))
    return _deed(name, asked, _LOOKED, "show_device", home, device=device)


def speed(home: str, device: str, *, meant: bool = True) -> Deed:
    """Run a speed test; `meant` as in `settings`."""
    name = f"run a speed test on the {device}"
    if not meant:
        asked = [
            f"speed test {by} {called}"
            for by in ("on the", "with the")
            for called in CALLED[device]
        ]
        says = (f"The {device}'s test says: {{result}}",)
        return _deed(name, phrases(*asked), says, "run_speed_test", home, device=device)
    found = phrases(
        *(name, "speed test", "speedtest", "how fast", "measure the speed", "test the speed"),
        *("speed now", "check the speed", "what speed", "which speed", "try it", "try again"),
        "try now",
    )
    return _deed(name, found, _LOOKED, "run_speed_test", home, device=device)


def television(home: str) -> Deed:
    """Look at the television."""
    asked = phrases(
        *("look at the television", "tv show", "television show", "tv shows", "television shows"),
        *("the screen", "error code", "error number", "which error", "what error", "picture"),
        *("error message", "message", "error", "is the tv", "is the television", "on the tv"),
        *("on the television", "is the set-top box"),
    )
    return _deed("look at the television", asked, _LOOKED, "watch_tv", home)


# Boxes and cables.


def plug(home: str, cable: str, *, meant: bool = True, desktop: bool = False) -> Deed:
    """Plug a cable in.

    Args:
        home: The home's id.
        cable: Which one.
        meant: Whether it is the one that "the cable" or "it" stands for.
        desktop: Whether the home has a desktop, which has a network cable, too.
    """
    names = AT_THE_BOX if desktop and cable == "network" else CABLES[cable]
    asked = plugging(names, meant=meant)
    more = _PLUGS.get(cable, ()) if not desktop else ()
    name = f"plug in the {cable} cable"
    return _deed(name, (name, *asked, *phrases(*more)), _DID, "fix_cable", home, cable=cable)


_PLUGS = {
    "fibre": ("fibre from the wall", "fibre to the optical box"),
    "network": (
        *("plug in the cable between", "plug the cable from", "plug in the cable from"),
        *("connect the cable from", "connect the optical box to the router"),
        *("connect the router to the optical box", "into the wan", "in the wan", "to the wan"),
    ),
    "phone": (
        *(
            "cable back in the phone socket",
            "cable into the phone socket",
            "it into the phone socket",
        ),
        *("firmly into the phone socket", "back into the phone socket", "cable back in the wall"),
        *("cable into the wall", "cable into the telephone socket", "cable to the phone socket"),
    ),
    "tv": ("cable from the set-top box to", "cable to the television", "cable to the tv"),
}


def new_cable(home: str) -> Deed:
    """Take a new network cable for the desktop."""
    asked = phrases(
        *("take a new network cable", "new cable", "new network cable", "another cable"),
        *("replace the cable", "replace the network cable", "different cable", "swap the cable"),
        *("spare cable", "new ethernet cable", "replace the ethernet cable", "new one"),
        *("replacement cable", "other cable", "swap the network cable", "swap the ethernet cable"),
        *("change the cable", "exchange the cable", "exchange the network cable", "replace it"),
        *("change the network cable", "swap it", "spare network cable", "spare one"),
    )
    more = {"cable": "desktop", "spare": True}
    return _deed("take a new network cable", asked, _DID, "fix_cable", home, **more)


def fit_filter(home: str) -> Deed:
    """Fit the filter."""
    verbs = (
        *("fit", "put", "put in", "install", "insert", "plug", "plug in", "connect", "add"),
        *("attach", "use", "place", "set"),
    )
    names = ("the filter", "a filter", "the dsl filter", "a dsl filter", "the line filter")
    asked = [f"{verb} {name}" for verb in verbs for name in names]
    more = (
        "fit it",
        "put it between",
        "filter in",
        "filter into",
        "filter between",
        "filter is in",
    )
    return _deed("fit the filter", phrases(*asked, *more), _DID, "fit_filter", home)


def switch_on(home: str, device: str) -> Deed:
    """Switch a box on."""
    states = ("plugged in", "powered", "connected to power", "connected to the power", "running")
    asked = (
        *(f"switch on the {device}", *turning((f"the {device}", device), "on")),
        *phrases(*(f"{device} is {state}" for state in states), f"plug in the {device}"),
        *phrases(f"{device} has power", f"{device} gets power", f"{device} into"),
        *phrases(
            "switch it on", "switch it back on", "turn it on", "turn it back on", "plug it in"
        ),
        *("power strip", "power button", "power cable", "power adapter", "power supply"),
        *("power switch", "power plug", "power socket", "power outlet", "power cord"),
    )
    more = {"device": device, "on": True}
    return _deed(
        f"switch on the {device}", tuple(dict.fromkeys(asked)), _DID, "switch_power", home, **more
    )


def restart(home: str, device: str = "router", *, meant: bool = True) -> Deed:
    """Restart a box; `meant` as in `settings`."""
    vaguely = ("restart it", "reboot it", "power cycle it", "unplug it", "unplug the power")
    asked = phrases(
        *(f"restart the {device}", f"reboot the {device}", f"restarting the {device}"),
        *(f"power cycle the {device}", f"power-cycle the {device}", f"{device} off and on"),
        *(f"turn the {device} off", f"switch the {device} off", f"unplug the {device}"),
        *(f"turn off the {device}", f"switch off the {device}", f"restart of the {device}"),
        *(vaguely if meant else ()),
    )
    return _deed(f"restart the {device}", asked, _DID, "restart", home, device=device)


def login(home: str, username: str, password: str) -> Deed:
    """Enter a login password, once the agent has told it."""
    asked = (f"enter the password {password}", password)
    more = {"username": username, "password": password}
    return _deed("enter the new password", asked, _DID, "enter_login", home, **more)


# Wifi and devices.


def channel(home: str, number: int) -> Deed:
    """Change the router's channel."""
    verbs = ("to", "set", "use", "select", "choose", "pick", "on", "try")
    asked = (
        *(f"change to channel {number}", f"to {number}", f"channel {number} instead"),
        *(f"{verb} channel {number}" for verb in verbs),
    )
    return _deed(f"change to channel {number}", asked, _DID, "set_wifi", home, channel=number)


def both_bands(home: str) -> Deed:
    """Use both bands."""
    asked = phrases(
        *("add the 2.4 GHz band", "2.4", "2.4ghz", "both bands", "add the band"),
        *("enable the band", "other band"),
    )
    bands = ["2.4", "5"]
    return _deed("add the 2.4 GHz band", asked, _DID, "set_wifi", home, bands=bands)


def wifi_on(home: str) -> Deed:
    """Switch the router's wifi on."""
    asked = (
        "switch on the wifi of the router",
        *turning(("the wifi", "the router's wifi", "wifi"), "on"),
        *phrases("wifi button", "turn it on", "switch it on", "turn it back on"),
    )
    return _deed(
        "switch on the wifi of the router",
        tuple(dict.fromkeys(asked)),
        _DID,
        "set_wifi",
        home,
        on=True,
    )


def allow(home: str, device: str) -> Deed:
    """Put a device on the router's list."""
    asked = phrases(
        *(f"put the {device} on the list", f"add the {device}", f"allow the {device}"),
        *(f"let the {device} in", f"{device} to the list", f"{device} on the list"),
        *("add it", "to the list", "on the list", "allow it"),
    )
    name = f"put the {device} on the list"
    return _deed(name, asked, _DID, "allow_device", home, device=device)


def switch(home: str, device: str, setting: str) -> Deed:
    """Change one of a device's settings to what lets it go online."""
    asked, change = _SWITCHES[setting]
    said = f"{asked[0]} on the {device}"
    name, more = f"{setting} of the {device}", {"device": device, **change}
    return _deed(name, phrases(said, *asked), _DID, "set_device", home, **more)


_OFF = ("switch it off", "turn it off", "disable it", "deactivate it")
_SWITCHES: dict[str, tuple[tuple[str, ...], dict[str, Json]]] = {
    "airplane": (
        (
            *turning(
                ("airplane mode", "the airplane mode", "flight mode", "the flight mode"), "off"
            ),
            *_OFF,
        ),
        {"airplane": False},
    ),
    "wifi": (
        (
            *turning(("the wifi", "wifi"), "on"),
            *("switch it on", "turn it on", "enable it", "turn it back on"),
        ),
        {"wifi": True},
    ),
    "vpn": (
        (
            *(*turning(("the vpn", "vpn"), "off"), *_OFF, "disconnect the vpn", "without the vpn"),
            *("disconnect from the vpn", "vpn is disconnected", "stop the vpn", "close the vpn"),
        ),
        {"vpn": False},
    ),
    "dns": (
        (
            *("set automatic dns", "automatic dns", "dns to automatic", "automatic"),
            *("automatically", "dns server automatically", "dns automatically"),
        ),
        {"automatic_dns": True},
    ),
}


def join(home: str, device: str, band: str, password: str) -> Deed:
    """Connect a device to the wifi."""
    verbs = ("enter", "type", "type in", "use", "put in", "re-enter", "retype", "update", "input")
    names = ("the password", "the wifi password", "the network password", "that password")
    asked = phrases(
        *(f"connect the {device} by {band} GHz", f"connect the {device}", f"{band} ghz"),
        *(f"{band}ghz", "connect again", "reconnect", "connect it", "join the wifi"),
        *("join the network", "forget the network", "enter it", "type it", "use it"),
        *("with the password", "with the wifi password", "right password", "correct password"),
        *(f"{verb} {name}" for verb in verbs for name in names),
    )
    more = {"device": device, "band": band, "password": password}
    return _deed(f"connect the {device}", asked, _DID, "join_wifi", home, **more)


def pay(home: str, invoice: str) -> Deed:
    """Pay an invoice in the app."""
    asked = phrases(
        *(f"pay the invoice {invoice}", "pay it", "pay the invoice", "pay this", "pay that"),
        *("pay in the app", "pay", "paid", "in the app", "settle"),
    )
    return _deed("pay the invoice", asked, _DID, "pay_invoice", home, invoice_id=invoice)
