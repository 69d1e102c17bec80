"""People who want an appointment and may have it."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.script import Correction

_PREPARE = ("Is there anything I have to prepare or bring?",)


def _checkup_in_the_morning() -> Conversation:
    talk = Conversation("book-checkup-morning", "train", Caller("P1012"), details=_PREPARE)
    slot = talk.first(
        "gp-checkup", since="2026-03-09", until="2026-03-13", hours=("09:00", "12:00")
    )
    says = (
        "I'd like my annual check-up next week, the first one you have that starts before noon.",
        "Could I have an annual check-up next week, in the morning? The earliest one, please.",
    )
    talk.book("gp-checkup", slot, says)
    return talk


def _consultation_with_one_doctor() -> Conversation:
    talk = Conversation("book-consultation-novak", "test", Caller("P1104"), details=_PREPARE)
    slot = talk.first("gp-consultation", who="D05", since="2026-03-16")
    says = ("I need a GP consultation with Klara Novak, her first free one from 16 March on.",)
    talk.book("gp-consultation", slot, says)
    return talk


def _physio_on_a_thursday() -> Conversation:
    caller = Caller("P1091", proof="postcode")
    talk = Conversation("book-physio-thursday", "train", caller, details=_PREPARE)
    slot = talk.first("physio-first", days="3", hours=("12:00", "24:00"))
    says = (
        "My doctor wrote me a referral for physiotherapy. It would be my first visit there, and it "
        "has to be the first Thursday you have, after noon.",
    )
    talk.book("physio-first", slot, says)
    return talk


def _cardiologist_who_speaks_french() -> Conversation:
    talk = Conversation("book-heart-french", "test", Caller("P1195"), details=_PREPARE)
    slot = talk.first("heart-consultation", who="D14")
    says = (
        "I was referred for a heart consultation. My wife comes along and speaks only French, so "
        "it should be somebody who does too. I was never here for my heart. The earliest, please.",
    )
    talk.book("heart-consultation", slot, says)
    return talk


def _namesakes_electrocardiogram() -> Conversation:
    talk = Conversation("book-ecg-namesake", "train", Caller("P1040"), details=_PREPARE)
    slot = talk.first("ecg", since="2026-03-09", until="2026-03-13", hours=("14:00", "24:00"))
    says = ("I have a referral for an electrocardiogram. Next week, at 14:00 or later, please.",)
    talk.book("ecg", slot, says)
    return talk


def _skin_not_moles() -> Conversation:
    talk = Conversation("book-skin-not-moles", "test", Caller("P1183"), details=_PREPARE)
    slot = talk.first("skin-consultation", who="D11", since="2026-03-12")
    talk.book(
        "skin-consultation",
        slot,
        (
            "Wait, I read my referral again: it's a skin consultation I need, not a mole check. "
            "With Sofia Almeida, the first one from 12 March on.",
        ),
        before=("I'd like a mole check, the first one you can give me.",),
    )
    return talk


def _physio_that_time_only() -> Conversation:
    caller = Caller("P1021")
    talk = Conversation("book-physio-fontaine", "train", caller, details=_PREPARE)
    slot = talk.first("physio-first", who="D20", since="2026-03-13")
    wrong = Correction(
        heard=("12:30", "14:00", "15:30"),
        says=("No, I am away until 13 March, as I said. It has to be after that.",),
    )
    says = (
        "I have a referral for physiotherapy and would like a first visit with Hugo Fontaine. I am "
        "away until 13 March, so his first one after that.",
    )
    talk.book("physio-first", slot, says, corrections=(wrong,))
    return talk


def _child_after_school() -> Conversation:
    caller = Caller("P1048", by="Mona Naylor")
    talk = Conversation("book-child-after-school", "test", caller, details=_PREPARE)
    slot = talk.first("child-consultation", hours=("15:00", "24:00"))
    says = (
        "My daughter Emma has had a cough for weeks and should see a paediatrician. She can come "
        "from 15:00 on, after school. What is the first you have?",
    )
    talk.book("child-consultation", slot, says)
    return talk


def _vaccination_on_a_friday() -> Conversation:
    caller = Caller("P1022", by="Elias Lowe")
    talk = Conversation("book-child-vaccination", "train", caller, details=_PREPARE)
    slot = talk.first("child-vaccination", days="4", since="2026-03-07")
    says = (
        "My son Jonas needs his vaccination. On a Friday please, the first one after this week.",
    )
    talk.book("child-vaccination", slot, says)
    return talk


def _two_children_on_one_day() -> Conversation:
    callers = (Caller("P1061", by="Fiona Farrow"), Caller("P1062", by="Fiona Farrow"))
    talk = Conversation("book-two-children", "test", *callers, details=_PREPARE * 2)
    day = {"since": "2026-03-13", "until": "2026-03-13"}
    slot = talk.first("child-checkup", hours=("00:00", "12:00"), **day)
    says = (
        "Both my boys need a child check-up, and I can only come on Friday 13 March. First Simon, "
        "in the morning.",
    )
    talk.book("child-checkup", slot, says)
    slot = talk.first("child-checkup", hours=("12:00", "24:00"), patient="P1062", **day)
    says = ("And now Emil, the same check-up on the same day, but in the afternoon.",)
    talk.book("child-checkup", slot, says, patient="P1062")
    return talk


def _retina_before_noon() -> Conversation:
    caller = Caller("P1085", proof="postcode")
    talk = Conversation("book-retina-morning", "train", caller, details=_PREPARE)
    slot = talk.first("retina-exam", hours=("00:00", "12:00"))
    says = (
        "I need a retina examination, I have the referral. My son can drive me only in the "
        "mornings, so the first one that starts before 12:00.",
    )
    talk.book("retina-exam", slot, says)
    return talk


def _german_speaking_therapist() -> Conversation:
    talk = Conversation("book-physio-german", "test", Caller("P1016"), details=_PREPARE)
    slot = talk.first("physio-first", who="D20", since="2026-03-03", until="2026-03-03")
    says = (
        "I was referred for physiotherapy, a first visit. Do you have a therapist who speaks "
        "German? Not today, but the earliest after today.",
    )
    talk.book("physio-first", slot, says)
    return talk


def _migraine_clinic() -> Conversation:
    talk = Conversation("book-migraine", "test", Caller("P1153"), details=_PREPARE)
    says = ("I'd like to come to the migraine clinic as early as I can. I do have a referral.",)
    talk.book("migraine-clinic", talk.first("migraine-clinic"), says)
    return talk


def _nerves_in_the_afternoon() -> Conversation:
    talk = Conversation("book-nerves-afternoon", "train", Caller("P1197"))
    slot = talk.first("nerve-consultation", hours=("12:00", "24:00"))
    says = ("My GP referred me to the nerve consultation. Afternoons suit me. What's the first?",)
    talk.book("nerve-consultation", slot, says)
    return talk


def _third_appointment() -> Conversation:
    talk = Conversation("book-third-appointment", "test", Caller("P1113"), details=_PREPARE)
    slot = talk.first("joint-consultation", who="D17")
    says = (
        "I have two other appointments with you already, but now I need a joint consultation too. "
        "I'd like Anna Virtanen's first free slot, and I do have a referral.",
    )
    talk.book("joint-consultation", slot, says)
    return talk


def _eye_pressure() -> Conversation:
    talk = Conversation("book-eye-pressure", "test", Caller("P1143"), details=_PREPARE)
    slot = talk.first("pressure-screening", since="2026-03-09", hours=("00:00", "12:00"))
    talk.book(
        "pressure-screening",
        slot,
        ("Oh, mornings are better after all: the first from 9 March on that starts before noon.",),
        before=("I'd like an eye pressure screening, the very first one you have.",),
    )
    return talk


def _debtor_sees_the_gp() -> Conversation:
    manner = "You are ashamed of your unpaid bill and bring it up yourself."
    caller = Caller("P1134")
    talk = Conversation("book-debtor-gp", "train", caller, manner=manner)
    slot = talk.first("gp-consultation", who="D01", since="2026-03-03")
    says = (
        "I still owe you money for last summer, so maybe you won't have me. But I need a GP "
        "consultation with Peter Vance, the first one from tomorrow on.",
    )
    talk.book("gp-consultation", slot, says)
    return talk


def _parent_for_a_toddler() -> Conversation:
    caller = Caller("P1129", by="Edith York", proof="postcode")
    talk = Conversation("book-toddler-checkup", "train", caller, details=_PREPARE)
    slot = talk.first("child-checkup", who="D08", since="2026-03-21")
    says = ("Chloe needs her check-up with Farid Rahimi. The first he has when he is back.",)
    talk.book("child-checkup", slot, says)
    return talk


SCENARIOS = (
    _checkup_in_the_morning,
    _consultation_with_one_doctor,
    _physio_on_a_thursday,
    _cardiologist_who_speaks_french,
    _namesakes_electrocardiogram,
    _skin_not_moles,
    _physio_that_time_only,
    _child_after_school,
    _vaccination_on_a_friday,
    _two_children_on_one_day,
    _retina_before_noon,
    _german_speaking_therapist,
    _migraine_clinic,
    _nerves_in_the_afternoon,
    _third_appointment,
    _eye_pressure,
    _debtor_sees_the_gp,
    _parent_for_a_toddler,
)
"""Each makes one conversation."""
