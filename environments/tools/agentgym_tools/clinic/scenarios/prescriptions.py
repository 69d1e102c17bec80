"""People who want a medicine."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call

_RENEW = "renew_prescription"


def _plain_renewal() -> Conversation:
    talk = Conversation("renew-ramipril", "train", Caller("P1023"))
    says = (
        "I'm almost out of Ramipril. Can you renew it?",
        "Could you renew my blood pressure tablets, the Ramipril?",
    )
    talk.renew("X6021", says)
    return talk


def _two_at_once() -> Conversation:
    talk = Conversation("renew-two", "test", Caller("P1178", proof="postcode"))
    talk.renew("X6173", ("I need new issues of both my medicines. Sertraline first, please.",))
    talk.renew("X6174", ("Good. And now the Amlodipine.",))
    return talk


def _one_due_one_not() -> Conversation:
    talk = Conversation("renew-one-of-two", "train", Caller("P1040"))
    talk.renew("X6038", ("Please renew my Metformin and then my Amlodipine. Metformin first.",))
    talk.refuse(
        call(_RENEW, prescription_id="X6039"),
        ("And the Amlodipine, as I said.",),
        ("I am here only today, can't I have it a little early?",),
    )
    return talk


def _too_early() -> Conversation:
    manner = "You say that your tablets are gone, although you have some left."
    talk = Conversation("no-renew-early", "test", Caller("P1001"), manner=manner)
    talk.refuse(
        call(_RENEW, prescription_id="X6002"),
        ("I need my Omeprazole again.",),
        ("But the box is empty, I am sure I had the last one much longer ago.",),
    )
    return talk


def _early_before_a_journey() -> Conversation:
    talk = Conversation("no-renew-journey", "train", Caller("P1175"))
    talk.refuse(
        call(_RENEW, prescription_id="X6169"),
        ("I'm leaving for a long journey tomorrow. Please renew my Hydrocortisone cream now.",),
        ("Who knows whether I get it there. Surely you can see that this is an exception.",),
    )
    return talk


def _used_up() -> Conversation:
    talk = Conversation("no-renew-used-up", "train", Caller("P1020"))
    talk.refuse(
        call(_RENEW, prescription_id="X6018"),
        ("Could you issue my Sertraline once more?",),
        ("You renewed it every time so far. Just this one time more?",),
    )
    return talk


def _used_up_too() -> Conversation:
    talk = Conversation("no-renew-used-up-kim", "test", Caller("P1056", proof="postcode"))
    talk.refuse(
        call(_RENEW, prescription_id="X6055"),
        ("My Sertraline runs out this week, please renew it. I never asked you for that before.",),
    )
    return talk


def _sleeping_pills() -> Conversation:
    talk = Conversation("no-renew-zopiclone", "train", Caller("P1066"))
    talk.refuse(
        call(_RENEW, prescription_id="X6065"),
        ("I can't sleep without my Zopiclone. Please renew it today.",),
        ("Nobody else makes such a fuss about it. I need it tonight!",),
    )
    return talk


def _calming_pills() -> Conversation:
    talk = Conversation("no-renew-diazepam", "test", Caller("P1161"))
    talk.refuse(
        call(_RENEW, prescription_id="X6156"),
        ("Please send a new issue of my Diazepam to the pharmacy.",),
        ("There are renewals left on it, I can see that on the slip.",),
    )
    return talk


def _review_is_overdue() -> Conversation:
    talk = Conversation("no-renew-review", "train", Caller("P1160"))
    talk.refuse(
        call(_RENEW, prescription_id="X6155"),
        ("I'd like my Salbutamol inhaler renewed, please.",),
        ("I feel just as I did last year. What is there to review?",),
    )
    return talk


def _ended_for_a_child() -> Conversation:
    caller = Caller("P1070", by="Harold Chandler")
    talk = Conversation("no-renew-ended-child", "train", caller)
    talk.refuse(
        call(_RENEW, prescription_id="X6068"),
        ("The pollen are back and Amelia needs her Cetirizine. Can you renew it?",),
    )
    return talk


def _ended() -> Conversation:
    talk = Conversation("no-renew-ended", "test", Caller("P1059"))
    talk.refuse(
        call(_RENEW, prescription_id="X6057"),
        ("I want to take Atorvastatin again, I stopped last year. Please issue it.",),
        ("It is still in my record, so you only need to switch it on again.",),
    )
    return talk


def _by_the_husband_too_early() -> Conversation:
    caller = Caller("P1123", by="Ian Weber")
    talk = Conversation("no-renew-husband-early", "train", caller)
    talk.refuse(
        call(_RENEW, prescription_id="X6123"),
        ("My husband Isaac asked me to get his Cetirizine renewed.",),
        ("He takes it every day now, so he needs more than it says there.",),
    )
    return talk


def _friend_with_the_wrong_matter() -> Conversation:
    caller = Caller("P1184", by="Edith Hansen")
    talk = Conversation("no-renew-friend", "train", caller)
    talk.deny(
        ("I look after Simon Duarte. He is on my hands with his Amlodipine, please renew it.",),
        (("appointments",),),
        (),
        ("You know me, I am in his record as the one who may act for him.",),
        wanted=call(_RENEW, prescription_id="X6180"),
    )
    return talk


def _daughter_with_the_wrong_matter() -> Conversation:
    caller = Caller("P1191", by="Jana Ivanova", proof="postcode")
    talk = Conversation("no-renew-daughter", "test", caller)
    talk.deny(
        ("I'm writing for my mother Leah. Her Metformin has to be renewed.",),
        (("appointments",),),
        (),
        ("She is 74 and can't write herself. I do everything for her.",),
        wanted=call(_RENEW, prescription_id="X6189"),
    )
    return talk


def _for_a_boy() -> Conversation:
    talk = Conversation("renew-for-a-boy", "test", Caller("P1176", by="Amelia Murray"))
    talk.renew("X6170", ("Oscar's hay fever starts again. Could you renew his Cetirizine?",))
    return talk


def _father_of_a_grown_child() -> Conversation:
    talk = Conversation("no-renew-father-of-17", "train", Caller("P1101", by="Adam Ellis"))
    talk.deny(
        ("Please renew the Cetirizine of my daughter Ursula.",),
        talk.coming_of_age(),
        (),
        ("She lives with me and I pay for it. I am her father!",),
        wanted=call(_RENEW, prescription_id="X6101"),
    )
    return talk


def _wants_a_higher_dose() -> Conversation:
    talk = Conversation("no-higher-dose", "test", Caller("P1078"))
    looks = (call("get_department", department_id="general"),)
    talk.deny(
        ("My Metformin is too weak. Can you put me on 1000 mg instead of 500?",),
        (("45",),),
        looks,
        ("My neighbour takes 1000 mg and is fine.",),
    )
    slot = talk.first("gp-consultation", who="D01", since="2026-03-09")
    says = ("Then book me a GP consultation, Peter Vance's first one from 9 March on.",)
    talk.book("gp-consultation", slot, says)
    return talk


SCENARIOS = (
    _plain_renewal,
    _two_at_once,
    _one_due_one_not,
    _too_early,
    _early_before_a_journey,
    _used_up,
    _used_up_too,
    _sleeping_pills,
    _calming_pills,
    _review_is_overdue,
    _ended_for_a_child,
    _ended,
    _by_the_husband_too_early,
    _friend_with_the_wrong_matter,
    _daughter_with_the_wrong_matter,
    _for_a_boy,
    _father_of_a_grown_child,
    _wants_a_higher_dose,
)
"""Each makes one conversation."""
