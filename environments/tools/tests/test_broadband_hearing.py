"""What customers at home understand: clear orders are done, mere questions only looked into."""

import pytest

from agentgym.types import Action
from agentgym_tools.broadband import domain
from agentgym_tools.broadband.scenarios import tasks
from agentgym_tools.case import Case
from agentgym_tools.env import ToolsEnvironment

TASKS = {task.id.removeprefix("broadband-"): task for task in tasks()}
WORN = "Desktop's network cable: worn."


async def answers(name: str, *texts: str) -> list[str]:
    """Return what the customer of a task says to each text, one after the other."""
    env = ToolsEnvironment()
    await env.reset(TASKS[name], seed=7)
    said = []
    for text in texts:
        said.append((await env.step(Action(text=text))).observation.messages[-1].text)
    await env.close()
    return said


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        (
            "network-cable-painters",
            "Please plug the network cable in between the optical box and the router.",
            "The network cable sits firmly now.",
        ),
        (
            "network-cable-painters",
            "Please connect the optical box and the router with the network cable.",
            "The network cable sits firmly now.",
        ),
        (
            "network-cable-painters",
            "Make sure the network cable is firmly connected at both the box and the router.",
            "The network cable sits firmly now.",
        ),
        ("phone-cable-sofa", "Plug the loose cable in firmly.", "The phone cable sits firmly now."),
        (
            "box-power-strip",
            "Please make sure the optical box is plugged in and turned on.",
            "The optical box is on.",
        ),
        (
            "box-power-strip",
            "Please turn on the power strip so the optical box gets power.",
            "The optical box is on.",
        ),
        (
            "router-switched-off",
            "Please make sure the router is plugged in and powered on.",
            "The router is on.",
        ),
        ("airplane-phone", "Please disable flight mode on your phone.", "settings are saved."),
        ("vpn-films", "Please turn your VPN off.", "settings are saved."),
        (
            "filter-new-telephone",
            "Please insert the DSL filter between the phone socket and the cable.",
            "The filter is in.",
        ),
        (
            "wifi-password-changed",
            "Please enter the wifi password from the router's label on the laptop.",
            "The laptop shows: online.",
        ),
        ("worn-cable", "Please replace the network cable with a new one.", "The new cable is in."),
    ],
)
async def test_a_clear_order_is_done(name: str, text: str, result: str) -> None:
    said = (await answers(name, text))[0]
    assert result in said
    assert said.count("sits firmly") <= 1


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("worn-cable", "Please check the network cable between your desktop and the router.", WORN),
        ("worn-cable", "Is the cable of your PC worn or damaged?", WORN),
        ("visit-before-steps", "Please inspect the cable at your computer for kinks.", WORN),
        ("worn-cable", "What do the desktop's settings show?", "The desktop shows: online."),
        ("worn-cable", "Please run a speed test.", "90 Mbit/s down"),
        ("worn-cable", "Please run a speed test on the laptop.", "The laptop's test says: 60"),
        ("network-cable-painters", "Is the network cable plugged in?", "router: wrong socket."),
        ("fibre-cat", "Is the fibre cable plugged in firmly?", "optical box: loose."),
        ("phone-cable-sofa", "Is there a filter in the phone socket?", "socket: loose."),
        ("phone-cable-sofa", "Please check the cable in the phone socket.", "socket: loose."),
        ("filter-new-telephone", "Is there a filter in the phone socket?", "phone socket: no."),
        ("box-power-strip", "Is the optical box plugged in?", "Optical box: all lights off."),
        ("router-switched-off", "Is the router on?", "Router: all lights off."),
        ("airplane-phone", "Is airplane mode on?", "Airplane mode on"),
        ("laptop-wifi-off", "Is the wifi on your laptop on or off?", "wifi off"),
        ("wifi-gone", "Is the wifi on?", "Wifi off;"),
        ("channel-evenings", "Which channel is it on?", "2.4 GHz channel 1;"),
        ("camera-door", "Which bands are in use?", "bands in use: 5 GHz"),
        ("let-in-phone", "Which devices are on the device list?", "its list: laptop."),
        ("dns-from-work", "Which DNS server does it use?", "DNS server: 10.9.8.7."),
        ("dns-from-work", "Which error is shown?", "server name not found"),
        ("tv-dark", "Is the HDMI cable plugged in?", "Television cable: loose."),
    ],
)
async def test_what_is_asked_about_is_looked_at_and_left_alone(
    name: str, text: str, shown: str
) -> None:
    for said in await answers(name, text, text):
        assert shown in said
        assert "sits firmly" not in said


async def test_from_one_channel_to_another_is_one_change() -> None:
    (said,) = await answers("channel-evenings", "Please change from channel 1 to channel 6.")
    assert said.count("The wifi settings are saved.") == 1


async def test_whoever_wants_a_credit_too_says_so_before_the_goodbye() -> None:
    (said,) = await answers("channel-wants-credit", "Please set channel 11, then channel 6.")
    assert "credit" in said


async def test_a_stranger_tries_twice_and_understands_the_final_refusal() -> None:
    said = await answers(
        "stranger-guesses",
        "Please tell me your customer number, name and PIN.",
        "The details don't match. Could you try again?",
        "They don't match either. Do you have another PIN?",
        "The details don't match, so you can't be identified here. "
        "Please come to a shop with photo identification.",
    )
    assert ["0000" in text for text in said] == [False, True, False, False]
    assert said[2] == "I have told you the PIN. I don't know any other PIN."
    assert said[3] == "But I live here! You can see that on your screen."


async def test_nothing_else_is_wanted_before_a_handover() -> None:
    for name in ("complaint", "moving-home"):
        said = await answers(name, "Is there anything else before I hand you over?")
        assert said == ["No, nothing else. Please hand me over."]


def test_no_credit_is_said_in_ones_own_words() -> None:
    case = Case(domain(), TASKS["break-and-credit"].private)
    case.hear("I can't give a credit. I looked everywhere.")
    assert case.told == set()
    case.hear(
        "I can't give a credit: credits are only for outages in your area, and there hasn't been "
        "one in Old Town."
    )
    assert case.told == {"no outage"}
