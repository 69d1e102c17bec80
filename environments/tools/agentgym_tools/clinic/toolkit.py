"""The tools that change something.

They check what the clinic's system would: that records exist, that a slot is free, that nobody is
in two places at once. What the policy leaves to judgement (who may ask, referrals, ages, fees,
limits) they let pass: keeping to it is the agent's part.
"""

from datetime import timedelta

from agentgym.errors import ToolError
from agentgym.types import Json
from agentgym_tools.clinic.calendar import NOW, TODAY, hours_ahead, moment, plus_days
from agentgym_tools.clinic.lookups import ClinicLookups
from agentgym_tools.clinic.records import (
    Appointment,
    Handover,
    IdentityAlert,
    Invoice,
    Waiting,
)
from agentgym_tools.state import Record
from agentgym_tools.toolkit import generic, writes

LATE_HOURS = 24
"""A visit is cancelled late when it starts in less than this."""

DAYS_TO_PAY = 30
_FIRST_NUMBERS = {
    "appointments": ("A", 2001),
    "invoices": ("I", 5001),
    "waiting": ("W", 7001),
    "identity_alerts": ("N", 8001),
    "handovers": ("H", 9001),
}


class ClinicTools(ClinicLookups):
    """What an agent of the clinic can do."""

    @writes
    def book_appointment(
        self, patient_id: str, service_id: str, slot_id: str, referral_id: str | None = None
    ) -> Json:
        """Book an appointment.

        Args:
            patient_id: Who comes, such as 'P1001'.
            service_id: What for, such as 'gp-consultation'.
            slot_id: When and with whom, such as 'S30001'.
            referral_id: The referral it uses, such as 'R4001'; one of its visits is used up.
        """
        self.record("patients", patient_id)
        self.record("services", service_id)
        slot = self._free_slot(slot_id, service_id)
        self._check_time(patient_id, slot)
        if referral_id is not None:
            referral = self.record("referrals", referral_id)
            if referral["patient"] != patient_id:
                raise ToolError(f"The referral {referral_id!r} is not one of {patient_id!r}.")
            self._use_referral(referral_id, 1)
        self._set_taken(slot_id, taken=True)
        appointment = Appointment(
            id=self._new_id("appointments"),
            patient=patient_id,
            practitioner=slot["practitioner"],
            service=service_id,
            start=slot["start"],
            slot=slot_id,
            status="booked",
            moves=0,
            referral=referral_id,
            booked_on=TODAY,
            late=False,
        )
        self.state.put("appointments", appointment.id, appointment.model_dump())
        return self._shown(self.record("appointments", appointment.id))

    @writes
    def move_appointment(self, appointment_id: str, slot_id: str) -> Json:
        """Move an appointment to a free slot of a practitioner who offers the same service.

        Args:
            appointment_id: Such as 'A2001'.
            slot_id: Such as 'S30001'.
        """
        appointment = self._to_come(appointment_id)
        slot = self._free_slot(slot_id, appointment["service"])
        self._check_time(appointment["patient"], slot, besides=appointment_id)
        self._set_taken(appointment["slot"], taken=False)
        self._set_taken(slot_id, taken=True)
        with self.state.edit("appointments", appointment_id) as changed:
            changed.update(slot=slot_id, start=slot["start"], practitioner=slot["practitioner"])
            changed["moves"] += 1
        return self._shown(self.record("appointments", appointment_id))

    @writes
    def cancel_appointment(self, appointment_id: str, charge_late_fee: bool) -> Json:
        """Cancel an appointment; its slot and the visit of its referral become free again.

        Args:
            appointment_id: Such as 'A2001'.
            charge_late_fee: Whether to issue an invoice over the service's late fee.
        """
        appointment = self._to_come(appointment_id)
        self._set_taken(appointment["slot"], taken=False)
        if appointment["referral"] is not None:
            self._use_referral(appointment["referral"], -1)
        with self.state.edit("appointments", appointment_id) as changed:
            changed.update(status="cancelled", slot=None)
            changed["late"] = hours_ahead(appointment["start"]) < LATE_HOURS
        answer = {"appointment": self._shown(self.record("appointments", appointment_id))}
        if charge_late_fee:
            answer["invoice"] = dict(self._charge(appointment))
        return answer

    @writes
    def renew_prescription(self, prescription_id: str) -> Record:
        """Issue a prescription once more.

        Args:
            prescription_id: Such as 'X6001'.
        """
        if self.record("prescriptions", prescription_id)["status"] != "active":
            raise ToolError(f"The prescription {prescription_id!r} has ended.")
        with self.state.edit("prescriptions", prescription_id) as changed:
            changed["renewals_used"] += 1
            changed["last_issued_on"] = TODAY
        return self.record("prescriptions", prescription_id)

    @writes
    def waive_invoice(self, invoice_id: str) -> Record:
        """Let go of an open invoice, so that it need not be paid.

        Args:
            invoice_id: Such as 'I5001'.
        """
        status = self.record("invoices", invoice_id)["status"]
        if status != "open":
            raise ToolError(f"The invoice {invoice_id!r} is not open, but {status}.")
        with self.state.edit("invoices", invoice_id) as changed:
            changed.update(status="waived", waived_on=TODAY)
        return self.record("invoices", invoice_id)

    @writes
    def join_waiting_list(
        self, patient_id: str, service_id: str, practitioner_id: str | None = None
    ) -> Json:
        """Put a patient on the waiting list for a service.

        Args:
            patient_id: Such as 'P1001'.
            service_id: Such as 'migraine-clinic'.
            practitioner_id: Whom they wait for, such as 'D01'; anyone who offers it if left out.
        """
        self.record("services", service_id)
        if practitioner_id is not None:
            self._check_offers(self.record("practitioners", practitioner_id), service_id)
        if any(part["service"] == service_id for part in self._owned("waiting", patient_id)):
            raise ToolError(f"{patient_id!r} already waits for {service_id!r}.")
        place = Waiting(
            id=self._new_id("waiting"),
            patient=patient_id,
            service=service_id,
            practitioner=practitioner_id,
            added_on=TODAY,
        )
        self.state.put("waiting", place.id, place.model_dump())
        return {**self._shown(place.model_dump()), "position": self._position(place.model_dump())}

    @writes
    def leave_waiting_list(self, waiting_id: str) -> str:
        """Give up a place on a waiting list.

        Args:
            waiting_id: Such as 'W7001'.
        """
        self.record("waiting", waiting_id)
        self.state.delete("waiting", waiting_id)
        return f"The place {waiting_id} was given up."

    @writes
    def update_contact(
        self,
        patient_id: str,
        phone: str | None = None,
        email: str | None = None,
        postcode: str | None = None,
    ) -> Record:
        """Change a patient's contact details; those left out stay.

        Args:
            patient_id: Such as 'P1001'.
            phone: Such as '07700 900123'.
            email: Such as 'ann@example.com'.
            postcode: Such as 'QS1 2AB'.
        """
        self.record("patients", patient_id)
        details = {"phone": phone, "email": email, "postcode": postcode}
        given = {name: value.strip() for name, value in details.items() if value is not None}
        if not any(given.values()):
            raise ToolError("Give at least one of phone, email and postcode.")
        with self.state.edit("patients", patient_id) as changed:
            changed.update(given)
        return self.record("patients", patient_id)

    @writes
    def report_failed_identification(self, patient_id: str) -> str:
        """Note that someone could not show that they may act for a patient.

        Args:
            patient_id: The patient whose record they wanted, such as 'P1001'.
        """
        self.record("patients", patient_id)
        alert = IdentityAlert(id=self._new_id("identity_alerts"), patient=patient_id, at=NOW)
        self.state.put("identity_alerts", alert.id, alert.model_dump())
        return f"Noted as {alert.id}."

    @generic
    def hand_over(self, summary: str) -> str:
        """Hand the conversation over to a person at the front desk, which ends it.

        Args:
            summary: What the person needs to know.
        """
        handover = Handover(id=self._new_id("handovers"), summary=summary, at=NOW)
        self.state.put("handovers", handover.id, handover.model_dump())
        return "The conversation was handed over."

    # What the tools share.

    def _to_come(self, appointment_id: str) -> Record:
        appointment = self.record("appointments", appointment_id)
        if appointment["status"] != "booked":
            raise ToolError(
                f"The appointment {appointment_id!r} is not booked, but {appointment['status']}."
            )
        return appointment

    def _free_slot(self, slot_id: str, service_id: str) -> Record:
        slot = self.record("slots", slot_id)
        if slot["taken"]:
            raise ToolError(f"The slot {slot_id!r} is taken.")
        self._check_offers(self._practitioner(slot), service_id)
        return slot

    def _check_time(self, patient_id: str, slot: Record, besides: str | None = None) -> None:
        """Refuse a slot while the patient is elsewhere."""
        start = moment(slot["start"])
        end = start + self._length(slot)
        for part in self._owned("appointments", patient_id):
            other = moment(part["start"])
            overlaps = other < end and start < other + self._length(part)
            if part["status"] == "booked" and part["id"] != besides and overlaps:
                raise ToolError(f"The patient's appointment {part['id']} is at that time.")

    def _length(self, record: Record) -> timedelta:
        department = self._practitioner(record)["department"]
        return timedelta(minutes=self.record("departments", department)["minutes"])

    def _set_taken(self, slot_id: str, *, taken: bool) -> None:
        with self.state.edit("slots", slot_id) as slot:
            slot["taken"] = taken

    def _use_referral(self, referral_id: str, visits: int) -> None:
        with self.state.edit("referrals", referral_id) as referral:
            referral["used"] += visits

    def _charge(self, appointment: Record) -> Record:
        invoice = Invoice(
            id=self._new_id("invoices"),
            patient=appointment["patient"],
            appointment=appointment["id"],
            kind="late",
            amount=self.record("services", appointment["service"])["late_fee"],
            issued_on=TODAY,
            due_on=plus_days(TODAY, DAYS_TO_PAY),
            status="open",
            waived_on=None,
        )
        self.state.put("invoices", invoice.id, invoice.model_dump())
        return self.record("invoices", invoice.id)

    def _new_id(self, collection: str) -> str:
        """Return the id after the highest there is."""
        letter, first = _FIRST_NUMBERS[collection]
        numbers = [int(key[1:]) for key, _ in self.state.items(collection)]
        return f"{letter}{max(numbers, default=first - 1) + 1}"
