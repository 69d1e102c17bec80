"""What may be wrong at a customer's: each situation changes the records of a healthy one."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from agentgym_tools.broadband.catalogue import PLANS

_FROM_THE_SHOP = "fernline"
_OF_LAST_YEAR = "sunflower"
Technology = Literal["dsl", "fibre"]


@dataclass
class Draft:
    """The records of one customer while they are made.

    Attributes:
        rng: Where chance comes from.
    """

    rng: Random
    customer: dict[str, Any]
    line: dict[str, Any]
    home: dict[str, Any]
    invoices: dict[str, dict[str, Any]]

    @property
    def router(self) -> dict[str, Any]:
        """The home's router."""
        found: dict[str, Any] = self.home["router"]
        return found

    def device(self, name: str) -> dict[str, Any]:
        """Return a device of the home."""
        found: dict[str, Any] = self.home["devices"][name]
        return found


Change = Callable[[Draft], None]


class Situation(NamedTuple):
    """A kind of trouble, and how many customers have it."""

    name: str
    homes: int
    change: Change
    technology: Technology | None = None
    areas: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()


def _plain(draft: Draft) -> None:
    """Nothing is wrong."""


# The line.


def _fibre_loose(draft: Draft) -> None:
    draft.home["optical_box"]["fibre"] = "loose"


def _box_off(draft: Draft) -> None:
    draft.home["optical_box"]["power"] = False


def _box_replaced(draft: Draft) -> None:
    draft.line["box_serial"] = f"OB-{draft.rng.randrange(100000, 999999)}"


def _wan_loose(draft: Draft) -> None:
    draft.router["wan"] = draft.rng.choice(["loose", "wrong socket"])


def _break(draft: Draft) -> None:
    draft.line["loop"]["break_at_m"] = draft.rng.randrange(120, 1900)


def _phone_cable_loose(draft: Draft) -> None:
    draft.home["phone_socket"]["cable"] = "loose"


def _filter_missing(draft: Draft) -> None:
    draft.line["loop"]["margin_db"] = draft.rng.randrange(100, 125) / 10
    draft.home["phone_socket"]["filter"] = False


def _profile_too_fast(draft: Draft) -> None:
    draft.line["loop"]["margin_db"] = draft.rng.randrange(62, 85) / 10
    draft.line["profile"] = draft.router["lease"]["profile"] = "fast"


def _noisy_copper(draft: Draft) -> None:
    draft.line["loop"]["margin_db"] = draft.rng.randrange(15, 50) / 10


def _login_wrong(draft: Draft) -> None:
    draft.router["login"]["password"] = _FROM_THE_SHOP
    draft.line["failed_logins"] = draft.rng.randrange(1, 3)


def _login_locked(draft: Draft) -> None:
    draft.router["login"]["password"] = _FROM_THE_SHOP
    draft.line.update(failed_logins=5, locked="logins")


def _security_lock(draft: Draft) -> None:
    draft.line["locked"] = "security"


def _under_provisioned(draft: Draft) -> None:
    slow = {"down": 10, "up": 2} if draft.line["technology"] == "dsl" else {"down": 50, "up": 10}
    draft.line["provisioned"] = slow
    draft.router["lease"].update(slow)


def _unpaid(draft: Draft) -> None:
    latest = sorted(draft.invoices)[-1]
    draft.invoices[latest]["status"] = "overdue"


def _suspended_unpaid(draft: Draft) -> None:
    _unpaid(draft)
    draft.line.update(standing="suspended", suspended_for="unpaid")


def _suspended_abuse(draft: Draft) -> None:
    draft.line.update(standing="suspended", suspended_for="abuse")


def _router_frozen(draft: Draft) -> None:
    draft.router["frozen"] = True


def _router_off(draft: Draft) -> None:
    draft.router["power"] = False


# Wifi and devices.


def _router_wifi_off(draft: Draft) -> None:
    draft.router["wifi"]["on"] = False


