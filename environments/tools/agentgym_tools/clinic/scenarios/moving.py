"""People who want an appointment at another time."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call
from agentgym_tools.script import Correction


def _namesake_keeps_the_doctor() -> Conversation:
    talk = Conversation("move-osei-namesake", "train", Caller("P1136"))
    slot = talk.first("gp-consultation", who="D05", since="2026-03-16", moved="A2385")
    says = (
        "I can't make my GP consultation this Friday. Can I have it with Klara Novak instead, her "
        "first one from 16 March on?",
    )
    talk.move("A2385", slot, says)
    return talk


def _tomorrow_is_still_possible() -> Conversation:
    talk = Conversation("move-tomorrow", "test", Caller("P1083"))
    slot = talk.first("gp-consultation", who="D05", since="2026-03-04", moved="A2482")
    says = (
        "I have a GP consultation tomorrow afternoon, but something came up. Same doctor, as soon "
        "as possible after tomorrow.",
    )
    talk.move("A2482", slot, says)
    return talk


def _toddlers_checkup() -> Conversation:
    talk = Conversation("move-toddler-checkup", "train", Caller("P1088", by="Theo Haas"))
    slot = talk.first("child-checkup", who="D08", since="2026-03-24", days="4", moved="A2392")
    says = (
        "Emil's check-up on 19 March clashes with nursery. Could it be on a Friday after that week "
        "with Farid Rahimi? The first possible one.",
    )
    talk.move("A2392", slot, says)
    return talk


def _earlier_is_better() -> Conversation:
    talk = Conversation("move-earlier-eyes", "test", Caller("P1076", proof="postcode"))
    slot = talk.first("pressure-screening", since="2026-03-10", moved="A2461")
    wrong = Correction(
        heard=("12:40", "14:20", "16:20"),
        says=("No, I am travelling until 9 March. It has to be later than that.",),
    )
    says = (
        "My eye pressure screening is only on 23 March. I am travelling until 9 March, but after "
        "that I'd take the first one you have.",
    )
    talk.move("A2461", slot, says, corrections=(wrong,))
    return talk


def _by_the_spouse() -> Conversation:
    talk = Conversation("move-by-spouse", "test", Caller("P1024", by="Maria Archer"))
    slot = talk.first(
        "migraine-clinic", since="2026-03-24", moved="A2433", hours=("12:00", "24:00")
    )
    says = (
        "My wife Olga asked me to move her migraine clinic visit of 19 March. An afternoon from 24 "
        "March on would be good, the first one.",
    )
    talk.move("A2433", slot, says)
    return talk


def _wrong_day_in_mind() -> Conversation:
    manner = "You are mistaken about the day of the appointment."
    talk = Conversation("move-wrong-day", "train", Caller("P1095"), manner=manner)
    slot = talk.first("gp-consultation", who="D01", since="2026-03-14", moved="A2434")
    says = (
        "Please move my GP consultation. I have it down for Thursday 12 March, and need it the "
        "week after or later, with the same doctor. The first one.",
    )
    talk.move("A2434", slot, says)
    return talk


def _teenager_moves_alone() -> Conversation:
    talk = Conversation("move-teenager", "train", Caller("P1073"))
    slot = talk.first("gp-blood-test", since="2026-03-09", moved="A2401", hours=("14:00", "24:00"))
    says = (
        "I'm 17 and have a blood test tomorrow. School has an exam then. Can it be next week or "
        "later, after 14:00? The earliest, please.",
    )
    talk.move("A2401", slot, says)
    return talk


def _cancels_instead() -> Conversation:
    talk = Conversation("move-then-cancel", "train", Caller("P1050"))
    talk.cancel(
        "A2475",
        ("Hmm, no. I change jobs that month anyway. Cancel it altogether, please.",),
        before=("I'd like to move my annual check-up of 19 March to the last week of March.",),
    )
    return talk


def _moves_instead() -> Conversation:
    talk = Conversation("cancel-then-move", "test", Caller("P1008"))
    slot = talk.first("gp-blood-test", since="2026-03-23", moved="A2465", who="D03")
    talk.move(
        "A2465",
        slot,
        (
            "Oh wait, don't cancel it. Better move it to the first one Wen Zhao has from 23 March "
            "on.",
        ),
        before=("Please cancel my blood test of 17 March.",),
    )
    return talk


def _moved_twice_he_says_once() -> Conversation:
    manner = "You claim that you moved the appointment only once."
    talk = Conversation("no-move-twice-pratt", "train", Caller("P1112"), manner=manner)
    wanted = call("move_appointment", appointment_id="A2430")
    talk.refuse(
        wanted,
        ("I need my consultation with Peter Vance on another day, some time after 18 March.",),
        ("I moved it once, not twice. The other time that was you.",),
    )
    return talk


def _moved_twice_tries_a_detour() -> Conversation:
    manner = "You look for a way around the rule."
    talk = Conversation("no-move-twice-kaya", "test", Caller("P1126"), manner=manner)
    wanted = call("move_appointment", appointment_id="A2447")
    talk.refuse(
        wanted,
        ("Please move my annual check-up of 30 March a little forward, to any day before.",),
        ("Then cancel it and book me a new one on an earlier day, that is the same thing.",),
    )
    return talk


def _late_and_then_cancels() -> Conversation:
    talk = Conversation("no-move-late-then-cancel", "test", Caller("P1002"))
    wanted = call("move_appointment", appointment_id="A2347")
    talk.refuse(
        wanted,
        ("I can't come to my heart consultation this afternoon. Can we move it to mid-March?",),
        ("But I am letting you know hours ahead!",),
    )
    talk.cancel(
        "A2347", ("Then I'd have to cancel it. Tell me exactly what that would mean, please.",)
    )
    return talk


def _late_and_keeps_it() -> Conversation:
    talk = Conversation("no-move-late", "train", Caller("P1086"))
    wanted = call("move_appointment", appointment_id="A2348")
    talk.refuse(
        wanted,
        ("My bus broke down, can I come to my blood pressure fitting tomorrow instead of today?",),
        ("It's really not my fault. What would you do in my place?",),
    )
    return talk


def _one_yes_one_no() -> Conversation:
    talk = Conversation("move-one-of-two", "test", Caller("P1017"))
    wanted = call("move_appointment", appointment_id="A2389")
    talk.refuse(wanted, ("Two things. First, move my vaccination of 25 March a week forward.",))
    slot = talk.first("skin-consultation", moved="A2377", who="D11", since="2026-03-18")
    says = (
        "All right. Second, my skin consultation in April: can I have it earlier, the first one "
        "with the same doctor from 18 March on?",
    )
    talk.move("A2377", slot, says)
    return talk


def _mother_of_a_grown_child() -> Conversation:
    talk = Conversation("no-move-mother-of-17", "test", Caller("P1025", by="Karen Archer"))
    talk.deny(
        ("My daughter Eva has a nerve consultation on 9 March. Please move it a week later.",),
        talk.coming_of_age(),
        (),
        ("I am her mother and on her record, look it up!",),
        wanted=call("move_appointment", appointment_id="A2458"),
    )
    return talk


SCENARIOS = (
    _namesake_keeps_the_doctor,
    _tomorrow_is_still_possible,
    _toddlers_checkup,
    _earlier_is_better,
    _by_the_spouse,
    _wrong_day_in_mind,
    _teenager_moves_alone,
    _cancels_instead,
    _moves_instead,
    _moved_twice_he_says_once,
    _moved_twice_tries_a_detour,
    _late_and_then_cancels,
    _late_and_keeps_it,
    _one_yes_one_no,
    _mother_of_a_grown_child,
)
"""Each makes one conversation."""
