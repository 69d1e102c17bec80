"""The scripted user and the default grade, over a small desk of a library."""

from typing import Any

import pytest

from agentgym.errors import TaskSetError, ToolError
from agentgym_tools.base import Base
from agentgym_tools.case import Case
from agentgym_tools.checking import check_task
from agentgym_tools.domain import Call, Domain
from agentgym_tools.grading import grade
from agentgym_tools.script import Correction, Deed, Expect, Fact, Script, Told, Wish
from agentgym_tools.state import Record
from agentgym_tools.tasks import Lookup, Rules, ToolsPrivate, ToolsPublic, ToolsTask
from agentgym_tools.toolkit import Toolkit, reads, writes
from agentgym_tools.users.base import Reply
from agentgym_tools.users.scripted import ScriptedUser

BASE = Base(
    {
        "members": {"m1": {"name": "Ann", "fees": 12.5}, "m2": {"name": "Bo", "fees": 0}},
        "books": {
            "b1": {"title": "Emma", "due": "2026-03-05", "member": "m1"},
            "b2": {"title": "Ivanhoe", "due": "2026-03-09", "member": "m2"},
        },
        "cards": {"m1": {"blocked": False}},
    }
)


class Desk(Toolkit):
    """The library's side."""

    @reads
    def find_book(self, title: str) -> str:
        """Find a book.

        Args:
            title: Its title.
        """
        for key, record in self.state.items("books"):
            if record["title"] == title:
                return f"{key} {record['due']}"
        raise ToolError("No such book.")

    @writes
    def renew(self, book: str, until: str) -> str:
        """Renew a loan.

        Args:
            book: The book's id.
            until: The new date.
        """
        with self.state.edit("books", book) as record:
            record["due"] = until
        return "renewed"


class Card(Toolkit):
    """The member's side."""

    @writes
    def block_card(self) -> str:
        """Block the card."""
        with self.state.edit("cards", "m1") as record:
            record["blocked"] = True
        return "card blocked"

    @reads
    def look_at_card(self) -> str:
        """Look at the card."""
        return "a blue card"


def owner(collection: str, record: Record) -> str | None:
    return record.get("member") if collection == "books" else None


DOMAIN = Domain(
    name="library",
    base=BASE,
    toolkit=Desk,
    policy="Renew for two weeks.",
    user_toolkit=Card,
    consent=frozenset({"renew"}),
    owner=owner,
)

RENEW = Call(name="renew", arguments={"book": "b1", "until": "2026-03-19"})
FIND = Call(name="find_book", arguments={"title": "Emma"})
RENEWED = (Expect(collection="books", key="b1", fields={"due": "2026-03-19"}),)


def renewal(**fields: Any) -> Wish:
    given: dict[str, Any] = {
        "says": ("I want to renew Emma.",),
        "agrees": (("Emma",), ("19 March",)),
        "done": RENEWED,
        "gold": (RENEW,),
    }
    return Wish.model_validate({**given, **fields})


REFUSAL = Wish(
    says=("Waive my fees.",),
    refused=True,
    told=("fees",),
    insists=(("Please, just this once?",),),
    gold=(FIND,),
)
FEES = Told(name="fees", parts=(("12.50",), ("cannot", "can't")), unless=("you owe nothing",))


def script(*wishes: Wish, **fields: Any) -> Script:
    given: dict[str, Any] = {
        "opening": ("Hello, about my book.",),
        "wishes": wishes or (renewal(),),
        "facts": (Fact(name="name", asked=("name", "who are you"), says=("I am Ann.",)),),
        "told": (FEES,),
        "patience": 2,
    }
    return Script.model_validate({**given, **fields})


def private(*wishes: Wish, rules: Rules | None = None, **fields: Any) -> ToolsPrivate:
    return ToolsPrivate(script=script(*wishes, **fields), story="", rules=rules or Rules())