def _crowded(draft: Draft) -> None:
    draft.home["busy_channels"] = sorted({1, 6, 11} - {draft.rng.choice([1, 6, 11])})
    draft.router["wifi"]["channel"] = draft.home["busy_channels"][0]
    for device in draft.home["devices"].values():
        if "band" in device:
            device.update(band="2.4", bands=["2.4"])


def _camera_without_band(draft: Draft) -> None:
    password = draft.router["wifi"]["password"]
    draft.home["devices"]["camera"] = new_device(draft.rng, password, band="2.4", bands=["2.4"])
    draft.router["wifi"]["bands"] = ["5"]
    for name in ("laptop", "phone"):
        draft.device(name).update(band="5", distance="near")


def _far_away(draft: Draft) -> None:
    draft.device("laptop").update(band="5", distance="far")


def _mac_filter(draft: Draft) -> None:
    macs = {name: device["mac"] for name, device in draft.home["devices"].items()}
    shut_out = draft.rng.choice(["laptop", "phone"])
    allowed = [mac for name, mac in macs.items() if name != shut_out]
    draft.router["wifi"].update(filter=True, allowed=allowed)


def _old_wifi_password(draft: Draft) -> None:
    draft.device(draft.rng.choice(["laptop", "phone"]))["password"] = _OF_LAST_YEAR


def _airplane(draft: Draft) -> None:
    draft.device(draft.rng.choice(["laptop", "phone"]))["airplane"] = True


def _device_wifi_off(draft: Draft) -> None:
    draft.device(draft.rng.choice(["laptop", "phone"]))["wifi"] = False


def _vpn(draft: Draft) -> None:
    draft.device("laptop")["vpn"] = True


def _dns(draft: Draft) -> None:
    draft.device("laptop")["dns"] = "10.9.8.7"


def _worn_cable(draft: Draft) -> None:
    draft.home["devices"]["desktop"] = wired_device(draft.rng) | {"cable": "worn"}


# Television.


def _hdmi(draft: Draft) -> None:
    draft.home["set_top_box"]["hdmi"] = "loose"


def _tv_unregistered(draft: Draft) -> None:
    draft.line["tv_serial"] = draft.rng.choice([None, f"TV-{draft.rng.randrange(10000, 99999)}"])


def _tv_not_in_plan(draft: Draft) -> None:
    serial = f"TV-{draft.rng.randrange(10000, 99999)}"
    draft.line["tv_serial"] = serial
    draft.home["set_top_box"] = new_set_top_box(serial)


def _tv_frozen(draft: Draft) -> None:
    draft.home["set_top_box"]["frozen"] = True


# The account.


def _credited(draft: Draft) -> None:
    price = PLANS[draft.line["plan"]]["price"]
    credit = {"date": "2026-02-24", "amount": round(2 * price / 30, 2), "outage": "OUT-207"}
    draft.customer["credits"].append(credit)


def _near_credit_limit(draft: Draft) -> None:
    amount = draft.rng.randrange(4750, 4990) / 100
    draft.customer["credits"].append({"date": "2026-01-19", "amount": amount, "outage": None})


def _changed_recently(draft: Draft) -> None:
    draft.customer["plan_changed"] = f"2026-02-{draft.rng.randrange(10, 26)}"


def _short_copper(draft: Draft) -> None:
    draft.line["max_down"] = draft.rng.randrange(54, 80)


def _with(*changes: Change) -> Change:
    def change(draft: Draft) -> None:
        for part in changes:
            part(draft)

    return change


def new_device(rng: Random, password: str, **settings: Any) -> dict[str, Any]:
    """Return a wifi device of a home that works."""
    band = rng.choice(["2.4", "5"])
    device = {"mac": _mac(rng), "airplane": False, "wifi": True, "band": band}
    more = {"bands": ["2.4", "5"], "password": password, "distance": "near"}
    return {**device, **more, "vpn": False, "dns": "automatic", **settings}


def wired_device(rng: Random) -> dict[str, Any]:
    """Return a device on a network cable."""
    return {"mac": _mac(rng), "cable": "plugged", "vpn": False, "dns": "automatic"}


