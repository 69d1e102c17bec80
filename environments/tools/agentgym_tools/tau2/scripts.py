"""Scripted users for the benchmark's tasks, whose users are described in prose.

A script cannot play prose as a model does: this user states the reason of the call, tells
everything known when asked for anything, agrees to every proposal, and tells the rest of the
description sentence by sentence where the agent asks for more. It is deterministic and needs no
key. Results that are compared with published ones need an LLM user.
"""

import re
from collections.abc import Sequence

from agentgym_tools.domain import Call
from agentgym_tools.script import Fact, Script, Told, Wish
from agentgym_tools.tau2.tasks import Instructions, Tau2Task

_ASKED = (
    *("name", "user id", "id", "email", "e-mail", "zip", "zip code", "postal code", "address"),
    *("phone", "date of birth", "birthday", "reservation", "reservation number", "confirmation"),
    *("order", "order number", "order id", "identify", "identity", "verify", "authenticate"),
    *("payment", "payment method", "card", "details", "information", "passenger", "passengers"),
)

_SHIFTS = (
    (r"\byou are\b", "I am"),
    (r"\byou're\b", "I'm"),
    (r"\byou were\b", "I was"),
    (r"\byou've\b", "I've"),
    (r"\byou'd\b", "I'd"),
    (r"\byou'll\b", "I'll"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byour\b", "my"),
    (r"\b(to|for|with|of|from|on|at|by|about|tells?|gives?|told|asks?|help|let) you\b", r"\1 me"),
    (r"\byou\b", "I"),
    (r"\bthe (?:customer service )?(?:agent|representative)\b", "you"),
)


def script_of(task: Tau2Task, gold: Sequence[Call]) -> Script:
    """Return the script of a task's user.

    Args:
        task: The task.
        gold: Its calls, in the order they are to be made.
    """
    instructions = task.user_scenario.instructions
    if isinstance(instructions, str):
        instructions = Instructions(task_instructions=".", domain="", reason_for_call=instructions)
    reason = _first_person(instructions.reason_for_call)
    known = _first_person(f"{instructions.known_info or ''} {instructions.unknown_info or ''}")
    told = tuple(
        Told(name=f"fact {number}", parts=((text,),))
        for number, text in enumerate(task.evaluation_criteria.communicate_info, start=1)
    )
    wish = Wish(says=(reason,), done="gold", told=tuple(t.name for t in told), gold=tuple(gold))
    return Script(
        opening=(f"Hello. {reason}", f"Hi, {reason}"),
        wishes=(wish,),
        facts=(Fact(name="what is known", asked=_ASKED, says=(known,)),) if known else (),
        told=told,
        details=tuple(_sentences(_first_person(instructions.task_instructions))),
        patience=5,
    )


def story_of(task: Tau2Task) -> str:
    """Return what an LLM user plays, in the benchmark's words under plain headings."""
    instructions = task.user_scenario.instructions
    if isinstance(instructions, str):
        return instructions
    parts = (
        ("Who you are", task.user_scenario.persona),
        ("Why you call", instructions.reason_for_call),
        ("What you know", instructions.known_info),
        ("What you do not know", instructions.unknown_info),
        ("How you behave", instructions.task_instructions),
    )
    return "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts if text)


def _first_person(text: str) -> str:
    for pattern, words in _SHIFTS:
        text = re.sub(pattern, words, text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if re.search(r"\w", part)]
