"""Builds a task: who writes, what they want one after the other, and what settles it.

The calls of the right solution are made while the task is built: a scenario that the records do
not bear out raises.
"""

from collections.abc import Iterable
from typing import Any

from agentgym.types import Json
from agentgym_tools.broadband import NAME, domain
from agentgym_tools.broadband.device_tools import DeviceTools
from agentgym_tools.broadband.scenarios import deeds
from agentgym_tools.broadband.scenarios.callers import Caller, caller_facts
from agentgym_tools.broadband.scenarios.phrasing import CABLES
from agentgym_tools.comparing import holds
from agentgym_tools.domain import Call
from agentgym_tools.replay import answer
from agentgym_tools.script import (
    NOTHING_ELSE,
    Deed,
    Expect,
    Fact,
    Parts,
    Script,
    Told,
    Wish,
    Wordings,
)
from agentgym_tools.state import Record
from agentgym_tools.tasks import Lookup, Rules, ToolsPrivate, ToolsPublic, ToolsTask
from agentgym_tools.toolkit import Effect

Steps = Iterable[Call | Deed]


class Conversation:
    """A task while it is made; `repair`, `grant`, `refuse` and `pass_on` add a wish each.

    Args:
        name: Unique among the broadband tasks.
        split: "train" or "test".
        customer: The account it is about.
        caller: Who writes, where it is not the holder with the right PIN.
        manner: How the person behaves, for an LLM user.
        details: Further sentences; see `Script`.
        facts: What they tell when asked, besides who they are.
        checklist: Statements for a judge; see `Rules`.
    """

    def __init__(
        self,
        name: str,
        split: str,
        customer: str,
        *,
        caller: Caller | None = None,
        manner: str = "",
        details: tuple[str, ...] = (),
        facts: tuple[Fact, ...] = (),
        checklist: tuple[str, ...] = (),
    ) -> None:
        self.name, self.id, self._split = name, customer, split
        self._desk = domain().open()
        self.customer = self.record("customers", customer)
        self.home: str = self.customer["home"]
        self._caller = caller or Caller()
        self._manner, self._details, self._facts = manner, details, facts
        self._checklist = checklist
        self._wishes: list[Wish] = []
        self._told: dict[str, Told] = {}
        self._deeds: dict[str, Deed] = {}
        self._lookups: list[Call] = []
        self._required: list[Expect] = []
        self._kinds: list[str] = []
        self._check_caller()

    # Records.

    def record(self, collection: str, key: str) -> Record:
        """Return a record as it is after what was settled so far.

        Raises:
            ValueError: There is none.
        """
        found = self._desk.state.get(collection, key)
        if found is None:
            raise ValueError(f"{self.name}: there is no {key} in {collection}")
        return found

    @property
    def line(self) -> Record:
        """The customer's line."""
        return self.record("lines", self.customer["line"])

    @property
    def plan(self) -> Record:
        """The customer's plan."""
        return self.record("plans", self.line["plan"])

    @property
    def area(self) -> str:
        """Where the customer lives."""
        return str(self.customer["address"]["area"])

    def slots(self) -> list[tuple[str, Record]]:
        """Return all visit slots of the customer's area, free or taken."""
        return [
            (k, slot) for k, slot in self._desk.state.items("slots") if slot["area"] == self.area
        ]

    def agent(self, tool: str, **arguments: Json) -> Call:
        """Return a call of the agent's for this customer."""
        return Call(name=tool, arguments={"customer_id": self.id, **arguments})

    # What may be said and done.

    def tell(self, name: str, *parts: str | tuple[str, ...], unless: tuple[str, ...] = ()) -> str:
        """Declare something that has to be told, and return its name.

        Args:
            name: Unique in the task.
            parts: What a message has to name, each in any of its wordings.
            unless: Phrases that make it say something else.
        """
        each = tuple((part,) if isinstance(part, str) else part for part in parts)
        self._told[name] = Told(name=name, parts=each, unless=unless)
        return name

    def able(self, *more: Deed) -> "Conversation":
        """Declare what the person can do besides what the solution needs.

        What they can do already is asked for in more ways.
        """
        for deed in more:
            known = self._deeds.get(deed.name, deed)
            asked = tuple(dict.fromkeys((*known.asked, *deed.asked)))
            self._deeds[deed.name] = known.model_copy(update={"asked": asked})
        return self

    # Wishes.

    def repair(
        self,
        says: Wordings,
        *steps: Call | Deed,
        until: dict[str, Json] | None = None,
        told: tuple[str, ...] = (),
    ) -> "Conversation":
        """Add a fault that both sides have to do something about.

        Args:
            says: How the person puts it.
            steps: What they and the agent do, in order, after the usual tests.
            until: The connection's fields that hold in the end; by default, it is good.
            told: Names of what has to be told.
        """
        done = Expect(collection="connection", key=self.id, fields=until or {"good": True})
        self._required.append(done)
        self._add("repair", says, [*self.tests(), *steps], (done,), told=told)
        self._lookups.append(self.agent("test_line"))
        return self

    def grant(
        self,
        says: Wordings,
        *steps: Call | Deed,
        done: tuple[Expect, ...],
        agrees: Parts = (),
        proofs: tuple[Call, ...] = (),
        told: tuple[str, ...] = (),
        before: Wish | None = None,
        corrections: tuple[Any, ...] = (),
    ) -> "Conversation":
        """Add a wish that the policy allows.

        Args:
            says: How the person puts it.
            steps: What settles it.
            done: What they wait for.
            agrees: What a request for agreement has to name.
            proofs: Lookups without which the agent cannot know that it is allowed.
            told: Names of what has to be told.
            before: What they wanted before they changed their mind.
            corrections: What is objected to in a request for agreement.
        """
        self._lookups += proofs
        more: dict[str, Any] = {"agrees": agrees, "corrections": corrections, "told": told}
        self._add("grant", says, [*proofs, *steps], done, before=before, **more)
        return self

    def refuse(
        self,
        says: Wordings,
        *proofs: Call | Deed,
        told: tuple[str, ...],
        gives_in: tuple[Expect, ...] = (),
        insists: tuple[Wordings, ...] = (),
    ) -> "Conversation":
        """Add a wish that the policy does not allow.

        Args:
            says: How the person puts it.
            proofs: Lookups, and what the person does, that show why.
            told: Names of what has to be told.
            gives_in: What is true when the agent does it all the same.
            insists: What the person says to the refusal.
        """
        self._lookups += [proof for proof in proofs if isinstance(proof, Call)]
        more: dict[str, Any] = {"refused": True, "insists": insists, "told": told}
        self._add("refuse", says, proofs, gives_in, **more)
        return self

    def pass_on(
        self, says: Wordings, department: str, *proofs: Call, told: tuple[str, ...] = ()
    ) -> "Conversation":
        """Add a wish with which the agent has to hand over."""
        self._lookups += proofs
        done = Expect(collection="handovers", fields={"department": department})
        summary = f"{self.customer['name']}, {self.id}: see the conversation."
        call = Call(name="hand_over", arguments={"department": department, "summary": summary})
        self._add("hand over", says, [*proofs, call], (done,), told=told)
        return self

    def tests(self) -> tuple[Call, ...]:
        """Return the calls that the policy wants before every repair."""
        outages = Call(name="list_outages", arguments={"area": self.area})
        return (outages, self.agent("test_line"))

    # The task.

    def task(self) -> ToolsTask:
        """Return the task."""
        handover = "hand over" in self._kinds
        facts = (
            *caller_facts(self.id, self.customer, self._caller),
            *self._facts,
            *((NOTHING_ELSE,) if handover else ()),
        )
        script = Script(
            opening=self._wishes[0].says,
            wishes=tuple(self._wishes),
            facts=facts,
            deeds=tuple(sorted(self._deeds.values(), key=_turn)),
            told=tuple(self._told.values()),
            details=self._details,
        )
        lookups = [*self._caller.checks(self.id, self.customer), *self._lookups]
        unique = list({call.model_dump_json(): call for call in lookups}.values())
        rules = Rules(
            free=("homes",) if self._deeds else (),
            required=tuple(self._required),
            lookups=tuple(Lookup(any_of=(_asked(call),)) for call in unique),
            subjects=(self.id,),
            checklist=self._checklist,
            handover="must" if handover else "never",
        )
        return ToolsTask(
            id=f"{NAME}-{self.name}",
            split=self._split,
            public=ToolsPublic(domain=NAME),
            private=ToolsPrivate(script=script, story=self._story(), rules=rules),
            tags={"domain": NAME, "kind": _kind(self._kinds, dual=self._is_dual())},
        )

    def _check_caller(self) -> None:
        found = answer(self._desk, self._caller.checks(self.id, self.customer)[-1])
        if ('"verified": true' in found.text) != self._caller.known:
            raise ValueError(f"{self.name}: {found.text}")

    def _is_dual(self) -> bool:
        made = [call.name for wish in self._wishes for call in _last(wish).gold]
        tools = DeviceTools.declared()
        return any(name in tools and tools[name].effect is Effect.WRITE for name in made)

    def _story(self) -> str:
        wishes = " Then: ".join(wish.says[0] for wish in self._wishes)
        facts = " ".join(fact.says[0] for fact in self._facts)
        who = self._caller.story(self.id, self.customer)
        home = f"Your home is {self.home}; look there with your tools only when you are asked to."
        parts = [who, home, f"You want: {wishes}", *self._details, facts, self._manner]
        return " ".join(part for part in parts if part)

    def _add(
        self,
        kind: str,
        says: Wordings,
        steps: Steps,
        done: tuple[Expect, ...],
        *,
        before: Wish | None = None,
        **more: Any,
    ) -> None:
        steps = list(steps)
        if not self._wishes:
            steps = [*self._caller.checks(self.id, self.customer), *steps]
        for step in steps:
            if isinstance(step, Deed):
                self._deeds.setdefault(step.name, step)
        gold = tuple(step.call if isinstance(step, Deed) else step for step in steps)
        if kind != "refuse" and self._all(done):
            raise ValueError(f"{self.name}: {says[0]!r} is settled before it is said")
        self._carry_out(gold)
        if (kind == "refuse") == (bool(done) and self._all(done)):
            raise ValueError(f"{self.name}: {says[0]!r} ends in the wrong way")
        wish = Wish(says=says, done=done, gold=gold, **more)
        if before is not None:
            wish = before.model_copy(update={"instead": wish})
        self._wishes.append(wish)
        self._kinds.append(kind)

    def _carry_out(self, gold: tuple[Call, ...]) -> None:
        for call in gold:
            found = answer(self._desk, call)
            if found.error:
                raise ValueError(f"{self.name}: {call.name}: {found.text}")

    def _all(self, expected: tuple[Expect, ...]) -> bool:
        return all(holds(domain(), self._desk.state, part) for part in expected)

    # What people at home can do, whatever is wrong.

    def handy(self, *devices: str) -> "Conversation":
        """Declare what everybody can do at home; fixes come before looks."""
        home, have = self.home, self.record("homes", self.home)
        desktop = "desktop" in devices
        names = ["fibre", "network"] if self.line["technology"] == "fibre" else ["phone"]
        names += ["desktop"] if desktop else []
        names += ["tv"] if have["set_top_box"] else []
        fixes = [deeds.plug(home, cable, meant=False, desktop=desktop) for cable in names]
        others = [device for device in have["devices"] if device not in devices]
        called = [name for cable in names for name in CABLES[cable]]
        looks = [deeds.lights(home), deeds.cables(home, called, desktop=desktop)]
        looks += [deeds.wifi_page(home), deeds.speed(home, (*devices, "laptop")[0])]
        looks += [deeds.settings(home, device) for device in devices]
        looks += [deeds.settings(home, device, meant=False) for device in others]
        looks += [deeds.television(home)] if have["set_top_box"] else []
        if devices and "laptop" in others:
            looks.append(deeds.speed(home, "laptop", meant=False))
        # In a home where another box is to be restarted, "it" is that one.
        vague = "restart the set-top box" not in self._deeds
        return self.able(*fixes, deeds.restart(home, meant=vague), *looks)


def _turn(deed: Deed) -> int:
    """Order deeds asked for in one message: repairs, restarts, then looks at what they did."""
    if DeviceTools.declared()[deed.call.name].effect is Effect.READ:
        return 2
    return int(deed.call.name == "restart")


def _asked(call: Call) -> Call:
    """Return a call with the arguments that matter: how a name is written does not."""
    kept = {name: value for name, value in call.arguments.items() if name != "name"}
    return call.model_copy(update={"arguments": kept})


def _last(wish: Wish) -> Wish:
    return wish if wish.instead is None else _last(wish.instead)


def _kind(kinds: list[str], *, dual: bool) -> str:
    if dual:
        return "dual"
    return "refusal" if all(kind == "refuse" for kind in kinds) else "account"
