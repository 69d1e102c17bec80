"""The agent's tools over customers, contracts, money and technicians' visits."""

from datetime import date
from typing import Any, Literal

from agentgym.errors import ToolError
from agentgym_tools.broadband.catalogue import NOW, months_later
from agentgym_tools.state import Record
from agentgym_tools.toolkit import Toolkit, generic, reads, writes


class AccountTools(Toolkit):
    """What the provider's staff can look up and change in the books."""

    @reads
    def find_customer(self, text: str) -> list[dict[str, Any]]:
        """Find customers by their name or phone number.

        Args:
            text: The whole name of the account's holder, or the phone number.
        """
        wanted = text.strip().casefold()
        return [
            {"customer_id": key, "name": found["name"], "area": found["address"]["area"]}
            for key, found in self.state.items("customers")
            if wanted in (found["name"].casefold(), found["phone"])
        ]

    @reads
    def check_caller(self, customer_id: str, name: str, pin: str) -> dict[str, Any]:
        """Check who is calling against the account.

        Args:
            customer_id: Such as "C1001".
            name: The caller's whole name, as they gave it.
            pin: The account PIN, as they gave it.
        """
        customer = self.customer(customer_id)
        role = _role(customer, name)
        if role is None:
            return {"verified": False, "reason": "this name is not on the account"}
        if pin.strip() != customer["pin"]:
            return {"verified": False, "reason": "the PIN is wrong"}
        return {"verified": True, "role": role}

    @reads
    def get_account(self, customer_id: str) -> dict[str, Any]:
        """Look up a customer: contact, plan, contract, credits and visits.

        Args:
            customer_id: Such as "C1001".
        """
        customer = self.customer(customer_id)
        line = self.line(customer_id)
        shown = {part: value for part, value in customer.items() if part != "pin"}
        plan = {"plan_id": line["plan"], **self.plan(line["plan"])}
        visits = [
            {"visit_id": key, **visit, **self._when(visit["slot"])}
            for key, visit in self.state.items("visits")
            if visit["customer"] == customer_id
        ]
        return {**shown, "plan": plan, "contract": line["contract"], "visits": visits}

    @reads
    def list_invoices(self, customer_id: str) -> list[dict[str, Any]]:
        """List a customer's invoices of this year.

        Args:
            customer_id: Such as "C1001".
        """
        self.customer(customer_id)
        return [
            {"invoice_id": key, **invoice}
            for key, invoice in self.state.items("invoices")
            if invoice["customer"] == customer_id
        ]

    @reads
    def list_plans(self, technology: Literal["dsl", "fibre"]) -> list[dict[str, Any]]:
        """List the plans for one technology, with those that are only kept by old customers.

        Args:
            technology: Copper is dsl.
        """
        plans = self.state.items("plans")
        return [{"plan_id": key, **plan} for key, plan in plans if plan["technology"] == technology]

    @reads
    def list_outages(self, area: str) -> list[dict[str, Any]]:
        """List an area's outages since December, past and present.

        Args:
            area: Such as "Harbour".
        """
        outages = self.state.items("outages")
        return [{"outage_id": key, **found} for key, found in outages if found["area"] == area]

    @reads
    def list_visit_slots(self, area: str) -> list[dict[str, Any]]:
        """List the technicians' free slots in an area.

        Args:
            area: Such as "Harbour".
        """
        return [
            {"slot_id": key, "date": slot["date"], "window": slot["window"]}
            for key, slot in self.state.items("slots")
            if slot["area"] == area and slot["visit"] is None
        ]

    @writes
    def change_plan(self, customer_id: str, plan_id: str) -> dict[str, Any]:
        """Move a customer to another plan from today on; a new minimum term begins.

        The router gets the new speed when it is restarted.

        Args:
            customer_id: Such as "C1001".
            plan_id: Such as "F300".
        """
        line, plan = self.line(customer_id), self.plan(plan_id)
        if plan["technology"] != line["technology"]:
            raise ToolError(f"{plan_id} is not available on a {line['technology']} line.")
        if plan_id == line["plan"]:
            raise ToolError(f"{customer_id} is on {plan_id} already.")
        until = months_later(NOW.date(), plan["minimum_months"]).isoformat()
        with self.state.edit("lines", self.customer(customer_id)["line"]) as record:
            record["plan"] = plan_id
            record["provisioned"] = {"down": plan["down"], "up": plan["up"]}
            record["contract"]["minimum_until"] = until
        with self.state.edit("customers", customer_id) as changed:
            changed["plan_changed"] = NOW.date().isoformat()
        return {"plan_id": plan_id, "price": plan["price"], "minimum_until": until}

    @writes
    def cancel_contract(self, customer_id: str, last_day: str) -> str:
        """End a customer's contract.

        Args:
            customer_id: Such as "C1001".
            last_day: The last day of service, such as "2026-04-30".
        """
        line = self.line(customer_id)
        try:
            day = date.fromisoformat(last_day)
        except ValueError:
            raise ToolError(f"{last_day!r} is not a date such as 2026-04-30.") from None
        if day < NOW.date():
            raise ToolError(f"{last_day} is in the past.")
        if line["contract"]["last_day"]:
            raise ToolError(f"The contract ends on {line['contract']['last_day']} already.")
        with self.state.edit("lines", self.customer(customer_id)["line"]) as record:
            record["contract"]["last_day"] = day.isoformat()
        return f"The contract ends on {day.isoformat()}."

    @writes
    def give_credit(self, customer_id: str, amount: float, outage_id: str) -> str:
        """Put a credit for an outage on the next invoice.

        Args:
            customer_id: Such as "C1001".
            amount: In dollars.
            outage_id: Such as "OUT-201".
        """
        self.customer(customer_id)
        if self.state.get("outages", outage_id) is None:
            raise ToolError(f"There is no outage {outage_id!r}.")
        if not 0 < amount <= 500:
            raise ToolError("A credit is more than 0 and at most 500 dollars.")
        credit = {"date": NOW.date().isoformat(), "amount": round(amount, 2), "outage": outage_id}
        with self.state.edit("customers", customer_id) as record:
            record["credits"].append(credit)
        return f"{credit['amount']:.2f} dollars are credited for {outage_id}."

    @writes
    def book_visit(
        self,
        customer_id: str,
        slot_id: str,
        reason: Literal["network fault", "home wiring", "installation"],
        fee: float,
    ) -> dict[str, Any]:
        """Book a technician for a customer's home.

        Args:
            customer_id: Such as "C1001".
            slot_id: A free slot of the customer's area.
            reason: What the technician comes for.
            fee: What the customer pays for it, in dollars.
        """
        area = self.customer(customer_id)["address"]["area"]
        slot = self.state.get("slots", slot_id)
        if slot is None or slot["area"] != area:
            raise ToolError(f"There is no slot {slot_id!r} in {area}.")
        if slot["visit"] is not None:
            raise ToolError(f"{slot_id} is taken.")
        if not 0 <= fee <= 500:
            raise ToolError("A fee is between 0 and 500 dollars.")
        visit_id = f"V-{slot_id}"
        visit = {"customer": customer_id, "slot": slot_id, "reason": reason, "fee": round(fee, 2)}
        self.state.put("visits", visit_id, {**visit, "status": "booked"})
        with self.state.edit("slots", slot_id) as record:
            record["visit"] = visit_id
        return {"visit_id": visit_id, **self._when(slot_id), "fee": round(fee, 2)}

    @writes
    def cancel_visit(self, visit_id: str) -> str:
        """Call a technician's visit off; its slot is free again.

        Args:
            visit_id: Such as "V-HAR-0305-A".
        """
        visit = self.state.get("visits", visit_id)
        if visit is None or visit["status"] != "booked":
            raise ToolError(f"There is no booked visit {visit_id!r}.")
        with self.state.edit("visits", visit_id) as record:
            record["status"] = "cancelled"
        with self.state.edit("slots", visit["slot"]) as slot:
            slot["visit"] = None
        return f"{visit_id} is cancelled."

    @generic
    def hand_over(
        self, department: Literal["security", "billing", "complaints", "moving"], summary: str
    ) -> str:
        """Hand the conversation over to a colleague, which ends it for you.

        Args:
            department: Who takes over.
            summary: What the customer wants and what was found out.
        """
        if not summary.strip():
            raise ToolError("Give the colleague a summary.")
        number = sum(1 for _ in self.state.items("handovers")) + 1
        record = {"department": department, "summary": summary.strip()}
        self.state.put("handovers", f"HO-{number}", record)
        return f"Handed over to {department}."

    # Shared with the tools over lines.

    def customer(self, customer_id: str) -> Record:
        """Return a customer's record.

        Raises:
            ToolError: There is no such customer.
        """
        found = self.state.get("customers", customer_id)
        if found is None:
            raise ToolError(f"There is no customer {customer_id!r}.")
        return found

    def line(self, customer_id: str) -> Record:
        """Return a customer's line.

        Raises:
            ToolError: There is no such customer.
        """
        found = self.state.get("lines", self.customer(customer_id)["line"])
        if found is None:
            raise KeyError(customer_id)
        return found

    def plan(self, plan_id: str) -> Record:
        """Return a plan.

        Raises:
            ToolError: There is no such plan.
        """
        found = self.state.get("plans", plan_id)
        if found is None:
            raise ToolError(f"There is no plan {plan_id!r}.")
        return found

    def _when(self, slot_id: str) -> dict[str, str]:
        slot = self.state.get("slots", slot_id)
        return {} if slot is None else {"date": slot["date"], "window": slot["window"]}


def _role(customer: Record, name: str) -> str | None:
    wanted = " ".join(name.casefold().split())
    if wanted == customer["name"].casefold():
        return "holder"
    known = [person.casefold() for person in customer["authorised"]]
    return "authorised person" if wanted in known else None
