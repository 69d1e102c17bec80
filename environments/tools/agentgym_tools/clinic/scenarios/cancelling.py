"""People who want an appointment cancelled."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call


def _in_time() -> Conversation:
    talk = Conversation("cancel-sports-injury", "train", Caller("P1128"))
    says = (
        "My ankle is fine again. Please cancel my visit to the sports injury clinic on Thursday.",
        "I don't need the sports injury clinic on Thursday any more. Can you take me off?",
    )
    talk.cancel("A2387", says)
    return talk


def _in_time_with_a_worry() -> Conversation:
    manner = "You fear that you have to pay and ask about it."
    talk = Conversation("cancel-vaccination", "test", Caller("P1026"), manner=manner)
    says = ("I moved away and won't come on 8 April. Please cancel that. I hope it costs nothing?",)
    talk.cancel("A2479", says)
    return talk


def _just_over_a_day() -> Conversation:
    talk = Conversation("cancel-tomorrow-noon", "test", Caller("P1082", proof="postcode"))
    says = ("I have a vaccination tomorrow at noon or so, and a fever today. Please cancel it.",)
    talk.cancel("A2444", says)
    return talk


def _late_and_pays() -> Conversation:
    talk = Conversation("cancel-late-pays", "train", Caller("P1164"))
    says = ("I overslept and won't make my vaccination at 10:00. Cancel it, I know it may cost.",)
    talk.cancel("A2364", says)
    return talk


def _late_and_pays_for_the_eyes() -> Conversation:
    talk = Conversation("cancel-late-eye-test", "test", Caller("P1001"))
    says = ("Please cancel my eye test today. If there is a fee for that, tell me how much first.",)
    talk.cancel("A2371", says)
    return talk


def _late_with_a_plus_plan() -> Conversation:
    talk = Conversation("cancel-late-plus", "train", Caller("P1198"))
    says = ("I can't come to my check-up this morning. What happens now? I'd like it cancelled.",)
    talk.cancel("A2351", says)
    return talk


def _late_with_a_plus_plan_again() -> Conversation:
    talk = Conversation("cancel-late-plus-acne", "test", Caller("P1200", proof="postcode"))
    says = ("My train is cancelled, so I have to cancel my acne review this afternoon too.",)
    talk.cancel("A2350", says)
    return talk


def _ill_and_will_not_pay() -> Conversation:
    manner = "You don't want to pay a fee; if there is one, you would rather come."
    talk = Conversation("no-free-cancel-ill", "train", Caller("P1135"), manner=manner)
    wanted = call("cancel_appointment", appointment_id="A2356", charge_late_fee=False)
    talk.refuse(
        wanted,
        ("I'm in bed with a cold. Cancel my eye test this afternoon, but without a fee, please.",),
        ("I am ill, and I can prove it! There must be an exception for that.",),
    )
    return talk


def _was_told_it_is_free() -> Conversation:
    manner = "You claim that the front desk promised you a free cancellation; nobody did."
    talk = Conversation("no-free-cancel-promised", "test", Caller("P1196"), manner=manner)
    wanted = call("cancel_appointment", appointment_id="A2369", charge_late_fee=False)
    talk.refuse(
        wanted,
        ("Cancel my heart consultation at 11:30, please. Free of charge, as I was promised.",),
        ("Your colleague at the front desk promised it last week. I won't pay anything.",),
    )
    return talk


def _both_of_them() -> Conversation:
    talk = Conversation("cancel-both", "test", Caller("P1149"))
    says = ("I am going abroad for a year. First, please cancel my retina examination this week.",)
    talk.cancel("A2456", says)
    talk.cancel("A2448", ("And now the other one, the joint consultation in April.",))
    return talk


def _the_wrong_one_first() -> Conversation:
    talk = Conversation("cancel-not-that-one", "train", Caller("P1145"))
    talk.cancel(
        "A2414",
        ("No, stop, I mixed them up: I keep the physiotherapy. Cancel the check-up in April.",),
        before=(
            "I have two appointments and need only one. Cancel the physiotherapy on 17 March.",
        ),
    )
    return talk


def _father_cancels_late() -> Conversation:
    talk = Conversation("cancel-child-late", "train", Caller("P1100", by="Adam Ellis"))
    says = (
        "Emma has a temperature, so she can't be vaccinated at 11:40. I'd cancel, even at a fee.",
    )
    talk.cancel("A2370", says)
    return talk


def _child_writes_herself() -> Conversation:
    talk = Conversation("no-cancel-child-herself", "test", Caller("P1182"))
    talk.deny(
        ("I have a doctor's visit at four today and don't want to go. Can you cancel it?",),
        (("Esther Schwarz",),),
        (),
        ("My mum doesn't need to know, does she? I'm nearly thirteen.",),
        wanted=call("cancel_appointment", appointment_id="A2368", charge_late_fee=True),
    )
    return talk


def _girl_writes_herself() -> Conversation:
    talk = Conversation("no-cancel-girl-herself", "train", Caller("P1067"))
    talk.deny(
        ("I'm Jana. I want my acne review on 9 March gone, my skin is fine again.",),
        (("Esther Weber",),),
        (),
        wanted=call("cancel_appointment", appointment_id="A2417", charge_late_fee=False),
    )
    return talk


SCENARIOS = (
    _in_time,
    _in_time_with_a_worry,
    _just_over_a_day,
    _late_and_pays,
    _late_and_pays_for_the_eyes,
    _late_with_a_plus_plan,
    _late_with_a_plus_plan_again,
    _ill_and_will_not_pay,
    _was_told_it_is_free,
    _both_of_them,
    _the_wrong_one_first,
    _father_cancels_late,
    _child_writes_herself,
    _girl_writes_herself,
)
"""Each makes one conversation."""
