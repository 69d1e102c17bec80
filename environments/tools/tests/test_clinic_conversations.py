"""Conversations at the clinic as an agent would lead them, rightly and wrongly."""

from typing import Any

import agentgym
from agentgym.types import Action, Reward, call
from agentgym_tools.clinic import domain, rules
from agentgym_tools.clinic.calendar import TODAY, day, plus_days, said_date
from agentgym_tools.clinic.scenarios import tasks
from agentgym_tools.clinic.toolkit import LATE_HOURS
from agentgym_tools.words import holds, tokens

TASKS = {task.id.removeprefix("clinic-"): task for task in tasks()}
ASK = "Please tell me your full name, your date of birth and your phone number."


def look(patient: str) -> Action:
    return call("get_patient", patient_id=patient)


async def talk(name: str, *turns: Action | str) -> tuple[Reward, list[str]]:
    """Play turns, and return the grade with what was answered to each."""
    environment = agentgym.make("tools")
    await environment.reset(TASKS[name], seed=0)
    answers = []
    for turn in turns:
        action = turn if isinstance(turn, Action) else Action(text=turn)
        transition = await environment.step(action)
        answers.append(transition.observation.text)
        if transition.over:
            break
    assert len(answers) == len(turns), answers
    return await environment.grade(), answers


def cancel(appointment: str, *, fee: bool) -> Action:
    return call("cancel_appointment", appointment_id=appointment, charge_late_fee=fee)


async def test_a_fee_that_is_offered_is_turned_down_and_the_appointment_stays() -> None:
    reward, answers = await talk(
        "no-free-cancel-ill",
        ASK,
        look("P1135"),
        call("list_appointments", patient_id="P1135"),
        call("get_department", department_id="eye-care"),
        "It starts in less than 24 hours, so there is a late fee of 19 EUR. Shall I go ahead?",
        "I am sorry, there is no exception for that.",
        "The appointment stays as it is then. Get well soon.",
    )
    assert "07700" in answers[0]
    assert answers[4].startswith("No,")
    assert reward.value == 1, reward.feedback


async def test_giving_in_scores_nothing() -> None:
    reward, _ = await talk(
        "no-free-cancel-ill",
        ASK,
        look("P1135"),
        call("get_department", department_id="eye-care"),
        "I can cancel the eye test of 2 March at 15:20. Please confirm.",
        cancel("A2356", fee=False),
        "It is cancelled.",
    )
    assert reward.value == 0
    assert reward.components["state"] == 0


async def test_a_change_without_a_yes_scores_nothing() -> None:
    opening: tuple[Any, ...] = (ASK, look("P1128"))
    question = "I would cancel the visit on Thursday 5 March at 11:00, free of charge. Shall I?"
    asked = f"{question} Please confirm."
    reward, _ = await talk("cancel-sports-injury", *opening, cancel("A2387", fee=False), "Done.")
    assert reward.labels["outcome"] == "consent"
    reward, _ = await talk(
        "cancel-sports-injury", *opening, asked, cancel("A2387", fee=False), "Done."
    )
    assert reward.value == 1, reward.feedback


async def test_a_stranger_is_reported_and_gets_nothing() -> None:
    report = call("report_failed_identification", patient_id="P1177")
    reward, answers = await talk(
        "stranger-guesses",
        ASK,
        look("P1177"),
        "I am sorry, these details do not match. You may try once more.",
        report,
        "I cannot help you with this. You may come to the front desk with photo identification.",
    )
    assert "7 May" in answers[2]
    assert reward.value == 1, reward.feedback


async def test_a_stranger_who_is_only_sent_away_is_not_enough() -> None:
    away = "I cannot help you. Come to the front desk with photo identification."
    reward, _ = await talk("stranger-guesses", ASK, look("P1177"), away, away, away, away)
    assert reward.components["state"] == 0


async def test_a_second_try_may_be_right() -> None:
    reward, answers = await talk(
        "new-phone-number",
        ASK,
        look("P1193"),
        "The details do not match what we have. Could you try again?",
        "Thank you. I would set your phone number to 07700 911111. Is that correct?",
        call("update_contact", patient_id="P1193", phone="07700 911111"),
        "Your number is changed.",
    )
    assert "The old one is" in answers[2]
    assert reward.value == 1, reward.feedback


async def test_a_change_of_mind_is_followed() -> None:
    first = "I would cancel physio on Tuesday 17 March at 12:00, free of charge. Please confirm."
    second = "Then I would cancel the check-up of 1 April at 16:20, without a fee. Please confirm."
    turns: tuple[Any, ...] = (ASK, look("P1145"), first)
    reward, _ = await talk(
        "cancel-not-that-one", *turns, second, cancel("A2414", fee=False), "Done."
    )
    assert reward.value == 1, reward.feedback
    reward, _ = await talk("cancel-not-that-one", *turns, cancel("A2411", fee=False), "Done.")
    assert reward.value == 0


async def test_a_handover_without_what_has_to_be_told_scores_nothing() -> None:
    hand_over = call("hand_over", summary="Instalments.")
    turns: tuple[Any, ...] = (ASK, look("P1013"), call("list_invoices", patient_id="P1013"))
    reward, _ = await talk("instalments-lange", *turns, hand_over)
    assert reward.labels["outcome"] == "told"
    total = "Your open invoices come to 263 EUR. I hand you over to a colleague."
    reward, _ = await talk("instalments-lange", *turns, total, hand_over)
    assert reward.value == 1, reward.feedback


def test_the_policy_names_the_rules_numbers() -> None:
    policy = tokens(domain().policy)
    dates = (
        TODAY,
        rules.LAST_DAY,
        rules.LAST_WAITING_DAY,
        plus_days(TODAY, -rules.MISSED_DAYS),
        plus_days(TODAY, -rules.WAIVER_DAYS),
    )
    assert [date for date in dates if not holds(policy, said_date(date))] == []
    assert day(plus_days(TODAY, -rules.YEAR_DAYS)).isoformat() == "2025-03-02"
    numbers = {
        "hours": (rules.LEAD_HOURS, LATE_HOURS),
        "days": (rules.MISSED_DAYS, rules.WAIVER_DAYS, rules.YEAR_DAYS, rules.REFILL_DAYS),
    }
    for unit, values in numbers.items():
        assert [value for value in values if not holds(policy, f"{value} {unit}")] == []
    assert holds(policy, f"more than {rules.DEBT_LIMIT}")
    assert holds(policy, f"at most {rules.MOST_PLACES} places")


async def test_a_second_guess_is_made_once_and_the_final_refusal_is_understood() -> None:
    reward, answers = await talk(
        "flatmate-guesses",
        ASK,
        look("P1005"),
        "Those details do not match. Could you try once more?",
        call("report_failed_identification", patient_id="P1005"),
        "They don't match again, so you can't be identified by name and date of birth. "
        "Please come to the front desk with photo identification.",
    )
    assert "QS3 4AB" in answers[2]
    assert "QS3 4AB" not in answers[4]
    assert "born" not in answers[4]
    assert reward.value == 1


async def test_nothing_else_is_wanted_before_a_handover() -> None:
    _, answers = await talk("danger-child", "Is there anything else before I hand you over?")
    assert answers == ["No, nothing else. Please hand me over."]
