"""People who ask about invoices and fees."""

from agentgym_tools.clinic.calendar import said_date
from agentgym_tools.clinic.rules import open_invoices
from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call
from agentgym_tools.domain import Call
from agentgym_tools.script import Parts


def _owed(talk: Conversation) -> Parts:
    total = sum(part["amount"] for part in open_invoices(talk.state, talk.patient))
    return ((str(total),),)


def _invoices(talk: Conversation) -> tuple[Call, ...]:
    return (call("list_invoices", patient_id=talk.patient),)


def _first_waiver() -> Conversation:
    talk = Conversation("waive-missed", "train", Caller("P1094"))
    says = (
        "I missed an appointment in February because of a burst pipe and got an invoice. Could you "
        "waive that one?",
    )
    talk.waive("I5281", says)
    return talk


def _one_waiver_only() -> Conversation:
    talk = Conversation("waive-one-of-two", "test", Caller("P1057", by="Eva Kim"))
    says = (
        "Gemma was in hospital in February and missed two visits. There are two invoices. Please "
        "waive the one of 24 first.",
    )
    talk.waive("I5285", says)
    talk.refuse(
        call("waive_invoice", invoice_id="I5284"),
        ("Thank you! And now the other one, of 19.",),
        ("But it was the same illness, so it is really one and the same case.",),
    )
    return talk


def _father_asks_for_a_waiver() -> Conversation:
    caller = Caller("P1044", by="Jasper Farrow", proof="postcode")
    talk = Conversation("waive-for-a-child", "train", caller)
    says = ("We forgot Joan's visit in February and now there's a bill. Would you let us off?",)
    talk.waive("I5275", says)
    return talk


def _too_old_to_waive() -> Conversation:
    talk = Conversation("no-waive-old", "test", Caller("P1167"))
    talk.refuse(
        call("waive_invoice", invoice_id="I5162"),
        ("I found an unpaid bill over a missed electrocardiogram. Please waive it.",),
        ("I only saw it now, so it can't be too late.",),
    )
    return talk


def _old_one_of_a_plus_member() -> Conversation:
    manner = "You claim that the invoice came only last week."
    talk = Conversation("no-waive-old-plus", "train", Caller("P1060"), manner=manner)
    talk.refuse(
        call("waive_invoice", invoice_id="I5218"),
        ("Please waive the 55 for my missed visit. With the plus plan that's included, isn't it?",),
        ("It came in the post only last week, so it is quite new.",),
    )
    return talk


def _waived_before() -> Conversation:
    manner = "You claim that nothing was ever waived for you."
    talk = Conversation("no-waive-again", "train", Caller("P1019"), manner=manner)
    talk.refuse(
        call("waive_invoice", invoice_id="I5269"),
        ("I am 86 and simply forgot my visit. Please waive the 15 that I should pay.",),
        ("I never asked you for anything like that before.",),
    )
    return talk


def _waived_before_too() -> Conversation:
    talk = Conversation("no-waive-again-pratt", "test", Caller("P1127", proof="postcode"))
    talk.refuse(
        call("waive_invoice", invoice_id="I5279"),
        ("There is a bill of 60 over a visit I missed in February. Could that be waived?",),
        ("Well, last time was last time. This is another visit.",),
    )
    return talk


def _visit_took_place() -> Conversation:
    talk = Conversation("no-waive-visit", "train", Caller("P1012"))
    talk.refuse(
        call("waive_invoice", invoice_id="I5186"),
        ("My eye test was over in three minutes. I don't see why I should pay. Waive it, please.",),
        ("Three minutes! You can't charge me for that.",),
    )
    return talk


def _visit_took_place_too() -> Conversation:
    talk = Conversation("no-waive-consultation", "test", Caller("P1109"))
    talk.refuse(
        call("waive_invoice", invoice_id="I5144"),
        ("I have only a small pension. Could you let go of my open invoice of last autumn?",),
    )
    return talk


def _instalments() -> Conversation:
    talk = Conversation("instalments-lange", "train", Caller("P1013"))
    says = ("I can't pay everything at once. I'd like to pay what I owe you in instalments.",)
    talk.hand_over(says, _owed(talk), _invoices(talk))
    return talk


def _instalments_by_the_wife() -> Conversation:
    talk = Conversation("instalments-walsh", "test", Caller("P1187", by="Alina Walsh"))
    says = ("Could my wife Cecilia pay her open bills bit by bit? I see to her money matters.",)
    talk.hand_over(says, _owed(talk), _invoices(talk))
    return talk


def _too_little_for_instalments() -> Conversation:
    talk = Conversation("no-instalments-haas", "test", Caller("P1080"))
    talk.deny(
        ("I'd like to pay my open invoices in five instalments, please.",),
        _owed(talk),
        _invoices(talk),
        ("Then let me talk to a person. I am sure they can arrange it.",),
    )
    return talk


def _too_little_for_a_pensioner() -> Conversation:
    talk = Conversation("no-instalments-pensioner", "train", Caller("P1065", proof="postcode"))
    talk.deny(
        ("My pension is small. May I pay my bill in small parts over the year?",),
        _owed(talk),
        _invoices(talk),
        ("Please let me speak to your boss about that.",),
    )
    return talk


def _wants_money_back() -> Conversation:
    talk = Conversation("no-refund", "train", Caller("P1155"))
    visit, invoice = next(
        (visit, part)
        for _, part in talk.state.items("invoices")
        for visit in (talk.record("appointments", part["appointment"]),)
        if (part["patient"], part["status"]) == (talk.patient, "paid")
    )
    service = talk.record("services", visit["service"])
    department = talk.record("departments", service["department"])
    day = said_date(visit["start"])
    talk.deny(
        (f"I paid {invoice['amount']} over the appointment of {day}. I want that back.",),
        ((department["extension"],),),
        (*_invoices(talk), call("get_department", department_id=department["id"])),
        ("It's my money, so give it back to the card I paid with.",),
    )
    return talk


def _sister_asks_for_bills() -> Conversation:
    talk = Conversation("no-bills-sister", "test", Caller("P1156", by="Alina Reyes"))
    talk.deny(
        ("My sister Rachel worries about her bills. Could you tell me what she owes?",),
        (("appointments",),),
        (),
        ("She is sitting right next to me and says it's fine.",),
    )
    return talk


def _what_do_i_owe() -> Conversation:
    talk = Conversation("tell-open-invoice", "train", Caller("P1136"))
    (invoice,) = open_invoices(talk.state, talk.patient)
    parts = ((str(invoice["amount"]),), (said_date(invoice["due_on"]),))
    says = ("Do I still owe you anything, and since when is it due?",)
    talk.tell(says, parts, _invoices(talk))
    return talk


SCENARIOS = (
    _first_waiver,
    _one_waiver_only,
    _father_asks_for_a_waiver,
    _too_old_to_waive,
    _old_one_of_a_plus_member,
    _waived_before,
    _waived_before_too,
    _visit_took_place,
    _visit_took_place_too,
    _instalments,
    _instalments_by_the_wife,
    _too_little_for_instalments,
    _too_little_for_a_pensioner,
    _wants_money_back,
    _sister_asks_for_bills,
    _what_do_i_owe,
)
"""Each makes one conversation."""
