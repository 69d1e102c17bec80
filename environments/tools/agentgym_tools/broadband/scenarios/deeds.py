"""What customers do at home when they are asked to: phrases, the call, and what they report."""

from agentgym.types import Json
from agentgym_tools.domain import Call
from agentgym_tools.script import Deed, Wordings

_SPELT = (("wifi", "wi-fi"), ("fibre", "fiber"), (" the ", " your "), (" the ", " "))
_LOOKED = ("{result}", "One moment ... {result}", "I have looked. {result}")
_DID = ("Done. {result}", "All right: {result}", "Just did that. {result}")


def phrases(*texts: str) -> tuple[str, ...]:
    """Return phrases in the spellings and with the articles that people use."""
    found = dict.fromkeys(texts)
    for one, other in _SPELT:
        found |= dict.fromkeys(text.replace(one, other) for text in list(found))
    return tuple(found)


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
    """Look at the lights."""
    asked = phrases("look at the lights", "lights", "light", "led", "leds", "lit")
    return _deed("look at the lights", asked, _LOOKED, "read_lights", home)


def cables(home: str) -> Deed:
    """Look at the cables."""
    asked = phrases("look at the cables", "check the cables", "cables", "all cables", "filter")
    return _deed("look at the cables", asked, _LOOKED, "check_cables", home)


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
        *("neighbouring", "neighboring", "which channel", "what channel", "list of devices"),
        *("allowed devices", "wifi is on", "wifi is enabled", "bands", "which bands"),
    )
    return _deed("open the router's wifi page", asked, _LOOKED, "show_wifi", home)


def settings(home: str, device: str) -> Deed:
    """Look at a device's settings."""
    asked = phrases(
        *(f"look at the settings of the {device}", f"settings of the {device}"),
        *(f"{device} settings", f"{device}'s settings", "network settings", "airplane mode"),
        *("flight mode", "vpn", "dns", f"{device} show", f"{device} shows", f"{device} display"),
        *("error message", "message", "which band", "2.4", "wifi switched on", "connected to"),
    )
    name = f"look at the settings of the {device}"
    return _deed(name, asked, _LOOKED, "show_device", home, device=device)


def speed(home: str, device: str) -> Deed:
    """Run a speed test."""
    asked = phrases(
        *(f"run a speed test on the {device}", "speed test", "speedtest", "how fast"),
        *("measure the speed", "test the speed", "speed now", "try it", "try again", "try now"),
    )
    name = f"run a speed test on the {device}"
    return _deed(name, asked, _LOOKED, "run_speed_test", home, device=device)


def television(home: str) -> Deed:
    """Look at the television."""
    asked = phrases(
        *("look at the television", "tv show", "television show", "tv shows", "television shows"),
        *("the screen", "error code", "error number", "which error", "what error", "picture"),
        *("error message", "message"),
    )
    return _deed("look at the television", asked, _LOOKED, "watch_tv", home)


# Boxes and cables.


def plug(home: str, cable: str) -> Deed:
    """Plug a cable in."""
    asked = phrases(f"plug in the {cable} cable", *_CABLES[cable])
    return _deed(f"plug in the {cable} cable", asked, _DID, "fix_cable", home, cable=cable)


_CABLES = {
    "fibre": (
        *("fibre cable", "fibre connector", "fibre plug", "plug in the fibre", "plug the fibre"),
        *("reseat the fibre", "reconnect the fibre", "push the fibre", "fibre is plugged"),
        *("fibre in", "fibre firmly", "fibre line", "optical cable"),
    ),
    "network": (
        *("ethernet cable", "wan cable", "lan cable", "wan port", "wan socket", "cable between"),
        *("network cable from", "cable from the optical box", "cable that connects"),
    ),
    "phone": (
        *("cable in the phone socket", "phone socket", "telephone cable", "telephone socket"),
        *("dsl cable", "phone line cable", "cable in the wall", "line cable", "wall socket"),
    ),
    "tv": (
        *("hdmi", "hdmi cable", "television cable", "cable between", "cable from the set-top box"),
        *("cable to the television", "cable to the tv"),
    ),
}


