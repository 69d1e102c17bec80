"""Builds a task: what a person asks for one after the other, and the policy's answer to each.

What is right, and the values a person has to be told, are worked out by the clinic's rules from
its records. A scenario whose records no longer fit it raises when it is built.
"""

from collections.abc import Sequence

from agentgym_tools.clinic.calendar import hours_ahead, said_date
from agentgym_tools.clinic.rules import LAST_DAY, LEAD_HOURS, Reason, open_slots, reasons
from agentgym_tools.clinic.scenarios.drafting import call
from agentgym_tools.clinic.scenarios.granting import Granting
from agentgym_tools.clinic.scenarios.phrases import declined, given_in, look
from agentgym_tools.domain import Call
from agentgym_tools.script import Expect, Parts, Wish, Wordings

PHOTO: Parts = (("photo identification", "photo", "photo id", "photo-id"),)


class Conversation(Granting):
    """Adds what a person wants and may not have, or only wants to know."""

    def refuse(self, wanted: Call, says: Wordings, *insists: Wordings) -> None:
        """Want what exactly one rule forbids, and insist on it.

        Raises:
            ValueError: No rule forbids it, or several do.
        """
        found = reasons(self.state, wanted)
        if len(found) != 1:
            raise ValueError(f"{self.name}: not one reason, but {found}")
        self._refuse(found[0], wanted, says, insists)

    def refuse_any(
        self, service: str, says: Wordings, *insists: Wordings, who: str | None = None
    ) -> None:
        """Want a visit that one rule forbids whatever the slot.

        Raises:
            ValueError: No rule forbids it, or several do.
        """
        common: set[Reason] | None = None
        for slot in open_slots(self.state, service, who):
            if hours_ahead(slot["start"]) >= LEAD_HOURS and slot["start"][:10] <= LAST_DAY:
                found = set(reasons(self.state, self.visit(service, slot["id"], None, None)))
                common = found if common is None else common & found
        if not common or len(common) != 1:
            raise ValueError(f"{self.name}: not one reason, but {common}")
        wanted = call("book_appointment", patient_id=self.patient, service_id=service)
        self._refuse(common.pop(), wanted, says, insists)

    def deny(
        self,
        says: Wordings,
        parts: Parts,
        looks: Sequence[Call],
        *insists: Wordings,
        wanted: Call | None = None,
        known: bool = True,
    ) -> None:
        """Want something that no tool does, or that they may not ask for.

        Args:
            says: How they ask.
            parts: What they have to be told.
            looks: Calls that find it out.
            insists: What they say to a refusal.
            wanted: The call that would give in.
            known: Whether they are identified for it.
        """
        told = self.tells(f"reason {self.count + 1}", parts)
        gold = (*(self.identify(self.patient) if known else ()), *looks)
        self.require(looks)
        done = (given_in(wanted, self.patient, self.state),) if wanted else ()
        self.add(
            "refuse",
            Wish(
                says=says,
                told=(told,),
                corrections=(declined(wanted),),
                refused=True,
                insists=insists,
                gold=gold,
                done=done,
            ),
        )

    def tell(
        self, says: Wordings, parts: Parts, looks: Sequence[Call], *, known: bool = True
    ) -> None:
        """Want to know something."""
        told = self.tells(f"answer {self.count + 1}", parts)
        gold = (*(self.identify(self.patient) if known else ()), *looks)
        self.require(looks)
        self.add("inform", Wish(says=says, told=(told,), gold=gold))

    def coming_of_age(self) -> Parts:
        """Return what tells a guardian since when the patient decides alone."""
        born = self.record("patients", self.patient)["date_of_birth"]
        return ((said_date(born),), ("16", "16th", "sixteenth"))

    def report(self, says: Wordings) -> None:
        """Want something of somebody whose record is not theirs to see."""
        wanted = call("report_failed_identification", patient_id=self.patient)
        gold = (*self.identify(self.patient), wanted)
        self.apply(wanted)
        done = Expect(collection="identity_alerts", fields={"patient": self.patient})
        self.stranger = True
        told = self.tells("front desk", PHOTO)
        self.add("refuse", Wish(says=says, told=(told,), done=(done,), gold=gold))

    def hand_over(
        self, says: Wordings, parts: Parts, looks: Sequence[Call], *, known: bool = True
    ) -> None:
        """Want what a person has to see to, after being told something."""
        told = self.tells(f"before the handover {self.count + 1}", parts)
        wanted = call("hand_over", summary=says[0])
        gold = (*(self.identify(self.patient) if known else ()), *looks, wanted)
        self.require(looks)
        self.apply(wanted)
        self.handover = True
        done = Expect(collection="handovers")
        self.add("handover", Wish(says=says, told=(told,), done=(done,), gold=gold))

    def _refuse(
        self, reason: Reason, wanted: Call, says: Wordings, insists: tuple[Wordings, ...]
    ) -> None:
        patient = self.whose(wanted)
        service = self._service(wanted)
        department = self.record("services", service)["department"] if service else ""
        looks = (look(reason.rule, patient, department, service),)
        gold = (*self.identify(patient), *looks)
        self.require(looks)
        wish = Wish(
            says=says,
            told=(self.tells(f"reason {self.count + 1}: {reason.rule}", reason.parts),),
            corrections=(declined(wanted),),
            refused=True,
            insists=insists,
            gold=gold,
            done=(given_in(wanted, patient, self.state),),
        )
        self.add("refuse", wish)

    def _service(self, wanted: Call) -> str:
        """Return the service that a call is about; empty where it is about none."""
        appointment = wanted.arguments.get("appointment_id")
        if appointment is not None:
            key: str = self.record("appointments", appointment)["service"]
            return key
        return str(wanted.arguments.get("service_id", ""))
