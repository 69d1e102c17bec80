"""The tools that look things up, and how records are shown."""

from typing import Any

from agentgym.errors import ToolError
from agentgym.types import Json
from agentgym_tools.clinic.calendar import NOW, day
from agentgym_tools.state import Record
from agentgym_tools.toolkit import Toolkit, reads

MOST_SLOTS = 15
"""Slots that one answer shows."""


class ClinicLookups(Toolkit):
    """What an agent of the clinic can find out."""

    @reads
    def find_patients(self, name: str) -> list[Json]:
        """Find patients by name.

        Args:
            name: First name, last name or both.
        """
        words = name.casefold().split()
        found = [
            {key: record[key] for key in ("id", "name", "date_of_birth")}
            for _, record in self.state.items("patients")
            if words and set(words) <= set(record["name"].casefold().split())
        ]
        if not found:
            raise ToolError(f"No patient is called {name!r}.")
        return found

    @reads
    def get_patient(self, patient_id: str) -> Record:
        """Look up a patient's record.

        It has contact details, the plan, guardians, and who may act for the patient.

        Args:
            patient_id: Such as 'P1001'.
        """
        return self.record("patients", patient_id)

    @reads
    def list_appointments(self, patient_id: str) -> list[Json]:
        """List a patient's appointments, past and to come, in order of time.

        Args:
            patient_id: Such as 'P1001'.
        """
        return sorted(self._owned("appointments", patient_id), key=lambda part: part["start"])

    @reads
    def list_referrals(self, patient_id: str) -> list[Json]:
        """List a patient's referrals with the visits they are good for and those used.

        Args:
            patient_id: Such as 'P1001'.
        """
        return self._owned("referrals", patient_id)

    @reads
    def list_invoices(self, patient_id: str) -> list[Json]:
        """List a patient's invoices: for visits, and for missed or late cancelled ones.

        Args:
            patient_id: Such as 'P1001'.
        """
        return self._owned("invoices", patient_id)

    @reads
    def list_prescriptions(self, patient_id: str) -> list[Json]:
        """List a patient's prescriptions.

        Args:
            patient_id: Such as 'P1001'.
        """
        return self._owned("prescriptions", patient_id)

    @reads
    def list_waiting(self, patient_id: str) -> list[Json]:
        """List a patient's places on waiting lists, each with its position.

        The position counts everyone who waits for the same service, longest first.

        Args:
            patient_id: Such as 'P1001'.
        """
        entries = self._owned("waiting", patient_id)
        return [{**entry, "position": self._position(entry)} for entry in entries]

    @reads
    def get_department(self, department_id: str) -> Json:
        """Look up a department with its services, fees and practitioners.

        Args:
            department_id: 'general', 'paediatrics', 'dermatology', 'cardiology',
                'orthopaedics', 'physiotherapy', 'eye-care' or 'neurology'.
        """
        department = self.record("departments", department_id)
        members = {
            name: [
                part for _, part in self.state.items(name) if part["department"] == department_id
            ]
            for name in ("services", "practitioners")
        }
        return {**department, **members}

    @reads
    def find_open_slots(
        self,
        service_id: str,
        from_date: str,
        to_date: str,
        practitioner_id: str | None = None,
    ) -> Json:
        """Find free slots of the practitioners who offer a service, the earliest first.

        At most 15 are shown; the answer says how many there are.

        Args:
            service_id: Such as 'gp-consultation'.
            from_date: The first day, such as '2026-03-02'.
            to_date: The last day.
            practitioner_id: Only this practitioner's slots, such as 'D01'.
        """
        self.record("services", service_id)
        if practitioner_id is not None:
            self._check_offers(self.record("practitioners", practitioner_id), service_id)
        first, last = _date(from_date), _date(to_date)
        free = []
        for _, slot in self.state.items("slots"):
            wanted = practitioner_id in (None, slot["practitioner"])
            in_time = first <= slot["start"][:10] <= last and slot["start"] > NOW
            offers = service_id in self._practitioner(slot)["services"]
            if wanted and in_time and offers and not slot["taken"]:
                free.append({"slot": slot["id"], "start": slot["start"], **self._named(slot)})
        free.sort(key=lambda slot: (slot["start"], slot["slot"]))
        return {"found": len(free), "slots": free[:MOST_SLOTS]}

    # What the tools share.

    def record(self, collection: str, key: str) -> Record:
        """Return a record.

        Raises:
            ToolError: There is none.
        """
        found = self.state.get(collection, key)
        if found is None:
            raise ToolError(f"There is no {_SINGULAR[collection]} {key!r}.")
        return found

    def _owned(self, collection: str, patient_id: str) -> list[Json]:
        self.record("patients", patient_id)
        records = (record for _, record in self.state.items(collection))
        return [self._shown(part) for part in records if part["patient"] == patient_id]

    def _shown(self, record: Record) -> dict[str, Any]:
        """Return a record with the names of what it points to."""
        shown = {**record, **(self._named(record) if record.get("practitioner") else {})}
        if "service" in record:
            service = self.record("services", record["service"])
            shown["service_name"] = service["name"]
            shown["department"] = service["department"]
        return shown

    def _named(self, record: Record) -> dict[str, str]:
        practitioner = self._practitioner(record)
        return {"practitioner": practitioner["id"], "practitioner_name": practitioner["name"]}

    def _practitioner(self, record: Record) -> Record:
        return self.record("practitioners", record["practitioner"])

    def _position(self, entry: Record) -> int:
        same = [e for _, e in self.state.items("waiting") if e["service"] == entry["service"]]
        places = sorted((part["added_on"], part["id"]) for part in same)
        return 1 + places.index((entry["added_on"], entry["id"]))

    def _check_offers(self, practitioner: Record, service_id: str) -> None:
        if service_id not in practitioner["services"]:
            offered = ", ".join(practitioner["services"])
            raise ToolError(
                f"{practitioner['name']} does not offer {service_id!r}, but offers {offered}."
            )


_SINGULAR = {
    "patients": "patient",
    "departments": "department",
    "services": "service",
    "practitioners": "practitioner",
    "slots": "slot",
    "appointments": "appointment",
    "referrals": "referral",
    "invoices": "invoice",
    "prescriptions": "prescription",
    "waiting": "place on a waiting list",
}


def _date(text: str) -> str:
    try:
        return day(text).isoformat()
    except ValueError:
        raise ToolError(f"{text!r} is no date such as '2026-03-02'.") from None