class Talk:
    """A conversation that a test leads."""

    def __init__(self, part: ToolsPrivate, seed: str = "s") -> None:
        self.case = Case(DOMAIN, part)
        self.user = ScriptedUser(self.case, seed)

    async def say(self, text: str) -> Reply:
        self.case.hear(text)
        return await self.user.answer(text)

    def agreed(self) -> bool:
        return self.user.agreed

    def do(self, call: Call) -> bool:
        self.case.desk.agent.call(call.name, call.arguments)
        return self.case.record(call, error=False, agreed=self.agreed())


async def test_facts_are_told_when_asked_for_and_not_before() -> None:
    talk = Talk(private())
    assert "Ann" not in (await talk.user.begin()).text
    assert "Ann" not in (await talk.say("How can I help?")).text
    assert "I am Ann." in (await talk.say("What is your name?")).text


async def test_a_proposal_is_agreed_to_only_with_its_details() -> None:
    talk = Talk(private())
    await talk.say("Shall I renew Emma?")
    assert not talk.agreed()
    await talk.say("Until March 19th. Is that correct?")
    assert talk.agreed()


async def test_the_user_stays_until_the_write_has_happened() -> None:
    talk = Talk(private())
    await talk.say("Shall I renew Emma until 19 March?")
    assert not (await talk.say("It is done!")).end
    talk.do(RENEW)
    assert (await talk.say("Now it is done.")).end == "satisfied"
    assert grade(talk.case, "satisfied").value == 1


async def test_a_wrong_proposal_is_corrected() -> None:
    wrong = Correction(heard=("Ivanhoe",), says=("No, I mean Emma.",))
    talk = Talk(private(renewal(corrections=(wrong,))))
    assert "No, I mean Emma." in (await talk.say("Shall I renew Ivanhoe until 19 March?")).text
    assert not talk.agreed()


async def test_a_user_who_changes_their_mind_wants_the_new_thing() -> None:
    later = {
        "says": ("Rather until the 26th.",),
        "agrees": (("26 March",),),
        "done": (Expect(collection="books", key="b1", fields={"due": "2026-03-26"}),),
        "gold": (Call(name="renew", arguments={"book": "b1", "until": "2026-03-26"}),),
    }
    talk = Talk(private(renewal(instead=renewal(**later))))
    assert "26th" in (await talk.say("Emma until 19 March, shall I?")).text
    assert not talk.agreed()
    await talk.say("Then 26 March. Is that right?")
    assert talk.agreed()
    talk.do(RENEW)
    assert not (await talk.say("Done.")).end
    assert grade(talk.case, "satisfied").components["state"] == 0


async def test_a_refusal_is_accepted_once_explained_and_held_to() -> None:
    talk = Talk(private(REFUSAL))
    assert not (await talk.say("No.")).end
    said = await talk.say("You owe 12.50 and I cannot waive it. Is that okay?")
    assert said.text == "Please, just this once?"
    assert not talk.agreed()
    assert (await talk.say("I am sorry.")).end == "satisfied"


async def test_who_has_insisted_enough_waits_for_the_handover() -> None:
    talk = Talk(private(REFUSAL, rules=Rules(handover="must")))
    said = [await talk.say(text) for text in ("You owe 12.50, I cannot.", "Sorry.", "No.")]
    assert [reply.end for reply in said] == ["", "", "gave_up"]


async def test_words_that_say_something_else_do_not_count_as_told() -> None:
    talk = Talk(private(REFUSAL))
    await talk.say("You owe nothing of the 12.50, but I cannot say more.")
    await talk.say("You owe 112.50 and I cannot waive it.")
    await talk.say("I cannot " + "do it for 12.50 and " * 200)
    assert talk.case.told == set()


