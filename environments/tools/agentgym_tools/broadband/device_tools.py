"""The customer's own side: wifi, and the devices that use it. It completes the toolkit."""

from collections.abc import Sequence
from typing import Any, Literal

from agentgym.errors import ToolError
from agentgym_tools.broadband.connection import Reach
from agentgym_tools.broadband.home_tools import HomeTools
from agentgym_tools.toolkit import reads, writes

Band = Literal["2.4", "5"]
_FROM_ROUTER = {"near": "near", "far": "far from"}


class DeviceTools(HomeTools):
    """All that a person can see and do at home; every call names the home, such as "H1001"."""

    @reads
    def show_wifi(self, home: str) -> str:
        """Open the router's wifi page.

        Args:
            home: The home's id.
        """
        record = self.running_router(home)
        wifi = record["router"]["wifi"]
        names = {device["mac"]: name for name, device in record["devices"].items()}
        allowed = _listed([names.get(mac, mac) for mac in wifi["allowed"]])
        return (
            f"Wifi {_on(wifi['on'])}; bands in use: {_listed(wifi['bands'])} GHz; 2.4 GHz channel "
            f"{wifi['channel']}; neighbours use the channels {_listed(record['busy_channels'])}; "
            f"device filter {_on(wifi['filter'])}, devices on its list: {allowed}."
        )

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
        self.running_router(home)
        given = {"on": on, "channel": channel, "bands": bands, "filter": device_filter}
        with self.edit(home) as record:
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
        self.running_router(home)
        with self.edit(home) as record:
            mac = _device(record, device)["mac"]
            allowed = record["router"]["wifi"]["allowed"]
            if mac not in allowed:
                allowed.append(mac)
        return f"The {device} is on the list."

    @reads
    def show_device(self, home: str, device: str) -> str:
        """Look at a device's network settings.

        Args:
            home: The home's id.
            device: Such as "laptop".
        """
        record = _device(self.home(home), device)
        shown = f"The {device} shows: {self.link(home).devices[device].reach}."
        if "band" in record:
            shown += (
                f" Airplane mode {_on(record['airplane'])}, wifi {_on(record['wifi'])}, uses the "
                f"{record['band']} GHz band (it can: {_listed(record['bands'])}), "
                f"{_FROM_ROUTER[record['distance']]} the router."
            )
        return f"{shown} VPN {_on(record['vpn'])}, DNS server: {record['dns']}."

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
        with self.edit(home) as record:
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
        with self.edit(home) as record:
            found = _device(record, device)
            if band not in found.get("bands", ()):
                raise ToolError(f"The {device} cannot use {band} GHz wifi.")
            found.update(band=band, password=password.strip())
        return f"The {device} shows: {self.link(home).devices[device].reach}."

    @reads
    def run_speed_test(self, home: str, device: str) -> str:
        """Run a speed test on a device.

        Args:
            home: The home's id.
            device: Such as "laptop".
        """
        _device(self.home(home), device)
        link = self.link(home).devices[device]
        if link.reach is not Reach.ONLINE:
            return f"The test does not run; the {device} shows: {link.reach}."
        return f"{link.speed.down:g} Mbit/s down, {link.speed.up:g} Mbit/s up."


def _on(value: bool) -> str:
    return "on" if value else "off"


def _listed(values: Sequence[object]) -> str:
    return " and ".join(str(value) for value in values) or "none"


def _device(record: Any, device: str) -> Any:
    found = record["devices"].get(device)
    if found is None:
        raise ToolError(f"There is no {device!r}; there are: {', '.join(record['devices'])}.")
    return found
