"""How agents put what they want done or looked at: phrases, in the spellings that people use."""

from collections.abc import Iterable, Sequence

_SPELT = (("wifi", "wi-fi"), ("fibre", "fiber"), (" the ", " your "), (" the ", " "))

CALLED = {
    "desktop": ("desktop", "computer", "pc"),
    "laptop": ("laptop", "notebook"),
    "phone": ("phone", "smartphone"),
    "camera": ("camera",),
}
"""What the devices of a home are called."""

CABLES = {
    "fibre": ("fibre cable", "fibre connector", "fibre", "optical cable"),
    "network": ("network cable", "ethernet cable", "lan cable", "wan cable"),
    "phone": ("phone cable", "telephone cable", "dsl cable", "line cable"),
    "tv": ("hdmi", "hdmi cable", "television cable", "tv cable"),
    "desktop": ("network cable", "ethernet cable", "desktop cable", "lan cable"),
}
"""What the cables are called; a network cable is the desktop's where there is one."""

AT_THE_BOX = ("wan cable", "cable from the optical box", "cable between the optical box")
"""The cable from the optical box to the router, where a desktop has a network cable of its own."""

_FITS = (
    *("into", "back", "firmly", "securely", "properly", "at both", "is in", "is plugged"),
    *("is firmly", "is connected", "is securely", "is properly", "is fully", "is pushed", "sits"),
)
_JOINS = ("plug", "plug in", "push", "push in", "put", "reseat", "connect", "reconnect", "insert")
_LOOKS = ("check the", "inspect the", "look at the", "is the", "does the", "how is the")
_STATES = ("loose", "damaged", "worn", "kinked", "bent", "frayed", "look", "looks", "in place")


def phrases(*texts: str) -> tuple[str, ...]:
    """Return phrases in the spellings and with the articles that people use."""
    found = dict.fromkeys(texts)
    for one, other in _SPELT:
        found |= dict.fromkeys(text.replace(one, other) for text in list(found))
    return tuple(found)


def plugging(names: Sequence[str], *, meant: bool) -> tuple[str, ...]:
    """Return the phrases that ask to plug a cable in, none of which asks to look at it.

    Args:
        names: What the cable is called.
        meant: Whether it is the one that "the cable" or "it" stands for.
    """
    found = [f"{name} {fits}" for name in names for fits in _FITS]
    found += [f"{joins} the {name}" for joins in _JOINS for name in _shortest(names)]
    found += [f"with {article} {name}" for article in ("the", "a") for name in _shortest(names)]
    found += [f"cables {fits}" for fits in _FITS[2:5]]
    found += [f"cables are {fits}" for fits in ("plugged", "connected", *_FITS[2:5])]
    if meant:
        found += [f"the cable {fits}" for fits in _FITS]
        found += [f"{joins} the {name}" for joins in _JOINS for name in ("cable", "loose cable")]
        found += [f"it {fits}" for fits in _FITS[:4]]
        found += ["push it in", "plug it in", "reseat it", "reconnect it"]
    return phrases(*found)


def inspecting(names: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases that ask in which state a cable is."""
    found = [f"{looks} {name}" for looks in _LOOKS for name in _shortest(names)]
    found += [f"{name} {state}" for name in ("cable", "fibre") for state in _STATES]
    return phrases(*found)


def turning(what: Iterable[str], way: str) -> tuple[str, ...]:
    """Return the phrases that ask to switch something "on" or "off"."""
    verbs = {
        "on": ("enable", "activate", "power on", "power up"),
        "off": ("disable", "deactivate", "exit", "quit"),
    }[way]
    found = []
    for name in what:
        found += [f"{verb} {way} {name}" for verb in ("switch", "turn")]
        found += [f"{verb} {name}" for verb in verbs]
        found += [f"{name} {way}", f"{name} back {way}", f"{name} to {way}"]
        found += [f"{name} is {state}{way}" for state in ("", "switched ", "turned ")]
    return phrases(*found)


def shown(device: str, *, meant: bool) -> tuple[str, ...]:
    """Return the phrases that ask for what a device shows or how it is set.

    Args:
        device: The device.
        meant: Whether it is the one that is talked about.
    """
    names = CALLED[device]
    found = [f"settings of the {name}" for name in names]
    for name in names:
        found += [f"{name} {end}" for end in ("settings", "show", "shows", "display", "say")]
        found += [f"is the {name} {state}" for state in ("online", "connected", "using", "on")]
        found += [f"wifi on the {name}", f"{name} wifi"]
    if meant:
        found += [
            *("network settings", "airplane mode", "flight mode", "vpn", "dns", "error"),
            *("error message", "message", "which band", "what band", "2.4", "connected to"),
            *("wifi switched on", "wifi turned on", "wifi on", "wifi off", "is the wifi"),
            *("is wifi", "wifi enabled", "does it show", "does it say"),
        ]
    return phrases(*found)


def _shortest(names: Sequence[str]) -> list[str]:
    """Leave out names that begin with another one: a phrase that ends in that finds them, too."""
    return [name for name in names if not any(name.startswith(f"{other} ") for other in names)]