async def test_the_user_uses_their_own_tools_when_asked_to() -> None:
    deed = Deed(
        name="block",
        asked=("block your card",),
        call=Call(name="block_card", arguments={}, requestor="user"),
        says=("I get: {result}.",),
        first=Call(name="look_at_card", arguments={}, requestor="user"),
        first_says=("I look at it: {result}.",),
    )
    talk = Talk(private(deeds=(deed,)))
    assert "a blue card" in (await talk.say("Please block your card.")).text
    assert not talk.case.holds(Expect(collection="cards", key="m1", fields={"blocked": True}))
    assert "card blocked" in (await talk.say("Please block your card.")).text
    assert talk.case.holds(Expect(collection="cards", key="m1", fields={"blocked": True}))


async def test_patience_ends() -> None:
    talk = Talk(private())
    ends = [(await talk.say("La la la.")).end for _ in range(2)]
    assert ends == ["", "gave_up"]
    assert grade(talk.case, "gave_up").components["ended"] == 0


async def test_asking_the_same_again_leads_nowhere() -> None:
    talk = Talk(private())
    ends = [(await talk.say("What is your name?")).end for _ in range(3)]
    assert ends == ["", "", "gave_up"]


def blocks(name: str) -> Deed:
    call = Call(name="block_card", arguments={}, requestor="user")
    return Deed(name=name, asked=(name,), call=call, says=("{result}",))


async def test_changes_that_the_solution_has_not_lead_nowhere() -> None:
    talk = Talk(private(deeds=(blocks("block"), blocks("freeze"))))
    assert "card blocked" in (await talk.say("Please block it.")).text
    assert (await talk.say("Please freeze it.")).end == "gave_up"


async def test_many_changes_at_once_are_not_made() -> None:
    talk = Talk(private(deeds=(blocks("block"), blocks("freeze"), blocks("lock"))))
    assert "first?" in (await talk.say("Please block, freeze and lock it.")).text
    assert not talk.case.desk.state.changes()


async def test_wordings_are_drawn_by_the_seed() -> None:
    words = tuple(f"wording {number}" for number in range(50))
    first = [(await Talk(private(opening=words), str(n)).user.begin()).text for n in range(20)]
    again = [(await Talk(private(opening=words), str(n)).user.begin()).text for n in range(20)]
    assert first == again
    assert len(set(first)) > 5


async def test_what_a_user_remembers_can_be_carried_over() -> None:
    talk, twin = Talk(private(renewal(), REFUSAL)), Talk(private(renewal(), REFUSAL))
    await talk.say("What is your name?")
    await talk.say("Emma until 19 March, shall I?")
    talk.do(RENEW)
    twin.case.load(talk.case.save())
    twin.user.load(talk.user.save())
    for words in ("Done.", "You owe 12.50, I cannot.", "Sorry."):
        assert await talk.say(words) == await twin.say(words)
    assert twin.case.save() == talk.case.save()


async def test_a_write_without_consent_is_found() -> None:
    talk = Talk(private())
    talk.do(RENEW)
    assert (await talk.say("Done.")).end == "satisfied"
    found = grade(talk.case, "satisfied")
    assert found.value == 0
    assert found.components["consent"] == 0
    assert found.labels == {"outcome": "consent", "failed_by": "agent", "end": "satisfied"}
    assert "renew" in (found.feedback or "")


def test_a_stranger_is_found() -> None:
    talk = Talk(private(rules=Rules(subjects=("m1",), free=("books",))))
    talk.do(Call(name="renew", arguments={"book": "b2", "until": "2026-04-01"}))
    assert grade(talk.case, "satisfied").components["subject"] == 0


async def test_lookups_have_to_be_made_with_their_arguments() -> None:
    rules = Rules(lookups=(Lookup(any_of=(FIND,)),))
    talk = Talk(private(REFUSAL, rules=rules))
    await talk.say("You owe 12.50, I cannot waive it.")
    assert (await talk.say("Sorry.")).end == "satisfied"
    assert grade(talk.case, "satisfied").labels["outcome"] == "lookups"
    talk.do(Call(name="find_book", arguments={"title": "Ivanhoe"}))
    assert grade(talk.case, "satisfied").value == 0
    talk.do(FIND)
    assert grade(talk.case, "satisfied").value == 1


