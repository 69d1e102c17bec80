"""The oracle: serves the scripted user as the policy wants it, by the gold calls."""

from collections.abc import Generator, Sequence

from agentgym.types import Action, Observation, ToolCall
from agentgym_tools.domain import Call
from agentgym_tools.domains import open_domain
from agentgym_tools.script import Parts, Script, Wish
from agentgym_tools.tasks import ToolsTask

Turns = Generator[Action, Observation, None]


def play(task: ToolsTask, _observation: Observation) -> Turns:
    """Play a task to full reward with the scripted user."""
    script = task.private.script
    domain = open_domain(task.public.domain, task.private.folder)
    yield from _ask_for(script)
    for wish in script.wishes:
        yield from _serve(script, wish, domain.consent, domain.handover)


def _ask_for(script: Script) -> Turns:
    if script.facts:
        asked = " and your ".join(fact.asked[0] for fact in script.facts)
        yield Action(text=f"Could you tell me your {asked}?")


def _serve(script: Script, wish: Wish, consent: frozenset[str], handover: str | None) -> Turns:
    if wish.instead is not None:
        yield Action(text="Is that correct?")
        yield from _serve(script, wish.instead, consent, handover)
        return
    agreed = False
    last = [call for call in wish.gold if call.name == handover]
    for call in wish.gold:
        if call.requestor == "user":
            yield from _instruct(script, call)
            continue
        if call in last:
            continue
        if call.name in consent and not agreed:
            agreed = True
            yield Action(text=f"{_named(wish.agrees)} Shall I go ahead? Please answer yes or no.")
        yield _made(call)
    yield from _tell(script, wish, handover=bool(last))
    for call in last:
        yield _made(call)


def _tell(script: Script, wish: Wish, *, handover: bool) -> Turns:
    told = {part.name: part for part in script.told}
    for name in wish.told:
        yield Action(text=_named(told[name].parts))
    insists: Sequence[object] = wish.insists if wish.refused else ()
    for _ in insists:
        yield Action(text="I understand, but the answer stays the same.")
    if not wish.told and not handover:
        yield Action(text="That is done.")


def _instruct(script: Script, call: Call) -> Turns:
    for deed in script.deeds:
        if deed.call == call:
            for _ in range(2 if deed.first else 1):
                yield Action(text=f"Please {deed.asked[0]}.")


def _named(parts: Parts) -> str:
    return f"{', '.join(wordings[0] for wordings in parts)}." if parts else "As you wish."


def _made(call: Call) -> Action:
    return Action(tool_calls=(ToolCall(name=call.name, arguments=dict(call.arguments)),))
