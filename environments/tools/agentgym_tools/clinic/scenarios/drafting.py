"""What every scenario is made of: a state that moves on, and a script that grows with it."""

from collections.abc import Iterable
from typing import Any

from agentgym_tools.clinic import domain
from agentgym_tools.clinic.calendar import said_date, said_time
from agentgym_tools.clinic.rules import last_name, reasons
from agentgym_tools.clinic.scenarios.callers import Caller, facts
from agentgym_tools.domain import Call
from agentgym_tools.script import (
    NOTHING_ELSE,
    Correction,
    Expect,
    Fact,
    Parts,
    Script,
    Told,
    Wish,
    Wordings,
)
from agentgym_tools.state import Record, State
from agentgym_tools.tasks import Lookup, Rules, ToolsPrivate, ToolsPublic, ToolsTask

_HELLO = ("Hello.", "Good morning.", "Hi there.")
_REFUSES = ("front desk", "photo", "photo identification", "photo id", "photo-id")


class Draft:
    """A task while it is made.

    Args:
        name: Unique among the clinic's tasks.
        split: "train" or "test".
        callers: Who writes; the first one's patient is the default everywhere.
        manner: How the person behaves, for an LLM user.
        details: Further sentences; see `Script`.
        more_facts: What else they tell when asked.
    """

    def __init__(
        self,
        name: str,
        split: str,
        *callers: Caller,
        manner: str = "",
        details: tuple[str, ...] = (),
        more_facts: tuple[Fact, ...] = (),
    ) -> None:
        self.name = name
        self._split = split
        self._callers = callers
        self._manner = manner
        self._details = details
        self._more_facts = more_facts
        self._desk = domain().open()
        self._wishes: list[Wish] = []
        self._told: dict[str, Told] = {}
        self._lookups: list[Lookup] = []
        self._known: set[str] = set()
        self._outcomes: list[str] = []
        self.handover = False
        self.stranger = False

    @property
    def patient(self) -> str:
        """The first caller's patient."""
        return self._callers[0].patient

    def record(self, collection: str, key: str) -> Record:
        """Return a record as it is after what was granted so far.

        Raises:
            ValueError: There is none.
        """
        found = self._desk.state.get(collection, key)
        if found is None:
            raise ValueError(f"{self.name}: there is no {key} in {collection}")
        return found

    @property
    def count(self) -> int:
        """How many wishes there are so far."""
        return len(self._wishes)

    @property
    def state(self) -> State:
        """The state after what was granted so far."""
        return self._desk.state

    # The task.

    def task(self) -> ToolsTask:
        """Return the finished task."""
        patients = domain().base.collections["patients"]
        told = {caller: patients[caller.patient] for caller in self._callers}
        known = (*facts(told), *self._more_facts)
        if self.stranger:
            known = tuple(fact.model_copy(update={"unless": _REFUSES}) for fact in known)
        nothing_else = (NOTHING_ELSE,) if self.handover else ()
        script = Script(
            opening=tuple(f"{hello} {says}" for hello in _HELLO for says in self._wishes[0].says),
            wishes=tuple(self._wishes),
            facts=(*known, *nothing_else),
            told=tuple(self._told.values()),
            details=self._details,
        )
        rules = Rules(
            lookups=tuple(self._lookups),
            subjects=tuple(dict.fromkeys(caller.patient for caller in self._callers)),
            handover="must" if self.handover else "never",
        )
        private = ToolsPrivate(script=script, story=self._story(script), rules=rules)
        outcome = self._outcomes[0] if len(set(self._outcomes)) == 1 else "mixed"
        return ToolsTask(
            id=f"clinic-{self.name}",
            split=self._split,
            public=ToolsPublic(domain="clinic"),
            private=private,
            tags={"domain": "clinic", "outcome": outcome, "wishes": str(len(self._wishes))},
        )

    # What the methods of a conversation share.

    def grant(
        self,
        wanted: Call,
        says: Wordings,
        *,
        looks: Iterable[Call],
        agrees: Parts,
        done: Expect,
        told: tuple[str, ...] = (),
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
    ) -> None:
        """Add a wish for a change that every rule allows.

        Raises:
            ValueError: A rule forbids it, or the tool refuses it.
        """
        found = reasons(self.state, wanted)
        if found:
            raise ValueError(f"{self.name}: {wanted} is not allowed: {found}")
        patient = self.whose(wanted)
        gold = (*self.identify(patient), *looks, wanted)
        self.apply(wanted)
        wish = Wish(
            says=says, agrees=agrees, corrections=corrections, done=(done,), told=told, gold=gold
        )
        first = Wish(says=before or says, instead=wish)
        self.add("change", first if before else wish)

    def add(self, outcome: str, wish: Wish) -> None:
        """Add a wish with how it comes out."""
        self._outcomes.append(outcome)
        self._wishes.append(wish)

    def apply(self, wanted: Call) -> None:
        """Make a call on the state.

        Raises:
            ToolError: The tool refuses it.
        """
        self._desk.agent.call(wanted.name, wanted.arguments)

    def identify(self, patient: str) -> tuple[Call, ...]:
        """Return the calls that find a patient's record, once."""
        if patient in self._known:
            return ()
        self._known.add(patient)
        look = call("get_patient", patient_id=patient)
        self.require((look,))
        return (call("find_patients", name=self.record("patients", patient)["name"]), look)

    def require(self, looks: Iterable[Call]) -> None:
        """Ask that things are found out."""
        for look in looks:
            # Any days will do: how many are asked for at once is the agent's choice.
            kept = {name: value for name, value in look.arguments.items() if "date" not in name}
            part = Lookup(any_of=(Call(name=look.name, arguments=kept),))
            if part not in self._lookups:
                self._lookups.append(part)

    def tells(self, name: str, parts: Parts) -> str:
        """Add something the person has to be told, and return its name."""
        self._told[name] = Told(name=name, parts=parts)
        return name

    def slot_parts(self, slot: str) -> Parts:
        """Return what names a slot: the practitioner, the day and the time."""
        taken = self.record("slots", slot)
        who = self.record("practitioners", taken["practitioner"])
        return ((last_name(who),), (said_date(taken["start"]),), (said_time(taken["start"]),))

    def whose(self, wanted: Call) -> str:
        """Return the patient whose record a call changes."""
        if "patient_id" in wanted.arguments:
            return str(wanted.arguments["patient_id"])
        (argument, key), *_ = wanted.arguments.items()
        collection = {
            "appointment_id": "appointments",
            "prescription_id": "prescriptions",
            "invoice_id": "invoices",
            "waiting_id": "waiting",
        }[argument]
        return str(self.record(collection, key)["patient"])

    def _story(self, script: Script) -> str:
        """Tell in plain words who the person is, for an LLM user."""
        known = " ".join(says for fact in script.facts for says in fact.says)
        wants = [f"{number}. {_wanted(wish)}" for number, wish in enumerate(script.wishes, 1)]
        return "\n".join(
            (
                f"You write to Quayside Clinic. What you can tell when asked: {known}",
                "What you want, one after the other:",
                *wants,
                "You accept a refusal once its reason was explained to you.",
                *([self._manner] if self._manner else []),
            )
        )


def _wanted(wish: Wish) -> str:
    insists = "".join(f' You insist once: "{says[0]}"' for says in wish.insists)
    text = f'"{wish.says[0]}"{insists}'
    if wish.instead is None:
        return text
    return f"{text} When asked to confirm that, you change your mind: {_wanted(wish.instead)}"


def call(name: str, /, **arguments: Any) -> Call:
    """Return a call of the agent's."""
    return Call(name=name, arguments=arguments)