def test_required_and_forbidden_effects() -> None:
    blocked = Expect(collection="cards", key="m1", fields={"blocked": True})
    for rules, value in ((Rules(required=(blocked,)), 0), (Rules(forbidden=(blocked,)), 1)):
        talk = Talk(private(rules=rules))
        assert grade(talk.case, "satisfied").components["effects"] == value


def test_handing_over_is_right_only_where_it_is() -> None:
    for handover, end, value in (
        ("must", "handover", 1),
        ("must", "satisfied", 0),
        ("may", "handover", 1),
        ("never", "handover", 0),
    ):
        talk = Talk(private(rules=Rules.model_validate({"handover": handover})))
        assert grade(talk.case, end).components["handover"] == value  # type: ignore[arg-type]


def test_a_failure_of_the_users_is_not_the_agents() -> None:
    found = grade(Talk(private()).case, "satisfied", user_fault="left before the write")
    assert found.labels["failed_by"] == "user"
    assert "left before the write" in (found.feedback or "")


def test_a_useful_call_is_one_of_the_golds_that_was_not_made_yet() -> None:
    talk = Talk(private(renewal(gold=(FIND, RENEW))))
    assert talk.do(FIND)
    assert not talk.do(FIND)
    assert not talk.do(Call(name="find_book", arguments={"title": "Ivanhoe"}))
    assert talk.do(RENEW)


def task(part: ToolsPrivate) -> ToolsTask:
    return ToolsTask(id="t", public=ToolsPublic(domain="library"), private=part)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (private(renewal(gold=(Call(name="renwe", arguments={}),))), "renew"),
        (private(rules=Rules(lookups=(Lookup(any_of=(Call(name="x", arguments={}),)),))), "'x'"),
        (private(rules=Rules(free=("shelves",))), "shelves"),
        (private(renewal(done=(Expect(collection="shelves"),))), "shelves"),
        (private(renewal(told=("weather",))), "weather"),
        (private(renewal(gold=())), "never end"),
        (private(renewal(done=())), "waits for nothing"),
        (private(REFUSAL.model_copy(update={"told": ()})), "never end"),
        (
            private(renewal(gold=(RENEW.model_copy(update={"arguments": {}}), RENEW))),
            "'renew' fails",
        ),
        (
            private(renewal(gold=(RENEW, blocks("block").call))),
            "never does the gold's 'block_card'",
        ),
        (private(told=(Told(name="t", parts=(("...",),)),)), "'t' cannot be told"),
        (private(told=(FEES, FEES)), "two of `told` have one name"),
        (private(renewal(agrees=(("...",),))), "nothing makes its user agree to wish 1"),
        (private(rules=Rules(forbidden=RENEWED)), "do not earn a grade of 1: books b1 is as"),
        (private(rules=Rules(lookups=(Lookup(any_of=(FIND,)),))), "grade of 1: not looked up"),
        (private(rules=Rules(subjects=("nobody",))), "grade of 1: records of"),
        (private(told=(FEES.model_copy(update={"unless": ("12.50",)}),)), "cannot be told"),
        (private(rules=Rules(handover="must")), "which its gold does not do"),
        (
            private(
                deeds=(
                    Deed(
                        name="d",
                        asked=("x",),
                        call=Call(name="block", arguments={}, requestor="user"),
                        says=("y",),
                    ),
                )
            ),
            "block_card",
        ),
    ],
)
def test_a_task_that_cannot_be_played_is_refused(part: ToolsPrivate, words: str) -> None:
    with pytest.raises(TaskSetError, match=words):
        check_task(DOMAIN, task(part))


def test_a_sound_task_is_not_refused() -> None:
    check_task(DOMAIN, task(private(renewal(), REFUSAL)))
