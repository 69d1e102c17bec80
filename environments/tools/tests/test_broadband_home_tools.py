import re
from typing import Any

import pytest

from agentgym.errors import ToolError
from agentgym_tools.broadband import domain
from agentgym_tools.broadband.connection import Session, Tv, connection
from agentgym_tools.domain import Desk


@pytest.fixture
def desk() -> Desk:
    return domain().open()


def do(desk: Desk, name: str, home: str, **arguments: object) -> str:
    assert desk.user is not None
    return desk.user.call(name, {"home": home, **arguments})


def record(desk: Desk, collection: str, key: str) -> Any:
    found = desk.state.get(collection, key)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("home", "lights"),
    [
        (
            "H1136",
            "Optical box: power green, signal green. Router: power green, internet green, wifi",
        ),
        ("H1067", "Optical box: power green, signal red. Router: power green, internet off"),
        ("H1014", "Optical box: all lights off."),
        ("H1038", "Optical box: power green, signal blinking green."),
        ("H1118", "Router: all lights orange"),
        ("H1084", "Router: all lights off."),
        ("H1105", "line green, going out now and then, internet green"),
        ("H1047", "line off, internet off"),
        ("H1020", "line green, internet red"),
        ("H1019", "internet green, wifi off."),
    ],
)
def test_lights_follow_from_line_and_devices(desk: Desk, home: str, lights: str) -> None:
    assert lights in do(desk, "read_lights", home)


def test_labels_and_cables(desk: Desk) -> None:
    assert re.fullmatch(
        r"Serial number: OB-\d{6}", do(desk, "read_label", "H1038", device="optical box")
    )
    wifi = record(desk, "homes", "H1038")["router"]["wifi"]["password"]
    assert do(desk, "read_label", "H1038", device="router") == f"Wifi password: {wifi}"
    assert "router: wrong socket" in do(desk, "check_cables", "H1010")
    assert "Filter in the phone socket: no" in do(desk, "check_cables", "H1015")
    assert "Television cable: loose" in do(desk, "check_cables", "H1077")
    assert "Desktop's network cable: worn" in do(desk, "check_cables", "H1096")


@pytest.mark.parametrize(
    ("customer", "tool", "arguments"),
    [
        ("C1067", "fix_cable", {"cable": "fibre"}),
        ("C1010", "fix_cable", {"cable": "network"}),
        ("C1047", "fix_cable", {"cable": "phone"}),
        ("C1015", "fit_filter", {}),
        ("C1014", "switch_power", {"device": "optical box", "on": True}),
        ("C1084", "switch_power", {"device": "router", "on": True}),
        ("C1118", "restart", {"device": "router"}),
    ],
)
def test_one_step_mends_a_line(
    desk: Desk, customer: str, tool: str, arguments: dict[str, object]
) -> None:
    assert not connection(desk.state, customer).good
    do(desk, tool, f"H{customer[1:]}", **arguments)
    assert connection(desk.state, customer).good


@pytest.mark.parametrize(
    ("customer", "device", "tool", "arguments"),
    [
        ("C1019", "laptop", "set_wifi", {"on": True}),
        ("C1057", "laptop", "set_wifi", {"channel": 6}),
        ("C1013", "camera", "set_wifi", {"bands": ["2.4"]}),
        ("C1002", "phone", "allow_device", {"device": "phone"}),
        ("C1002", "phone", "set_wifi", {"device_filter": False}),
        ("C1058", "laptop", "set_device", {"device": "laptop", "airplane": False}),
        ("C1073", "phone", "set_device", {"device": "phone", "wifi": True}),
        ("C1018", "laptop", "set_device", {"device": "laptop", "vpn": False}),
        ("C1089", "laptop", "set_device", {"device": "laptop", "automatic_dns": True}),
        ("C1075", "desktop", "fix_cable", {"cable": "desktop", "spare": True}),
    ],
)
def test_one_step_mends_a_device(
    desk: Desk, customer: str, device: str, tool: str, arguments: dict[str, object]
) -> None:
    assert not connection(desk.state, customer).devices[device].good
    do(desk, tool, f"H{customer[1:]}", **arguments)
    assert connection(desk.state, customer).devices[device].good


def test_a_device_joins_with_the_password_of_the_label(desk: Desk) -> None:
    wrong = do(desk, "join_wifi", "H1056", device="laptop", band="2.4", password="sun")
    assert "password is refused" in wrong
    password = do(desk, "read_label", "H1056", device="router").removeprefix("Wifi password: ")
    joined = do(desk, "join_wifi", "H1056", device="laptop", band="2.4", password=password)
    assert joined == "The laptop shows: online."


def test_a_channel_that_neighbours_use_helps_nobody(desk: Desk) -> None:
    do(desk, "set_wifi", "H1057", channel=11)
    assert do(desk, "run_speed_test", "H1057", device="laptop").startswith("3 Mbit/s down")


def test_a_worn_cable_stays_worn_until_it_is_replaced(desk: Desk) -> None:
    do(desk, "fix_cable", "H1075", cable="desktop")
    assert do(desk, "run_speed_test", "H1075", device="desktop") == "90 Mbit/s down, 90 Mbit/s up."