def new_cable(home: str) -> Deed:
    """Take a new network cable for the desktop."""
    asked = phrases(
        *("take a new network cable", "new cable", "new network cable", "another cable"),
        *("replace the cable", "replace the network cable", "different cable", "swap the cable"),
        *("spare cable", "new ethernet cable", "replace the ethernet cable", "new one"),
    )
    more = {"cable": "desktop", "spare": True}
    return _deed("take a new network cable", asked, _DID, "fix_cable", home, **more)


def fit_filter(home: str) -> Deed:
    """Fit the filter."""
    asked = phrases(
        *("fit the filter", "fit a filter", "fit it", "put the filter", "put a filter"),
        *("install the filter", "install a filter", "insert the filter", "plug in the filter"),
        *("plug the filter", "plug a filter", "connect the filter", "add the filter"),
        *("add a filter", "attach the filter", "use the filter", "place the filter"),
    )
    return _deed("fit the filter", asked, _DID, "fit_filter", home)


def switch_on(home: str, device: str) -> Deed:
    """Switch a box on."""
    asked = phrases(
        *(f"switch on the {device}", f"switch the {device} on", f"turn on the {device}"),
        *(f"turn the {device} on", f"power on the {device}", f"power the {device} on"),
        *(f"power up the {device}", "switch it on", "switch it back on", "turn it on"),
        *("turn it back on", "plug it in", f"plug in the {device}", "power button"),
        *("power cable", "power adapter", "power supply", f"{device} is switched on"),
    )
    more = {"device": device, "on": True}
    return _deed(f"switch on the {device}", asked, _DID, "switch_power", home, **more)


def restart(home: str, device: str = "router") -> Deed:
    """Restart a box."""
    asked = phrases(
        *(f"restart the {device}", f"reboot the {device}", f"restarting the {device}"),
        *(f"power cycle the {device}", f"power-cycle the {device}", f"{device} off and on"),
        *(f"turn the {device} off", f"switch the {device} off", f"unplug the {device}"),
        *(f"turn off the {device}", f"switch off the {device}", f"restart of the {device}"),
        *("restart it", "reboot it", "power cycle it", "unplug it", "unplug the power"),
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
    asked = phrases(f"change to channel {number}", f"channel {number}", f"to {number}")
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
    asked = phrases(
        *("switch on the wifi of the router", "switch the wifi on", "switch on the wifi"),
        *("turn on the wifi", "turn the wifi on", "enable the wifi", "activate the wifi"),
        *("wifi back on", "router's wifi on", "wifi button", "turn it on", "switch it on"),
    )
    return _deed("switch on the wifi of the router", asked, _DID, "set_wifi", home, on=True)


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


_SWITCHES: dict[str, tuple[tuple[str, ...], dict[str, Json]]] = {
    "airplane": (
        (
            *("switch off airplane mode", "switch airplane mode off", "turn off airplane mode"),
            *("turn airplane mode off", "disable airplane mode", "deactivate airplane mode"),
            *("flight mode off", "turn off flight mode", "switch it off", "turn it off"),
        ),
        {"airplane": False},
    ),
    "wifi": (
        (
            *("switch on the wifi", "switch the wifi on", "turn on the wifi", "turn the wifi on"),
            *("enable the wifi", "activate the wifi", "switch it on", "turn it on", "wifi back on"),
        ),
        {"wifi": True},
    ),
    "vpn": (
        (
            *("switch off the vpn", "switch the vpn off", "turn off the vpn", "turn the vpn off"),
            *("disable the vpn", "disconnect the vpn", "deactivate the vpn", "switch it off"),
            *("turn it off", "without the vpn", "disconnect from the vpn"),
        ),
        {"vpn": False},
    ),
    "dns": (
        (
            *(
                "set automatic dns",
                "automatic dns",
                "dns to automatic",
                "automatic",
                "automatically",
            ),
            *("dns server automatically", "dns automatically"),
        ),
        {"automatic_dns": True},
    ),
}


def join(home: str, device: str, band: str, password: str) -> Deed:
    """Connect a device to the wifi."""
    asked = phrases(
        *(f"connect the {device} by {band} GHz", f"connect the {device}", f"{band} ghz"),
        *(f"{band}ghz", "connect again", "reconnect", "connect it", "join the wifi"),
        *("join the network", "forget the network", "enter the password", "enter it"),
        *("type the password", "use the password", "enter that password", "use that password"),
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
