"""The physical model: what a line and the devices of a home come to together.

Everything here is a pure function of the state. A fault is a field with a wrong value, so a
repair works whoever makes it and in whichever order.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from agentgym_tools.state import Record, State

NEEDED_MARGIN = {"fast": 12.0, "standard": 9.0, "stable": 6.0}
"""Signal margin in dB below which a copper line with this profile keeps dropping."""
PROFILE_SHARE = {"fast": 1.0, "standard": 0.9, "stable": 0.75}
"""Share of the plan's speed that a copper line carries with this profile."""
FILTER_LOSS = 7.0
"""Margin in dB lost while a telephone shares the socket without a filter."""
UNSTABLE_SHARE = 0.2
"""Share of the speed that a line which keeps dropping is good for."""
VPN_SPEED = 5.0
"""Mbit/s through a VPN of the customer's own."""
WIFI_SPEED = {("2.4", "near"): 60.0, ("2.4", "far"): 40.0, ("5", "near"): 400.0, ("5", "far"): 4.0}
"""Mbit/s over wifi by band and distance."""
CROWDED_SPEED = 3.0
"""Mbit/s over 2.4 GHz on a channel that neighbours use, at any distance."""
CABLE_SPEED = {"plugged": 940.0, "worn": 90.0, "loose": 0.0}
"""Mbit/s over a network cable by its condition."""
GOOD_SHARE = 0.7
"""Share of what is paid for, or a device could use, from which a speed counts as good."""
ENOUGH = 30.0
"""Mbit/s that a device is not expected to exceed."""


class Signal(StrEnum):
    """What arrives at the home from the exchange."""

    NONE = "none"
    UNREGISTERED = "unregistered"
    """Light arrives, but the exchange does not admit this optical box."""
    UNSTABLE = "unstable"
    GOOD = "good"


class Session(StrEnum):
    """Whether the router is logged in."""

    NONE = "none"
    SUSPENDED = "suspended"
    LOCKED = "locked"
    REJECTED = "rejected"
    UP = "up"


class Reach(StrEnum):
    """What a device at home shows."""

    AIRPLANE = "airplane mode is on"
    WIFI_OFF = "its wifi is switched off"
    UNPLUGGED = "the network cable has no contact"
    NO_NETWORK = "the wifi of the home is not in its list"
    NOT_ACCEPTED = "the wifi password is refused"
    REFUSED = "the router does not let this device in"
    NO_INTERNET = "connected to the router, but no internet"
    NO_NAMES = "connected, but no website opens: server name not found"
    ONLINE = "online"


class Tv(StrEnum):
    """What the television shows."""

    NO_BOX = "there is no set-top box"
    DARK = "no signal on the screen"
    FROZEN = "the picture stands still"
    OFFLINE = "error 10: no connection"
    UNREGISTERED = "error 20: box not registered"
    NOT_IN_PLAN = "error 30: not in your plan"
    PICTURE = "a clear picture"


class Speed(NamedTuple):
    """Speed in Mbit/s."""

    down: float
    up: float

    def capped(self, limit: float) -> "Speed":
        """Return it held down to a limit in both directions."""
        return Speed(min(self.down, limit), min(self.up, limit))

    def times(self, share: float) -> "Speed":
        """Return a share of it, to a tenth of a Mbit/s."""
        return Speed(round(self.down * share, 1), round(self.up * share, 1))


class DeviceLink(NamedTuple):
    """One device's connection.

    Attributes:
        speed: What a speed test on it gives.
        good: Whether it is online and as fast as its home's plan and a device need.
    """

    reach: Reach
    speed: Speed
    good: bool


class Connection(NamedTuple):
    """A customer's connection as it is now.

    Attributes:
        speed: What the router gets.
        good: Whether the line holds, the router is logged in, and it gets the speed paid for.
        devices: By name, without the set-top box.
    """

    signal: Signal
    session: Session
    speed: Speed
    good: bool
    devices: Mapping[str, DeviceLink]
    tv: Tv


class Site(NamedTuple):
    """The records that a customer's connection follows from."""

    line: Record
    home: Record
    plan: Record
    outage: bool


def find_site(state: State, customer_id: str) -> Site:
    """Collect a customer's records.

    Raises:
        KeyError: There is no such customer.
    """
    customer = _record(state, "customers", customer_id)
    line = _record(state, "lines", customer["line"])
    plan = _record(state, "plans", line["plan"])
    outage = any(
        found["ended"] is None
        and found["area"] == customer["address"]["area"]
        and found["technology"] == line["technology"]
        for _, found in state.items("outages")
    )
    return Site(line, _record(state, "homes", customer["home"]), plan, outage)


def connection(state: State, customer_id: str) -> Connection:
    """Work out a customer's connection.

    Raises:
        KeyError: There is no such customer.
    """
    site = find_site(state, customer_id)
    signal = line_signal(site)
    session = router_session(site, signal)
    speed = router_speed(site, signal, session)
    links = {name: _link(site, device, speed) for name, device in site.home["devices"].items()}
    good = signal is Signal.GOOD and speed.down >= GOOD_SHARE * site.plan["down"]
    return Connection(signal, session, speed, good, links, _tv(site, session))


