"""The customer's own side: what a person at home sees and does with the devices there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from agentgym.errors import ToolError
from agentgym_tools.broadband.connection import (
    Connection,
    Reach,
    Session,
    Signal,
    connection,
)
from agentgym_tools.state import Record
from agentgym_tools.toolkit import Toolkit, reads, writes

Powered = Literal["router", "optical box", "set-top box"]
Cable = Literal["fibre", "network", "phone", "tv", "desktop"]
Band = Literal["2.4", "5"]

LOCK_AFTER = 5
"""Failed logins after which the exchange locks a port."""


class DeviceTools(Toolkit):
    """What can be seen and done at home; every call names the home, such as "H1001"."""

    @reads
    def read_lights(self, home: str) -> str:
        """Look at the lights of the boxes.

        Args:
            home: The home's id.
        """
        record = self._home(home)
        link = self._connection(home)
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
            return f"Wifi password: {self._home(home)['router']['wifi']['password']}"
        return f"Serial number: {self._box(home, device)['serial']}"

    @reads
    def check_cables(self, home: str) -> str:
        """Look at the cables without touching them.

        Args:
            home: The home's id.
        """
        record = self._home(home)
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
        with self._edit(home) as record:
            holder, part = _socket(record, cable)
            if holder[part] != "worn" or spare:
                holder[part] = "plugged"
        return f"The {cable} cable sits firmly now."

    @writes
    def fit_filter(self, home: str) -> str:
        """Put the filter between the phone socket and the telephone.

        Args:
            home: The home's id.
        """
        with self._edit(home) as record:
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
        with self._edit(home) as record:
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
            with self._edit(home) as record:
                record["set_top_box"]["frozen"] = False
        return f"The {device} has restarted."

    @writes
    def factory_reset_router(self, home: str) -> str:
        """Set the router back to how it came, which erases its login.

        Args:
            home: The home's id.
        """
        self._running_router(home)
        with self._edit(home) as record:
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
        self._running_router(home)
        with self._edit(home) as record:
            record["router"]["login"] = {"username": username.strip(), "password": password.strip()}
        return self._try_login(home)

    @reads
    def show_wifi(self, home: str) -> dict[str, Any]:
        """Open the router's wifi page.

        Args:
            home: The home's id.
        """
        record = self._running_router(home)
        wifi = record["router"]["wifi"]
        names = {device["mac"]: name for name, device in record["devices"].items()}
        return {
            **{part: wifi[part] for part in ("on", "bands", "channel")},
            "channels_of_neighbours": record["busy_channels"],
            "device_filter": wifi["filter"],
            "devices_let_in": [names.get(mac, mac) for mac in wifi["allowed"]],
        }

    @writes
    def set_wifi(
        self,
        home: str,
        on: bool | None = None,
        channel: Literal[1, 6, 11] | None = None,
        bands: list[Band] | None = None,
        device_filter: bool | None = None,
    ) -> str:
        """Change the router's wifi; what is not given stays.

        Args:
            home: The home's id.
            on: Whether wifi is on.
            channel: The channel of the 2.4 GHz band.
            bands: The bands in use.
            device_filter: Whether only listed devices are let in.
        """
        self._running_router(home)
        given = {"on": on, "channel": channel, "bands": bands, "filter": device_filter}
        with self._edit(home) as record:
            new = {part: value for part, value in given.items() if value is not None}
            record["router"]["wifi"].update(new)
        return "The wifi settings are saved."

    @writes
    def allow_device(self, home: str, device: str) -> str:
        """Put a device on the list of those the router lets in.

        Args:
            home: The home's id.
            device: Such as "laptop".
        """
        self._running_router(home)
        with self._edit(home) as record:
            mac = _device(record, device)["mac"]
            allowed = record["router"]["wifi"]["allowed"]
            if mac not in allowed:
                allowed.append(mac)
        return f"The {device} is on the list."

    @reads
    def show_device(self, home: str, device: str) -> dict[str, Any]:
        """Look at a device's network settings.

        Args:
            home: The home's id.
            device: Such as "laptop".
        """
        record = _device(self._home(home), device)
        link = self._connection(home).devices[device]
        hidden = ("mac", "password", "cable")
        shown = {part: value for part, value in record.items() if part not in hidden}
        return {"shows": link.reach, **shown}

    @writes
    def set_device(
        self,
        home: str,
        device: str,
        airplane: bool | None = None,
        wifi: bool | None = None,
        vpn: bool | None = None,
        automatic_dns: bool | None = None,
    ) -> str:
        """Change a device's network settings; what is not given stays.

        Args:
            home: The home's id.
            device: Such as "laptop".
            airplane: Whether airplane mode is on.
            wifi: Whether its wifi is on.
            vpn: Whether its VPN is on.
            automatic_dns: True to let the router name the DNS server.
        """
        given = {"airplane": airplane, "wifi": wifi, "vpn": vpn}
        new: dict[str, Any] = {part: value for part, value in given.items() if value is not None}
        if automatic_dns:
            new["dns"] = "automatic"
        with self._edit(home) as record:
            found = _device(record, device)
            unknown = sorted(new.keys() - found.keys())
            if unknown:
                raise ToolError(f"The {device} has no setting {', '.join(unknown)}.")
            found.update(new)
        return f"The {device}'s settings are saved."

    @writes
    def join_wifi(self, home: str, device: str, band: Band, password: str) -> str:
        """Connect a device to the wifi of the home.

        Args:
            home: The home's id.
            device: Such as "laptop".
            band: 2.4 or 5 GHz.
            password: The wifi password.
        """
        with self._edit(home) as record:
            found = _device(record, device)
            if band not in found.get("bands", ()):
                raise ToolError(f"The {device} cannot use {band} GHz wifi.")
            found.update(band=band, password=password.strip())
        return f"The {device} shows: {self._connection(home).devices[device].reach}."

    @reads
    def run_speed_test(self, home: str, device: str) -> str:
        """Run a speed test on a device.

        Args:
            home: The home's id.
            device: Such as "laptop".
        """
        _device(self._home(home), device)
        link = self._connection(home).devices[device]
        if link.reach is not Reach.ONLINE:
            return f"The test does not run; the {device} shows: {link.reach}."
        return f"{link.speed.down:g} Mbit/s down, {link.speed.up:g} Mbit/s up."

    @reads
    def watch_tv(self, home: str) -> str:
        """Look at what the television shows.

        Args:
            home: The home's id.
        """
        return f"The television shows: {self._connection(home).tv}."

    @writes
    def pay_invoice(self, home: str, invoice_id: str) -> str:
        """Pay an invoice in the provider's app.

        Args:
            home: The home's id.
            invoice_id: Such as "INV-1001-02".
        """
        invoice = self.state.get("invoices", invoice_id)
        if invoice is None or invoice["customer"] != self._home(home)["customer"]:
            raise ToolError(f"The app shows no invoice {invoice_id!r}.")
        if invoice["status"] == "paid":
            raise ToolError(f"{invoice_id} is paid already.")
        with self.state.edit("invoices", invoice_id) as record:
            record["status"] = "paid"
        return f"{invoice_id} is paid: {invoice['amount']:.2f} dollars."

    def _home(self, home: str) -> Record:
        found = self.state.get("homes", home)
        if found is None:
            raise ToolError(f"There is no home {home!r}.")
        return found

    @contextmanager
    def _edit(self, home: str) -> Iterator[dict[str, Any]]:
        self._home(home)
        with self.state.edit("homes", home) as record:
            yield record

    def _connection(self, home: str) -> Connection:
        return connection(self.state, self._home(home)["customer"])

    def _box(self, home: str, device: Powered) -> Record:
        return _box_of(self._home(home), device)

    def _running_router(self, home: str) -> Record:
        record = self._home(home)
        if not record["router"]["power"] or record["router"]["frozen"]:
            raise ToolError("The router's page does not open.")
        return record

    def _start_router(self, home: str) -> None:
        line = self._line(home)
        with self._edit(home) as record:
            record["router"]["frozen"] = False
            record["router"]["lease"] = {**line["provisioned"], "profile": line["profile"]}
        self._try_login(home)

    def _try_login(self, home: str) -> str:
        session = self._connection(home).session
        if session is Session.REJECTED:
            with self.state.edit("lines", self._line_id(home)) as line:
                port = line["port"]
                port["failed_logins"] += 1
                if port["failed_logins"] >= LOCK_AFTER:
                    port["locked"] = "logins"
        return _LOGIN_SHOWN[session]

    def _line_id(self, home: str) -> str:
        customer = self.state.get("customers", self._home(home)["customer"])
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


def _device(record: Any, device: str) -> Any:
    found = record["devices"].get(device)
    if found is None:
        raise ToolError(f"There is no {device!r}; there are: {', '.join(record['devices'])}.")
    return found


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
