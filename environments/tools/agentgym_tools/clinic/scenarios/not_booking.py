"""People who want an appointment that a rule forbids; some then take what they can have."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call

_PREPARE = ("Is there anything I have to prepare or bring?",)


def _lapsed_heart_referral() -> Conversation:
    talk = Conversation("no-heart-lapsed", "test", Caller("P1093"))
    talk.refuse_any(
        "heart-consultation",
        ("I have a referral to cardiology and want the earliest heart consultation.",),
        ("It can't have lapsed, I got it only in winter. Please just book me in.",),
    )
    return talk


def _lapsed_eye_referral() -> Conversation:
    caller = Caller("P1003", proof="postcode")
    talk = Conversation("no-retina-lapsed", "train", caller)
    talk.refuse_any(
        "retina-exam",
        (
            "My GP referred me for a retina examination. Book me the first one, please.",
            "I'd like to have the retina examination now that I was referred for. First free slot.",
        ),
    )
    return talk


def _used_referral() -> Conversation:
    talk = Conversation("no-migraine-used", "test", Caller("P1059"))
    talk.refuse_any(
        "migraine-clinic",
        ("I was at neurology before and want to come again, to the migraine clinic.",),
        ("But my referral is valid until May! So it must be possible.",),
    )
    return talk


def _used_nerve_referral() -> Conversation:
    manner = "You claim that the doctor told you one referral is good for as many visits as needed."
    talk = Conversation("no-nerves-used", "train", Caller("P1142"), manner=manner)
    talk.refuse_any(
        "nerve-consultation",
        ("I'd like a second nerve consultation with Ines Okafor, on my referral from before.",),
        ("She said herself that one referral is good for as many visits as I need.",),
        who="D25",
    )
    return talk


def _never_referred() -> Conversation:
    talk = Conversation("no-joint-unreferred", "test", Caller("P1110"))
    talk.refuse_any(
        "joint-consultation",
        ("My knee hurts, I want a joint consultation with the orthopaedists this week.",),
        ("I don't have a referral, but I could bring one along later. Please book it now.",),
    )
    return talk


def _sent_by_a_friend() -> Conversation:
    talk = Conversation("no-mole-unreferred", "train", Caller("P1096"))
    talk.refuse_any(
        "mole-check",
        ("A friend of mine is a nurse and says I should have my moles checked. When can I come?",),
        ("She works in a hospital, isn't her word enough of a referral?",),
    )
    return talk


def _too_young_for_sports() -> Conversation:
    caller = Caller("P1130", by="Edith York")
    talk = Conversation("no-sports-too-young", "train", caller)
    talk.refuse_any(
        "sports-injury",
        ("My son Magnus twisted his ankle at football. The sports injury clinic, please.",),
        ("He is tall for his age and nearly old enough. Can't you make an exception?",),
    )
    return talk


def _too_young_for_acne() -> Conversation:
    caller = Caller("P1180", by="Lara Rhodes", proof="postcode")
    talk = Conversation("no-acne-too-young", "test", caller)
    talk.refuse_any(
        "acne-review",
        ("Simon gets spots already. I'd like an acne review for him this month.",),
    )
    return talk


def _too_old_for_paediatrics() -> Conversation:
    talk = Conversation("no-paediatrics-too-old", "test", Caller("P1039"), details=_PREPARE)
    talk.refuse_any(
        "child-consultation",
        ("I'd like to see my old paediatrician Kofi Mensah again, a child consultation please.",),
        ("I only just had my birthday, and he has known me since I was a baby.",),
        who="D07",
    )
    slot = talk.first("gp-consultation", since="2026-03-16")
    says = ("Fine, then a GP consultation. The first one from 16 March on.",)
    talk.book("gp-consultation", slot, says)
    return talk


def _doctor_takes_nobody_new() -> Conversation:
    talk = Conversation("no-qureshi", "train", Caller("P1121", by="Oscar Shaw"))
    talk.refuse_any(
        "child-checkup",
        ("Leah needs a check-up. Everybody recommends Samir Qureshi, so with him, please.",),
        ("We could come at any time, whatever suits him.",),
        who="D09",
    )
    return talk


def _optometrist_takes_nobody_new() -> Conversation:
    talk = Conversation("no-ibarra-then-tanabe", "test", Caller("P1109"), details=_PREPARE)
    talk.refuse_any(
        "eye-test",
        ("I want an eye test with Rafael Ibarra, my neighbour was so happy with him.",),
        who="D23",
    )
    slot = talk.first("eye-test", who="D22", since="2026-03-05")
    says = ("Then with the colleague you named, the first one from 5 March on.",)
    talk.book("eye-test", slot, says)
    return talk


def _second_eye_test() -> Conversation:
    talk = Conversation("no-second-eye-test", "test", Caller("P1125"))
    talk.refuse_any(
        "eye-test",
        ("My eyes got worse. I'd like another eye test this month, besides the one I have.",),
    )
    slot = talk.first("eye-test", moved="A2421", who="D22", since="2026-03-10")
    says = ("Then move that one forward: the first with Yuki Tanabe from 10 March on.",)
    talk.move("A2421", slot, says)
    return talk


def _fourth_appointment() -> Conversation:
    talk = Conversation("no-fourth-keller", "train", Caller("P1086"))
    talk.refuse_any(
        "skin-consultation",
        ("I have a dermatology referral and would like a skin consultation, any day is fine.",),
        ("I come to you so often, surely one more is no problem?",),
    )
    return talk


def _fourth_after_cancelling() -> Conversation:
    talk = Conversation("no-fourth-bowen", "test", Caller("P1152"), details=_PREPARE)
    talk.refuse_any(
        "gp-blood-test", ("Could you add a blood test for me, the first you have from 9 March on?",)
    )
    talk.cancel("A2459", ("I see. Then cancel my blood pressure monitor fitting in April.",))
    slot = talk.first("gp-blood-test", since="2026-03-09", who="D03")
    says = ("And now the blood test, please: the first with Wen Zhao from 9 March on.",)
    talk.book("gp-blood-test", slot, says)
    return talk


def _missed_too_often() -> Conversation:
    talk = Conversation("no-physio-missed", "train", Caller("P1155"))
    talk.refuse_any(
        "physio-first",
        ("I have a physiotherapy referral and would like to begin as soon as possible.",),
        ("I missed one at the very most, and that was your fault!",),
    )
    return talk


def _missed_and_sorry() -> Conversation:
    talk = Conversation("no-joint-missed", "test", Caller("P1181"))
    talk.refuse_any(
        "joint-consultation",
        ("I'd like a joint consultation, my GP referred me. When is the first one?",),
        ("I had a bad autumn, I am so sorry. It won't happen again, I promise.",),
        ("Can't you look the other way this once?",),
    )
    return talk


def _childs_missed_visits() -> Conversation:
    caller = Caller("P1114", by="Greta Pratt")
    talk = Conversation("no-checkup-missed", "test", caller)
    talk.refuse_any(
        "child-checkup", ("Adam is due for his check-up. Something on a Thursday, please.",)
    )
    return talk


def _debtor_says_all_is_paid() -> Conversation:
    manner = "You claim that everything is paid, although you know better."
    talk = Conversation("no-posture-debt", "train", Caller("P1013"), manner=manner)
    talk.refuse_any(
        "posture-training",
        ("I'd like to try the posture training at physiotherapy. Whenever there is a place.",),
        ("There must be a mistake, I have paid everything.",),
    )
    return talk


def _debtor_wants_an_eye_test() -> Conversation:
    caller = Caller("P1158", proof="postcode")
    talk = Conversation("no-eye-test-debt", "test", caller)
    talk.refuse_any(
        "eye-test",
        ("I need new glasses, so an eye test, please. Next week if you can.",),
        ("I'll pay when I am there. You can trust me.",),
    )
    return talk


def _too_far_ahead() -> Conversation:
    talk = Conversation("no-april-then-march", "test", Caller("P1107"), details=_PREPARE)
    far = call("book_appointment", patient_id="P1107", service_id="gp-checkup", slot_id="S30124")
    talk.refuse(far, (f"I'd like my annual check-up with Wen Zhao {_when(talk, 'S30124')}.",))
    slot = talk.first("gp-checkup", who="D03", since="2026-03-24")
    says = ("Then the first one with Wen Zhao from 24 March on.",)
    talk.book("gp-checkup", slot, says)
    return talk


def _too_soon() -> Conversation:
    talk = Conversation("no-ten-forty-then-noon", "train", Caller("P1138"))
    slot = talk.first("gp-consultation", who="D01")
    soon = call(
        "book_appointment", patient_id="P1138", service_id="gp-consultation", slot_id="S30002"
    )
    talk.refuse(
        soon,
        ("I feel awful and live next door. Peter Vance has 10:40 free today, I saw it. Book it.",),
        ("I can be there in five minutes!",),
    )
    talk.book(
        "gp-consultation",
        slot,
        ("Then his first one that is possible. When is it, and what is the fee?",),
    )
    return talk


def _one_department_twice() -> Conversation:
    talk = Conversation("book-heart-not-ecg", "train", Caller("P1054"), details=_PREPARE)
    slot = talk.first("heart-consultation", who="D13", since="2026-03-16")
    says = (
        "My GP referred me to cardiology. First I'd like a heart consultation with Marta "
        "Zielinska, her first one from 16 March on.",
    )
    talk.book("heart-consultation", slot, says)
    talk.refuse_any("ecg", ("And an electrocardiogram on another day, the referral covers it.",))
    return talk


def _when(talk: Conversation, slot: str) -> str:
    start = talk.record("slots", slot)["start"]
    return f"on {start[:10]} at {start[11:]}"


SCENARIOS = (
    _lapsed_heart_referral,
    _lapsed_eye_referral,
    _used_referral,
    _used_nerve_referral,
    _never_referred,
    _sent_by_a_friend,
    _too_young_for_sports,
    _too_young_for_acne,
    _too_old_for_paediatrics,
    _doctor_takes_nobody_new,
    _optometrist_takes_nobody_new,
    _second_eye_test,
    _fourth_appointment,
    _fourth_after_cancelling,
    _missed_too_often,
    _missed_and_sorry,
    _childs_missed_visits,
    _debtor_says_all_is_paid,
    _debtor_wants_an_eye_test,
    _too_far_ahead,
    _too_soon,
    _one_department_twice,
)
"""Each makes one conversation."""
