"""The customer's own side: what a person at home sees and does at boxes, cables and the app."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from agentgym.errors import ToolError
from agentgym_tools.broadband.connection import (
    Connection,
    Session,
    Signal,
    connection,
)
from agentgym_tools.state import Record
from agentgym_tools.toolkit import Toolkit, reads, writes

Powered = Literal["router", "optical box", "set-top box"]
Cable = Literal["fibre", "network", "phone", "tv", "desktop"]

LOCK_AFTER = 5
"""Failed logins after which the exchange locks a port."""


class HomeTools(Toolkit):
    """What can be seen and done at the boxes; every call names the home, such as "H1001"."""

    @reads
    def read_lights(self, home: str) -> str:
        """Look at the lights of the boxes.

        Args:
            home: The home's id.
        """
        record = self.home(home)
        link = self.link(home)
        lights = [_router_lights(record["router"], link, copper=record["optical_box"] is None)]
        if record["optical_box"]:
            lights.insert(0, _box_lights(record["optical_box"], link.signal))
        return " ".join(lights)

    @reads
    def read_label(self, home: str, device: Powered) -> str:
        """Read the label on a box.

        Args:
            home: The home's id.
            device: Which box.
        """
        if device == "router":
            return f"Wifi password: {self.home(home)['router']['wifi']['password']}"
        return f"Serial number: {self._box(home, device)['serial']}"

    @reads
    def check_cables(self, home: str) -> str:
        """Look at the cables without touching them.

        Args:
            home: The home's id.
        """
        record = self.home(home)
        seen = []
        if record["optical_box"]:
            seen.append(f"Fibre at the optical box: {record['optical_box']['fibre']}.")
            seen.append(f"Network cable from the box to the router: {record['router']['wan']}.")
        else:
            socket = record["phone_socket"]
            seen.append(f"Cable in the phone socket: {socket['cable']}.")
            seen.append(f"Filter in the phone socket: {'yes' if socket['filter'] else 'no'}.")
        if record["set_top_box"]:
            seen.append(f"Television cable: {record['set_top_box']['hdmi']}.")
        if "desktop" in record["devices"]:
            seen.append(f"Desktop's network cable: {record['devices']['desktop']['cable']}.")
        return " ".join(seen)

    @writes
    def fix_cable(self, home: str, cable: Cable, spare: bool = False) -> str:
        """Plug a cable in firmly where it belongs.

        Args:
            home: The home's id.
            cable: `network` leads from the optical box to the router, `tv` from the set-top box
                to the television.
            spare: Whether to take a new cable in place of the old one.
        """
        with self.edit(home) as record:
            holder, part = _socket(record, cable)
            if holder[part] != "worn" or spare:
                holder[part] = "plugged"
        return "The new cable is in." if spare else f"The {cable} cable sits firmly now."

    @writes
    def fit_filter(self, home: str) -> str:
        """Put the filter between the phone socket and the telephone.

        Args:
            home: The home's id.
        """
        with self.edit(home) as record:
            if record["phone_socket"] is None:
                raise ToolError("There is no phone socket here.")
            record["phone_socket"]["filter"] = True
        return "The filter is in."

    @writes
    def switch_power(self, home: str, device: Powered, on: bool) -> str:
        """Switch a box on or off.

        Args:
            home: The home's id.
            device: Which box.
            on: Whether it is to be on.
        """
        self._box(home, device)
        with self.edit(home) as record:
            _box_of(record, device)["power"] = on
        if device == "router" and on:
            self._start_router(home)
        return f"The {device} is {'on' if on else 'off'}."

    @writes
    def restart(self, home: str, device: Powered) -> str:
        """Switch a box off and on again.

        Args:
            home: The home's id.
            device: Which box.
        """
        if not self._box(home, device)["power"]:
            raise ToolError(f"The {device} is off; switch it on.")
        if device == "router":
            self._start_router(home)
        elif device == "set-top box":
            with self.edit(home) as record:
                record["set_top_box"]["frozen"] = False
        return f"The {device} has restarted."

    @writes
    def factory_reset_router(self, home: str) -> str:
        """Set the router back to how it came, which erases its login.

        Args:
            home: The home's id.
        """
        self.running_router(home)
        with self.edit(home) as record:
            record["router"]["login"] = {"username": "", "password": ""}
            new = {"on": True, "bands": ["2.4", "5"], "channel": 1, "filter": False, "allowed": []}
            record["router"]["wifi"].update(new)
        self._start_router(home)
        return "The router is as it came, without a login."

    @writes
    def enter_login(self, home: str, username: str, password: str) -> str:
        """Enter the login name and password in the router, which then logs in.

        Args:
            home: The home's id.
            username: The login name.
            password: The login password.
        """
        self.running_router(home)
        with self.edit(home) as record:
            record["router"]["login"] = {"username": username.strip(), "password": password.strip()}
        return self._try_login(home)

    @reads
    def watch_tv(self, home: str) -> str:
        """Look at what the television shows.

        Args:
            home: The home's id.
        """
        return f"The television shows: {self.link(home).tv}."

    @writes
    def pay_invoice(self, home: str, invoice_id: str) -> str:
        """Pay an invoice in the provider's app.

        Args:
            home: The home's id.
            invoice_id: Such as "INV-1001-02".
        """
        invoice = self.state.get("invoices", invoice_id)
        if invoice is None or invoice["customer"] != self.home(home)["customer"]:
            raise ToolError(f"The app shows no invoice {invoice_id!r}.")
        if invoice["status"] == "paid":
            raise ToolError(f"{invoice_id} is paid already.")
        with self.state.edit("invoices", invoice_id) as record:
            record["status"] = "paid"
        return f"{invoice_id} is paid: {invoice['amount']:.2f} dollars."

    # Shared with the tools over devices.

    def home(self, home: str) -> Record:
        """Return a home's record.

        Raises:
            ToolError: There is no such home.
        """
        found = self.state.get("homes", home)
        if found is None:
            raise ToolError(f"There is no home {home!r}.")
        return found

    @contextmanager
    def edit(self, home: str) -> Iterator[dict[str, Any]]:
        """Lend a home's record to be changed; see `State.edit`.

        Raises:
            ToolError: There is no such home.
        """
        self.home(home)
        with self.state.edit("homes", home) as record:
            yield record

    def link(self, home: str) -> Connection:
        """Return a home's connection as it is now.

        Raises:
            ToolError: There is no such home.
        """
        return connection(self.state, self.home(home)["customer"])

    def _box(self, home: str, device: Powered) -> Record:
        box: Record = _box_of(self.home(home), device)
        return box

    def running_router(self, home: str) -> Record:
        """Return a home's record where its router answers.

        Raises:
            ToolError: There is no such home, or the router is off or hangs.
        """
        record = self.home(home)
        if not record["router"]["power"] or record["router"]["frozen"]:
            raise ToolError("The router's page does not open.")
        return record

    def _start_router(self, home: str) -> None:
        line = self._line(home)
        with self.edit(home) as record:
            record["router"]["frozen"] = False
            record["router"]["lease"] = {**line["provisioned"], "profile": line["profile"]}
        self._try_login(home)

    def _try_login(self, home: str) -> str:
        session = self.link(home).session
        if session is Session.REJECTED:
            with self.state.edit("lines", self._line_id(home)) as line:
                line["failed_logins"] += 1
                if line["failed_logins"] >= LOCK_AFTER:
                    line["locked"] = "logins"
        return _LOGIN_SHOWN[session]

    def _line_id(self, home: str) -> str:
        customer = self.state.get("customers", self.home(home)["customer"])
        return str(customer["line"]) if customer else ""

    def _line(self, home: str) -> Record:
        found = self.state.get("lines", self._line_id(home))
        if found is None:
            raise KeyError(home)
        return found


_LOGIN_SHOWN = {
    Session.UP: "The router is logged in; the internet light is green.",
    Session.REJECTED: "The router says: login refused.",
    Session.LOCKED: "The router says: login refused.",
    Session.SUSPENDED: "The router says: login refused.",
    Session.NONE: "The router says: no connection to the provider.",
}


def _box_of(record: Any, device: Powered) -> Any:
    box = record[device.replace(" ", "_").replace("-", "_")]
    if box is None:
        raise ToolError(f"There is no {device} here.")
    return box


def _socket(record: dict[str, Any], cable: Cable) -> tuple[dict[str, Any], str]:
    fibre = record["optical_box"] is not None
    holder, part = {
        "fibre": (record["optical_box"], "fibre"),
        "network": (record["router"] if fibre else None, "wan"),
        "phone": (record["phone_socket"], "cable"),
        "tv": (record["set_top_box"], "hdmi"),
        "desktop": (record["devices"].get("desktop"), "cable"),
    }[cable]
    if holder is None:
        raise ToolError(f"There is no {cable} cable here.")
    return holder, part


def _box_lights(box: Record, signal: Signal) -> str:
    if not box["power"]:
        return "Optical box: all lights off."
    light = {Signal.GOOD: "green", Signal.UNREGISTERED: "blinking green"}.get(signal, "red")
    return f"Optical box: power green, signal {light}."


def _router_lights(router: Record, link: Connection, *, copper: bool) -> str:
    if not router["power"]:
        return "Router: all lights off."
    if router["frozen"]:
        return "Router: all lights orange, nothing changes."
    internet = {Session.UP: "green", Session.NONE: "off"}.get(link.session, "red")
    line = {Signal.GOOD: "green", Signal.UNSTABLE: "green, going out now and then"}
    signal = f" line {line.get(link.signal, 'off')}," if copper else ""
    wifi = "green" if router["wifi"]["on"] else "off"
    return f"Router: power green,{signal} internet {internet}, wifi {wifi}."