def test_a_speed_test_and_settings_show_what_is_wrong(desk: Desk) -> None:
    shown = do(desk, "run_speed_test", "H1058", device="laptop")
    assert shown == "The test does not run; the laptop shows: airplane mode is on."
    assert "Airplane mode on" in do(desk, "show_device", "H1058", device="laptop")
    assert "far from the router" in do(desk, "show_device", "H1006", device="laptop")
    assert "DNS server: 10.9.8.7" in do(desk, "show_device", "H1089", device="laptop")
    assert "GHz" not in do(desk, "show_device", "H1075", device="desktop")
    page = do(desk, "show_wifi", "H1002")
    assert "device filter on, devices on its list: laptop." in page


def test_settings_reach_the_router_only_when_it_starts(desk: Desk) -> None:
    desk.agent.call("set_profile", {"customer_id": "C1105", "profile": "stable"})
    assert not connection(desk.state, "C1105").good
    do(desk, "restart", "H1105", device="router")
    assert connection(desk.state, "C1105").good


def test_a_new_password_has_to_be_entered_and_the_port_open(desk: Desk) -> None:
    username = record(desk, "lines", "L1022")["login"]["username"]
    desk.agent.call("reset_login", {"customer_id": "C1022"})
    password = record(desk, "lines", "L1022")["login"]["password"]
    refused = do(desk, "enter_login", "H1022", username=username, password=password)
    assert refused == "The router says: login refused."
    desk.agent.call("unlock_port", {"customer_id": "C1022"})
    assert connection(desk.state, "C1022").session is Session.UP


def test_five_failed_logins_lock_the_port(desk: Desk) -> None:
    failed = record(desk, "lines", "L1020")["failed_logins"]
    for attempt in range(failed + 1, 6):
        assert record(desk, "lines", "L1020")["locked"] is None
        do(desk, "enter_login", "H1020", username="me", password=f"guess {attempt}")
    assert record(desk, "lines", "L1020")["locked"] == "logins"
    do(desk, "enter_login", "H1020", username="me", password="again")
    assert record(desk, "lines", "L1020")["failed_logins"] == 5


def test_a_factory_reset_erases_the_login(desk: Desk) -> None:
    do(desk, "factory_reset_router", "H1136")
    assert connection(desk.state, "C1136").session is Session.REJECTED


@pytest.mark.parametrize(
    ("home", "before", "tool", "arguments"),
    [
        ("H1077", Tv.DARK, "fix_cable", {"cable": "tv"}),
        ("H1116", Tv.FROZEN, "restart", {"device": "set-top box"}),
    ],
)
def test_television(
    desk: Desk, home: str, before: Tv, tool: str, arguments: dict[str, object]
) -> None:
    assert do(desk, "watch_tv", home) == f"The television shows: {before}."
    do(desk, tool, home, **arguments)
    assert do(desk, "watch_tv", home) == "The television shows: a clear picture."


def test_television_needs_box_plan_and_line(desk: Desk) -> None:
    assert "error 20" in do(desk, "watch_tv", "H1012")
    assert "error 30" in do(desk, "watch_tv", "H1039")
    assert "no set-top box" in do(desk, "watch_tv", "H1001")
    do(desk, "switch_power", "H1116", device="router", on=False)
    do(desk, "restart", "H1116", device="set-top box")
    assert "error 10" in do(desk, "watch_tv", "H1116")


def test_an_invoice_is_paid_once_by_its_own_customer(desk: Desk) -> None:
    paid = do(desk, "pay_invoice", "H1003", invoice_id="INV-1003-02")
    assert paid == "INV-1003-02 is paid: 34.90 dollars."
    for home in ("H1003", "H1026"):
        with pytest.raises(ToolError, match=r"paid already|shows no invoice"):
            do(desk, "pay_invoice", home, invoice_id="INV-1003-02")


@pytest.mark.parametrize(
    ("name", "home", "arguments", "message"),
    [
        ("read_lights", "H9", {}, "no home 'H9'"),
        ("switch_power", "H9", {"device": "router", "on": True}, "no home 'H9'"),
        ("read_label", "H1047", {"device": "optical box"}, "no optical box here"),
        ("fix_cable", "H1047", {"cable": "fibre"}, "no fibre cable here"),
        ("fix_cable", "H1047", {"cable": "network"}, "no network cable here"),
        ("fix_cable", "H1001", {"cable": "phone"}, "no phone cable here"),
        ("fix_cable", "H1001", {"cable": "tv"}, "no tv cable here"),
        ("fix_cable", "H1001", {"cable": "desktop"}, "no desktop cable here"),
        ("fit_filter", "H1001", {}, "no phone socket here"),
        ("restart", "H1084", {"device": "router"}, "is off; switch it on"),
        ("show_wifi", "H1084", {}, "page does not open"),
        ("set_wifi", "H1118", {"on": True}, "page does not open"),
        ("enter_login", "H1118", {"username": "a", "password": "b"}, "page does not open"),
        ("factory_reset_router", "H1084", {}, "page does not open"),
        ("set_wifi", "H1001", {"channel": 3}, "channel"),
        ("show_device", "H1001", {"device": "camera"}, "no 'camera'; there are: laptop, phone"),
        ("run_speed_test", "H1001", {"device": "fridge"}, "no 'fridge'"),
        ("set_device", "H1075", {"device": "desktop", "airplane": True}, "no setting airplane"),
        (
            "join_wifi",
            "H1013",
            {"device": "camera", "band": "5", "password": "x"},
            "cannot use 5 GHz",
        ),
        ("pay_invoice", "H1001", {"invoice_id": "INV-1001-02"}, "paid already"),
    ],
)
def test_what_cannot_be_done_says_so_and_changes_nothing(
    desk: Desk, name: str, home: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        do(desk, name, home, **arguments)
    assert not desk.state.changes()
