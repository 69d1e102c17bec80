"""Wishes that the policy grants."""

from typing import Any

from agentgym_tools.clinic.calendar import TODAY, day, said_date, said_time
from agentgym_tools.clinic.rules import (
    LAST_DAY,
    LAST_WAITING_DAY,
    best_referral,
    last_name,
    late_fee_due,
    open_slots,
    reasons,
)
from agentgym_tools.clinic.scenarios.drafting import Draft, call
from agentgym_tools.clinic.scenarios.phrases import PREPARATIONS, nth
from agentgym_tools.domain import Call
from agentgym_tools.script import Correction, Expect, Parts, Wordings


class Granting(Draft):
    """Adds what a person wants and may have.

    Every method takes `says`, the ways to ask for it; `before`, what they wanted at first where
    they change their mind when asked to confirm that; and `corrections`.
    """

    def first(
        self,
        service: str,
        *,
        who: str | None = None,
        since: str = TODAY,
        until: str = LAST_DAY,
        hours: tuple[str, str] = ("00:00", "24:00"),
        days: str = "01234",
        moved: str | None = None,
        patient: str | None = None,
    ) -> str:
        """Return the earliest free slot that fits what a person says and every rule.

        Args:
            service: The service's id.
            who: The practitioner's id.
            since: The first day.
            until: The last day.
            hours: Times of day between which it starts, the second one left out.
            days: Weekdays by number, Monday being 0.
            moved: The appointment that moves there.
            patient: Who comes, where it is not the default.

        Raises:
            ValueError: There is none, or there are two at one time.
        """
        fitting = [
            slot
            for slot in open_slots(self.state, service, who)
            if since <= slot["start"][:10] <= until
            and hours[0] <= said_time(slot["start"]) < hours[1]
            and str(day(slot["start"]).weekday()) in days
            and not reasons(self.state, self.visit(service, slot["id"], moved, patient))
        ]
        if not fitting or any(slot["start"] == fitting[0]["start"] for slot in fitting[1:]):
            raise ValueError(f"{self.name}: no slot, or two at one time, for {service}")
        key: str = fitting[0]["id"]
        return key

    def book(
        self,
        service: str,
        slot: str,
        says: Wordings,
        *,
        patient: str | None = None,
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
    ) -> None:
        """Want an appointment; the person waits to hear how to prepare."""
        patient = patient or self.patient
        offered = self.record("services", service)
        looks = [call("get_department", department_id=offered["department"])]
        if offered["referral"]:
            looks.append(call("list_referrals", patient_id=patient))
        looks.append(self._slots_of_day(service, slot))
        told: tuple[str, ...] = ()
        if service in PREPARATIONS:
            told = (self.tells(f"preparation for {service}", PREPARATIONS[service]),)
        fields = {"patient": patient, "slot": slot, "service": service, "status": "booked"}
        self.grant(
            self.visit(service, slot, None, patient),
            says,
            looks=looks,
            agrees=(*self.slot_parts(slot), (str(offered["fee"]),)),
            done=Expect(collection="appointments", fields=fields),
            told=told,
            before=before,
            corrections=corrections,
        )

    def move(
        self,
        appointment: str,
        slot: str,
        says: Wordings,
        *,
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
    ) -> None:
        """Want an appointment at another time."""
        visit = self.record("appointments", appointment)
        looks = (
            call("list_appointments", patient_id=visit["patient"]),
            self._slots_of_day(visit["service"], slot),
        )
        self.grant(
            call("move_appointment", appointment_id=appointment, slot_id=slot),
            says,
            looks=looks,
            agrees=(*self.slot_parts(slot), (said_date(visit["start"]),)),
            done=Expect(collection="appointments", key=appointment, fields={"slot": slot}),
            before=before,
            corrections=corrections,
        )

    def cancel(
        self,
        appointment: str,
        says: Wordings,
        *,
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
    ) -> None:
        """Want an appointment cancelled, at the late fee where one is due."""
        visit = self.record("appointments", appointment)
        service = self.record("services", visit["service"])
        due = late_fee_due(self.state, appointment)
        agrees: Parts = ((said_date(visit["start"]),), (said_time(visit["start"]),))
        self.grant(
            call("cancel_appointment", appointment_id=appointment, charge_late_fee=due),
            says,
            looks=(
                call("list_appointments", patient_id=visit["patient"]),
                *([call("get_department", department_id=service["department"])] if due else []),
            ),
            agrees=(*agrees, (str(service["late_fee"]),)) if due else agrees,
            done=_now("appointments", appointment, status="cancelled"),
            before=before,
            corrections=corrections,
        )

    def renew(self, prescription: str, says: Wordings, *, before: Wordings = ()) -> None:
        """Want a prescription issued once more."""
        part = self.record("prescriptions", prescription)
        self.grant(
            call("renew_prescription", prescription_id=prescription),
            says,
            looks=(call("list_prescriptions", patient_id=part["patient"]),),
            agrees=((part["medicine"].split()[0],),),
            done=_now("prescriptions", prescription, last_issued_on=TODAY),
            before=before,
        )

    def waive(self, invoice: str, says: Wordings) -> None:
        """Want a fee waived."""
        part = self.record("invoices", invoice)
        self.grant(
            call("waive_invoice", invoice_id=invoice),
            says,
            looks=(call("list_invoices", patient_id=part["patient"]),),
            agrees=((str(part["amount"]),),),
            done=_now("invoices", invoice, status="waived"),
        )

    def join(
        self,
        service: str,
        says: Wordings,
        *,
        who: str | None = None,
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
    ) -> None:
        """Want a place on a waiting list, and to know the position there."""
        wanted = {"service_id": service, **({"practitioner_id": who} if who else {})}
        agrees: Parts = ((self.record("services", service)["name"], service),)
        if who is not None:
            agrees = (*agrees, (last_name(self.record("practitioners", who)),))
        places = [part for _, part in self.state.items("waiting") if part["service"] == service]
        told = self.tells(f"position for {service}", (nth(len(places) + 1),))
        fields = {"patient": self.patient, "service": service, "practitioner": who}
        self.grant(
            call("join_waiting_list", patient_id=self.patient, **wanted),
            says,
            looks=(
                call("list_waiting", patient_id=self.patient),
                call("list_referrals", patient_id=self.patient),
                call("find_open_slots", **wanted, from_date=TODAY, to_date=LAST_WAITING_DAY),
            ),
            agrees=agrees,
            done=Expect(collection="waiting", fields=fields),
            told=(told,),
            before=before,
            corrections=corrections,
        )

    def leave(self, place: str, says: Wordings) -> None:
        """Want to give up a place on a waiting list."""
        part = self.record("waiting", place)
        self.grant(
            call("leave_waiting_list", waiting_id=place),
            says,
            looks=(call("list_waiting", patient_id=part["patient"]),),
            agrees=((self.record("services", part["service"])["name"], part["service"]),),
            done=Expect(collection="waiting", key=place, absent=True),
        )

    def contact(
        self,
        says: Wordings,
        *,
        before: Wordings = (),
        corrections: tuple[Correction, ...] = (),
        **details: str,
    ) -> None:
        """Want contact details changed: any of phone, email and postcode."""
        self.grant(
            call("update_contact", patient_id=self.patient, **details),
            says,
            looks=(),
            agrees=tuple((value,) for value in details.values()),
            done=_now("patients", self.patient, **details),
            before=before,
            corrections=corrections,
        )

    def visit(self, service: str, slot: str, moved: str | None, patient: str | None) -> Call:
        """Return the call that books a slot, or moves an appointment there."""
        if moved is not None:
            return call("move_appointment", appointment_id=moved, slot_id=slot)
        patient = patient or self.patient
        start = self.record("slots", slot)["start"]
        referral = best_referral(self.state, patient, service, start)
        more = {"referral_id": referral} if referral else {}
        return call(
            "book_appointment", patient_id=patient, service_id=service, slot_id=slot, **more
        )

    def _slots_of_day(self, service: str, slot: str) -> Call:
        date = self.record("slots", slot)["start"][:10]
        return call("find_open_slots", service_id=service, from_date=date, to_date=date)


def _now(collection: str, key: str, **fields: Any) -> Expect:
    return Expect(collection=collection, key=key, fields=fields)