def line_signal(site: Site) -> Signal:
    """Return what arrives at the home."""
    if site.outage or site.line["loop"]["break_at_m"] is not None:
        return Signal.NONE
    if site.line["technology"] == "fibre":
        box = site.home["optical_box"]
        if not box["power"] or box["fibre"] == "loose":
            return Signal.NONE
        registered = box["serial"] == site.line["box_serial"]
        return Signal.GOOD if registered else Signal.UNREGISTERED
    router, socket = site.home["router"], site.home["phone_socket"]
    if not router["power"] or socket["cable"] == "loose":
        return Signal.NONE
    holds = line_margin(site) >= NEEDED_MARGIN[router["lease"]["profile"]]
    return Signal.GOOD if holds else Signal.UNSTABLE


def line_margin(site: Site) -> float:
    """Return a copper line's signal margin in dB, as it is measured from the exchange."""
    filtered: bool = site.home["phone_socket"]["filter"]
    margin: float = site.line["loop"]["margin_db"]
    return round(margin if filtered else margin - FILTER_LOSS, 1)


def router_session(site: Site, signal: Signal) -> Session:
    """Return whether the router is logged in over a signal."""
    router = site.home["router"]
    cut = site.line["technology"] == "fibre" and router["wan"] != "plugged"
    if signal in (Signal.NONE, Signal.UNREGISTERED) or cut:
        return Session.NONE
    if not router["power"] or router["frozen"]:
        return Session.NONE
    if site.line["standing"] == "suspended":
        return Session.SUSPENDED
    if site.line["locked"]:
        return Session.LOCKED
    set_up, expected = router["login"], site.line["login"]
    same = all(set_up[part] == expected[part] for part in ("username", "password"))
    return Session.UP if same else Session.REJECTED


def router_speed(site: Site, signal: Signal, session: Session) -> Speed:
    """Return what the router gets: the speed the line had when the router last started."""
    if session is not Session.UP:
        return Speed(0.0, 0.0)
    lease = site.home["router"]["lease"]
    share = 1.0 if lease["profile"] is None else PROFILE_SHARE[lease["profile"]]
    if signal is Signal.UNSTABLE:
        share *= UNSTABLE_SHARE
    return Speed(lease["down"], lease["up"]).times(share)


def _link(site: Site, device: Record, router: Speed) -> DeviceLink:
    wired = "cable" in device
    reach = _wired_reach(device) if wired else _wifi_reach(site.home, device)
    if not site.home["router"]["power"]:
        reach = Reach.NO_NETWORK if reach is Reach.ONLINE else reach
    if reach is Reach.ONLINE and router.down == 0:
        reach = Reach.NO_INTERNET
    if reach is Reach.ONLINE and device["dns"] != "automatic":
        reach = Reach.NO_NAMES
    if reach is not Reach.ONLINE:
        return DeviceLink(reach, Speed(0.0, 0.0), good=False)
    limit = CABLE_SPEED[device["cable"]] if wired else _wifi_limit(site.home, device)
    speed = router.capped(min(limit, VPN_SPEED) if device["vpn"] else limit)
    # A cable can carry whatever is paid for; over wifi a device is not expected to.
    wanted = site.plan["down"] if wired else min(ENOUGH, site.plan["down"])
    return DeviceLink(reach, speed, good=speed.down >= GOOD_SHARE * wanted)


def _wired_reach(device: Record) -> Reach:
    return Reach.UNPLUGGED if device["cable"] == "loose" else Reach.ONLINE


def _wifi_reach(home: Record, device: Record) -> Reach:
    wifi = home["router"]["wifi"]
    if device["airplane"]:
        return Reach.AIRPLANE
    if not device["wifi"]:
        return Reach.WIFI_OFF
    if not home["router"]["power"] or not wifi["on"] or device["band"] not in wifi["bands"]:
        return Reach.NO_NETWORK
    if device["password"] != wifi["password"]:
        return Reach.NOT_ACCEPTED
    if wifi["filter"] and device["mac"] not in wifi["allowed"]:
        return Reach.REFUSED
    return Reach.ONLINE


def _wifi_limit(home: Record, device: Record) -> float:
    if device["band"] == "2.4" and home["router"]["wifi"]["channel"] in home["busy_channels"]:
        return CROWDED_SPEED
    return WIFI_SPEED[device["band"], device["distance"]]


def _tv(site: Site, session: Session) -> Tv:
    box = site.home["set_top_box"]
    if box is None:
        return Tv.NO_BOX
    if not box["power"] or box["hdmi"] == "loose":
        return Tv.DARK
    if box["frozen"]:
        return Tv.FROZEN
    if session is not Session.UP:
        return Tv.OFFLINE
    if not site.plan["tv"]:
        return Tv.NOT_IN_PLAN
    return Tv.PICTURE if box["serial"] == site.line["tv_serial"] else Tv.UNREGISTERED


def _record(state: State, collection: str, key: str) -> Record:
    record = state.get(collection, key)
    if record is None:
        raise KeyError(key)
    return record
