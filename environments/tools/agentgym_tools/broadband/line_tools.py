"""The agent's tools over lines: what is seen and set from the exchange."""

import hashlib
from typing import Any, Literal

from agentgym.errors import ToolError
from agentgym_tools.broadband.account_tools import AccountTools
from agentgym_tools.broadband.connection import (
    Session,
    Signal,
    Site,
    find_site,
    line_margin,
    line_signal,
    router_session,
)
from agentgym_tools.toolkit import reads, writes

_LOGIN_SEEN = {
    Session.UP: "logged in",
    Session.REJECTED: "rejected: wrong login name or password",
    Session.LOCKED: "refused: the port is locked",
    Session.SUSPENDED: "refused: the service is suspended",
    Session.NONE: "no login attempt arrives",
}


class LineTools(AccountTools):
    """What the provider's staff can do at the exchange, and the account tools."""

    @reads
    def get_line(self, customer_id: str) -> dict[str, Any]:
        """Look up how a customer's line is set up.

        Args:
            customer_id: Such as "C1001".
        """
        line = self.line(customer_id)
        hidden = ("loop", "plan", "contract", "login")
        shown = {part: value for part, value in line.items() if part not in hidden}
        plan = self.plan(line["plan"])
        login = {"username": line["login"]["username"]}
        paid = {"plan_id": line["plan"], "down": plan["down"], "up": plan["up"], "tv": plan["tv"]}
        return {"line_id": self.customer(customer_id)["line"], **shown, "login": login, **paid}

    @reads
    def test_line(self, customer_id: str) -> dict[str, Any]:
        """Measure a customer's line from the exchange; the home beyond it is not seen.

        Args:
            customer_id: Such as "C1001".
        """
        self.customer(customer_id)
        site = find_site(self.state, customer_id)
        signal = line_signal(site)
        session = router_session(site, signal)
        physical = _fibre_test(site) if site.home["optical_box"] else _copper_test(site, signal)
        started = site.home["router"]["lease"]
        return {
            **physical,
            "login": _LOGIN_SEEN[session],
            "failed_logins": site.line["failed_logins"],
            "speed_set": dict(site.line["provisioned"]),
            "settings_in_use": dict(started) if session is Session.UP else None,
        }

    @writes
    def unlock_port(self, customer_id: str) -> str:
        """Open a locked port again and forget the failed logins.

        Args:
            customer_id: Such as "C1001".
        """
        if not self.line(customer_id)["locked"]:
            raise ToolError("The port is not locked.")
        with self.state.edit("lines", self.customer(customer_id)["line"]) as line:
            line.update(locked=None, failed_logins=0)
        return "The port is open."

    @writes
    def reset_login(self, customer_id: str) -> dict[str, str]:
        """Give a line a new login password, which has to be entered in the router.

        Args:
            customer_id: Such as "C1001".
        """
        # The same at a second time, so that what the customer was told stays right.
        password = f"fern-{hashlib.sha256(customer_id.encode()).hexdigest()[:6]}"
        with self.state.edit("lines", self.customer(customer_id)["line"]) as line:
            line["login"]["password"] = password
            return {"username": line["login"]["username"], "password": password}

    @writes
    def reprovision_line(self, customer_id: str) -> dict[str, Any]:
        """Set a line to the speed of its plan; the router takes it when it is restarted.

        Args:
            customer_id: Such as "C1001".
        """
        plan = self.plan(self.line(customer_id)["plan"])
        speed = {"down": plan["down"], "up": plan["up"]}
        with self.state.edit("lines", self.customer(customer_id)["line"]) as line:
            line["provisioned"] = speed
        return speed

    @writes
    def set_profile(self, customer_id: str, profile: Literal["fast", "standard", "stable"]) -> str:
        """Set a copper line's profile; the router takes it when it is restarted.

        Args:
            customer_id: Such as "C1001".
            profile: The slower, the less margin it needs.
        """
        line = self.line(customer_id)
        if line["technology"] != "dsl":
            raise ToolError("Only copper lines have a profile.")
        if line["profile"] == profile:
            raise ToolError(f"The profile is {profile} already.")
        with self.state.edit("lines", self.customer(customer_id)["line"]) as record:
            record["profile"] = profile
        return f"The profile is {profile}."

    @writes
    def register_box(
        self, customer_id: str, kind: Literal["optical box", "set-top box"], serial: str
    ) -> str:
        """Register the box at a customer's home in place of the one registered so far.

        Args:
            customer_id: Such as "C1001".
            kind: An optical box or a set-top box.
            serial: The serial number on its label, such as "OB-123456" or "TV-12345".
        """
        line = self.line(customer_id)
        prefix = "OB-" if kind == "optical box" else "TV-"
        serial = serial.strip().upper()
        if kind == "optical box" and line["technology"] != "fibre":
            raise ToolError("Copper lines have no optical box.")
        if not (serial.startswith(prefix) and serial[3:].isdigit()):
            raise ToolError(f"The serial number of an {kind} starts with {prefix} and digits.")
        with self.state.edit("lines", self.customer(customer_id)["line"]) as record:
            record["box_serial" if kind == "optical box" else "tv_serial"] = serial
        return f"{serial} is registered."

    @writes
    def restore_service(self, customer_id: str) -> str:
        """Lift a suspension.

        Args:
            customer_id: Such as "C1001".
        """
        if self.line(customer_id)["standing"] != "suspended":
            raise ToolError("The service is not suspended.")
        with self.state.edit("lines", self.customer(customer_id)["line"]) as line:
            line.update(standing="active", suspended_for=None)
        return "The service is restored."


def _fibre_test(site: Site) -> dict[str, Any]:
    """Return what the exchange sees of a fibre; a box that loses power says so at the end."""
    seen: dict[str, Any] = {"fault_on_the_way": _break(site), "optical_power_dbm": None}
    box, loop = site.home["optical_box"], site.line["loop"]
    if site.outage or loop["break_at_m"] is not None:
        return {**seen, "optical_box": "no answer"}
    if not box["power"]:
        return {**seen, "optical_box": "no answer; its last message was: power lost"}
    if box["fibre"] == "loose":
        return {**seen, "optical_box": "no answer; the light ends at the home"}
    seen["optical_power_dbm"] = loop["power_dbm"]
    if box["serial"] != site.line["box_serial"]:
        return {**seen, "optical_box": "another box than the registered one answers"}
    return {**seen, "optical_box": "the registered box answers"}


def _copper_test(site: Site, signal: Signal) -> dict[str, Any]:
    seen: dict[str, Any] = {"fault_on_the_way": _break(site), "margin_db": None}
    if signal is Signal.NONE:
        whole = not site.outage and site.line["loop"]["break_at_m"] is None
        where = "; the line is whole up to the home" if whole else ""
        return {**seen, "modem": f"no modem answers{where}"}
    drops = signal is Signal.UNSTABLE
    modem = "answers, but the signal drops every few minutes" if drops else "answers steadily"
    return {**seen, "margin_db": line_margin(site), "modem": modem}


def _break(site: Site) -> str:
    if site.outage:
        return "the whole segment is dark"
    at = site.line["loop"]["break_at_m"]
    return "none" if at is None else f"line broken {at} m from the exchange"