def new_set_top_box(serial: str) -> dict[str, Any]:
    """Return a set-top box that works."""
    return {"serial": serial, "power": True, "hdmi": "plugged", "frozen": False}


def _mac(rng: Random) -> str:
    return ":".join(f"{rng.randrange(256):02x}" for _ in range(4))


_NO_TV = ("F100", "F300", "D50")
SITUATIONS = (
    Situation("plain", 18, _plain),
    Situation("fibre loose", 3, _fibre_loose, "fibre"),
    Situation("box off", 2, _box_off, "fibre"),
    Situation("box replaced", 4, _box_replaced, "fibre"),
    Situation("wan loose", 3, _wan_loose, "fibre"),
    Situation("fibre break", 3, _break, "fibre"),
    Situation("phone cable loose", 2, _phone_cable_loose, "dsl"),
    Situation("filter missing", 3, _filter_missing, "dsl"),
    Situation("profile too fast", 4, _profile_too_fast, "dsl"),
    Situation("copper break", 2, _break, "dsl"),
    Situation("noisy copper", 2, _noisy_copper, "dsl"),
    Situation("login wrong", 4, _login_wrong),
    Situation("login locked", 4, _login_locked),
    Situation("security lock", 2, _security_lock),
    Situation("under provisioned", 4, _under_provisioned, plans=("F300", "F600", "D50")),
    Situation("suspended unpaid", 4, _suspended_unpaid),
    Situation("suspended abuse", 2, _suspended_abuse),
    Situation("router frozen", 2, _router_frozen),
    Situation("router off", 2, _router_off),
    Situation("router wifi off", 2, _router_wifi_off),
    Situation("crowded channel", 3, _crowded),
    Situation("camera without band", 2, _camera_without_band),
    Situation("far away", 2, _far_away),
    Situation("device filter", 3, _mac_filter),
    Situation("old wifi password", 2, _old_wifi_password),
    Situation("airplane", 2, _airplane),
    Situation("device wifi off", 2, _device_wifi_off),
    Situation("vpn", 2, _vpn),
    Situation("dns", 2, _dns),
    Situation("worn cable", 2, _worn_cable, "fibre", plans=("F300", "F600")),
    Situation("hdmi loose", 2, _hdmi, plans=("F300TV", "D50TV")),
    Situation("tv unregistered", 4, _tv_unregistered, plans=("F300TV", "D50TV")),
    Situation("tv not in plan", 3, _tv_not_in_plan, plans=_NO_TV),
    Situation("tv frozen", 2, _tv_frozen, plans=("F300TV", "D50TV")),
    Situation("box and speed", 2, _with(_box_replaced, _under_provisioned), "fibre"),
    Situation("login and filter", 2, _with(_login_locked, _mac_filter)),
    Situation("unpaid and frozen", 2, _with(_suspended_unpaid, _router_frozen)),
    Situation("wan and airplane", 2, _with(_wan_loose, _airplane), "fibre"),
    Situation("outage fibre", 3, _plain, "fibre", ("Harbour",)),
    Situation("outage dsl", 3, _plain, "dsl", ("Quarry",)),
    Situation("credit due fibre", 3, _plain, "fibre", ("Mill Lane",)),
    Situation("credit due dsl", 3, _plain, "dsl", ("Eastbank",)),
    Situation("outage too short", 2, _plain, "fibre", ("Parkside",)),
    Situation("outage too old", 2, _plain, "dsl", ("Hilltop",)),
    Situation("credited", 2, _credited, "fibre", ("Mill Lane",)),
    Situation("credit limit", 2, _near_credit_limit, "fibre", ("Mill Lane",)),
    Situation("bill overdue", 3, _unpaid),
    Situation("changed recently", 2, _changed_recently),
    Situation("short copper", 3, _short_copper, "dsl", plans=("D16", "D50")),
)
"""All situations; the customers are numbered in this order, then shuffled."""
