"""The LLM user: a model behind a real server plays the person."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ModelMalformedError, UsageError
from agentgym.types import Action, Message, Observation, Reward, call
from agentgym_tools.base import Base
from agentgym_tools.case import Case
from agentgym_tools.domain import Call, Domain
from agentgym_tools.env import ToolsEnvironment
from agentgym_tools.models import ChatModel, ModelSettings
from agentgym_tools.script import Script, Wish
from agentgym_tools.tasks import ToolsPrivate
from agentgym_tools.tau2.task_set import read_folder
from agentgym_tools.toolkit import Toolkit, reads, writes
from agentgym_tools.users.base import Reply
from agentgym_tools.users.llm import (
    ENDED_AGREEING,
    ENDED_FIRST,
    FAREWELL,
    FORGOTTEN,
    MOST_CALLS,
    MOST_HEARD,
    MOST_REMEMBERED,
    LlmUser,
)
from agentgym_tools.users.prompt import STOP, cut_marks, system_prompt, without_marks
from agentgym_tools.users.voice import EMPTY_ANSWERS, ModelVoice, RecordedVoice

BASE = Base({"lamps": {"l1": {"on": False, "bulb": "old"}}})
STORY = "You are Ann. Your lamp {l1} does not work."


class Shop(Toolkit):
    """The agent's side."""

    @writes
    def send_bulb(self) -> str:
        """Send a bulb."""
        with self.state.edit("lamps", "l1") as record:
            record["bulb"] = "new"
        return "sent"


class Home(Toolkit):
    """The person's side."""

    @writes
    def switch_on(self, lamp: str) -> str:
        """Switch a lamp on.

        Args:
            lamp: Which one.
        """
        with self.state.edit("lamps", lamp) as record:
            record["on"] = True
        return f"{lamp} shines"

    @reads
    def look(self) -> str:
        """Look at the lamp."""
        return "it is dark"


DOMAIN = Domain(
    name="lamps",
    base=BASE,
    toolkit=Shop,
    policy="",
    user_toolkit=Home,
    consent=frozenset({"send_bulb"}),
)
PRIVATE = ToolsPrivate(
    script=Script(opening=("Hello.",), wishes=(Wish(says=("Mend it.",)),)), story=STORY
)


def uses(*calls: tuple[str, str]) -> dict[str, Any]:
    """An answer that calls tools."""
    wire = [
        {"id": f"x{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    return {"content": None, "tool_calls": wire}


class Talk:
    """A conversation that a test leads with a person whose model answers in turn."""

    def __init__(self, chat: Any, answers: Iterable[Any] = ()) -> None:
        chat.says(answers)
        self.case = Case(DOMAIN, PRIVATE)
        settings = ModelSettings(model="m", base_url=chat.base_url)
        specs = [tool.spec for tool in Home.declared().values()]
        standing = system_prompt(STORY, tools=True)
        voice = ModelVoice(ChatModel(settings, "user"), standing, specs, seed=5)
        self.user = LlmUser(self.case, voice, "llm:m:hash:5")
        self.replies: list[Reply] = []

    async def begin(self) -> Reply:
        self.replies.append(await self.user.begin())
        return self.replies[-1]

    async def say(self, text: str) -> Reply:
        self.case.hear(text)
        self.replies.append(await self.user.answer(text))
        return self.replies[-1]

    def send(self) -> None:
        self.case.desk.agent.call("send_bulb", {})
        self.case.record(Call(name="send_bulb", arguments={}), error=False, agreed=self.user.agreed)


async def test_roles_are_flipped_and_the_story_is_standing(chat: Any) -> None:
    talk = Talk(chat, ["It is dark.", "Ann."])
    await talk.begin()
    assert (await talk.say("Who are you?")).text == "Ann."
    standing, greeting, own, asked = chat.requests[1]["messages"]
    assert standing["role"] == "system"
    assert STORY in standing["content"]
    assert (greeting["role"], own["role"], asked["role"]) == ("user", "assistant", "user")
    assert (own["content"], asked["content"]) == ("It is dark.", "Who are you?")
    offered = [tool["function"]["name"] for tool in chat.requests[0]["tools"]]
    assert offered == ["switch_on", "look"]
    assert (chat.requests[0]["seed"], chat.requests[0]["tool_choice"]) == (5, "auto")


async def test_a_message_beyond_measure_is_cut(chat: Any) -> None:
    talk = Talk(chat, ["Hello.", "What?"])
    await talk.begin()
    await talk.say("la " * MOST_HEARD)
    assert len(chat.requests[-1]["messages"][-1]["content"]) < MOST_HEARD + 100


async def test_what_was_heard_too_long_ago_is_not_remembered(chat: Any) -> None:
    talk = Talk(chat, ["Hello.", *["Go on."] * 6])
    await talk.begin()
    for _ in range(6):
        await talk.say("é" * MOST_HEARD)
    heard = [m["content"] for m in chat.requests[-1]["messages"] if m["role"] == "user"]
    assert [text == FORGOTTEN for text in heard] == [True] * 5 + [False] * 2
    assert sum(len(text.encode()) for text in heard) < MOST_REMEMBERED + 1000


async def test_own_tools_are_used_before_words(chat: Any) -> None:
    answers = ["Help.", uses(("look", ""), ("switch_on", '{"lamp": "l1"}')), "It shines."]
    talk = Talk(chat, answers)
    await talk.begin()
    assert (await talk.say("Please switch it on.")).text == "It shines."
    record = talk.case.desk.state.get("lamps", "l1")
    assert record is not None
    assert record["on"]
    results = [m["content"] for m in chat.requests[2]["messages"] if m["role"] == "tool"]
    assert results == ["it is dark", "l1 shines"]
    ids = [m["tool_call_id"] for m in chat.requests[2]["messages"] if m["role"] == "tool"]
    assert len(set(ids)) == 2


async def test_wrong_calls_are_answered(chat: Any) -> None:
    wrong = uses(("dance", "{}"), ("switch_on", "[1"), ("switch_on", '{"x": 1}'))
    talk = Talk(chat, ["Help.", wrong, "I can't."])
    await talk.begin()
    await talk.say("Switch it on.")
    results = [m["content"] for m in chat.requests[2]["messages"] if m["role"] == "tool"]
    assert all(result.startswith("Error: ") for result in results)
    assert not talk.case.desk.state.changes()


async def test_calls_are_bounded(chat: Any) -> None:
    talk = Talk(chat)
    chat.answer = lambda body: (
        "Enough." if body["tool_choice"] == "none" else uses(*[("look", "{}")] * 3)
    )
    await talk.user.begin()
    made = [m for m in chat.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(made) == MOST_CALLS
    chat.answer = lambda body: uses(("look", "{}"))
    with pytest.raises(ModelMalformedError, match="gave no words"):
        await talk.user.answer("And now?")


async def test_an_empty_answer_is_asked_for_again(chat: Any) -> None:
    talk = Talk(chat, ["", "<think>hm</think>", "Hello."])
    assert (await talk.begin()).text == "Hello."
    assert [body["seed"] for body in chat.requests] == [5, 6, 7]


async def test_a_person_without_words_is_an_infrastructure_error(chat: Any) -> None:
    talk = Talk(chat, [""] * EMPTY_ANSWERS)
    with pytest.raises(ModelMalformedError, match="'m' gave no words"):
        await talk.begin()


async def test_an_end_in_the_first_words_is_the_users_fault(chat: Any) -> None:
    talk = Talk(chat, [f"Hello. {STOP}"])
    assert await talk.begin() == Reply(text="Hello.")
    assert talk.user.fault == ENDED_FIRST


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (f"Bye. {STOP}", Reply(text="Bye.", end="satisfied")),
        (STOP, Reply(text=FAREWELL, end="satisfied")),
        ("Bye. ###stop", Reply(text="Bye.", end="satisfied")),
        ("I leave. ###GIVE-UP###", Reply(text="I leave.", end="gave_up")),
        ("<think>###STOP###</think>Go on.", Reply(text="Go on.")),
        ("Please stop that.", Reply(text="Please stop that.")),
    ],
)
async def test_a_person_ends_by_their_mark(chat: Any, answer: str, reply: Reply) -> None:
    talk = Talk(chat, ["Hello.", answer])
    await talk.begin()
    assert await talk.say("It is done.") == reply


async def test_agreement_holds_until_it_is_used_or_taken_back(chat: Any) -> None:
    answers = ["Hello.", "What for?", "Yes.", "Thanks, I wait.", "Good. And another?", "Yes!",
               "No, stop, don't do it."]  # fmt: skip
    talk = Talk(chat, answers)
    await talk.begin()
    agreed = []
    for words in (
        *("Shall I send a bulb?", "For your lamp. Shall I?", "A moment."),
        *("It is sent.", "Shall I send another?", "Are you sure?"),
    ):
        if words == "It is sent.":
            talk.send()
        await talk.say(words)
        agreed.append(talk.user.agreed)
    assert agreed == [False, True, True, False, True, False]


async def test_an_end_together_with_a_yes_waits_for_the_agent_once(chat: Any) -> None:
    talk = Talk(chat, ["Hello.", f"Yes, go ahead. {STOP}", f"Yes, do it. {STOP}"])
    await talk.begin()
    assert await talk.say("Shall I send a bulb?") == Reply(text="Yes, go ahead.")
    assert not talk.user.fault
    assert (await talk.say("Shall I really?")).end == "satisfied"
    assert talk.user.fault == ENDED_AGREEING


async def test_what_a_person_remembers_can_be_carried_over(chat: Any) -> None:
    talk = Talk(chat, ["Hello.", uses(("look", "{}")), f"Yes. {STOP}", "Bye."])
    twin = Talk(chat, ["Hello.", uses(("look", "{}")), f"Yes. {STOP}", "Bye."])
    await talk.begin()
    await talk.say("Look, please. Shall I send a bulb?")
    twin.user.load(json.loads(json.dumps(talk.user.save())))
    twin.case.load(talk.case.save())
    assert twin.user.agreed
    assert await talk.say("Sent.") == Reply(text="Bye.")
    chat.says(["Bye."])
    assert await twin.say("Sent.") == Reply(text="Bye.")
    assert chat.requests[-1]["messages"] == chat.requests[-2]["messages"]
    assert twin.user.save() == talk.user.save()


def shown(*replies: Reply) -> list[Observation]:
    """What the agent was shown of a person."""
    return [Observation(messages=(Message(role="user", content=r.text),)) for r in replies]


async def test_a_recorded_person_does_again_what_they_did(chat: Any) -> None:
    answers = ["Hello.", uses(("look", ""), ("switch_on", '{"lamp": "l1"}')), uses(("look", "")),
               f"Yes, please. {STOP}", uses(("dance", "[1")), STOP]  # fmt: skip
    talk = Talk(chat, answers)
    said = ("Switch it on. Shall I send a bulb?", "It is sent.")
    await talk.begin()
    for words in said:
        await talk.say(words)
    labels = dict(talk.user.labels())

    again = Talk(chat)
    recorded = RecordedVoice(shown(*talk.replies), Reward(labels=labels))
    again.user = LlmUser(again.case, recorded, "llm:m:hash:5")
    await again.begin()
    for words in said:
        await again.say(words)
    assert again.replies == talk.replies
    assert again.user.save() == talk.user.save()
    assert again.user.labels() == labels
    assert again.case.desk.state.fingerprint() == talk.case.desk.state.fingerprint()


@pytest.mark.parametrize(
    "labels", [{}, {"user_tokens": "many"}, {"user_tokens": "1+2", "user_acts": "[1]"}]
)
def test_a_record_that_does_not_tell_is_refused(labels: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="does not say what the user did"):
        RecordedVoice([], Reward(labels=labels))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Done. {STOP}", "Done. STOP"),
        ("#### stop ####", "stop"),
        ("###GIVE_UP###!", "GIVE_UP!"),
        ("### Stopping times", "### Stopping times"),
        ("# Stop", "# Stop"),
    ],
)
def test_an_agents_mark_is_only_letters(text: str, left: str) -> None:
    assert without_marks(text) == left
    assert cut_marks(left) == (left, "")


CANCEL = call("cancel_pending_order", order_id="#W1", reason="no longer needed")
TURNS = (
    Action(text="Why? ###STOP###"),
    Action(text="I cancel #W1. Do you confirm?"),
    CANCEL,
    Action(text="Done."),
)


def playing(chat: Any) -> ToolsEnvironment:
    return ToolsEnvironment(user="llm", user_model="m", user_base_url=chat.base_url)


async def test_an_episode_goes_on_in_another_object(chat: Any, small_tau2: Path) -> None:
    tasks = read_folder(small_tau2)
    assert tasks is not None
    [task] = [task for task in tasks if task.id == "retail-0"]
    chat.says(["Cancel it.", "I don't need it.", "Yes.", f"Thanks! {STOP}", f"Thanks! {STOP}"])
    one, other = playing(chat), playing(chat)
    await one.reset(task, seed=0)
    for action in TURNS[:-1]:
        await one.step(action)
    await other.restore(await one.snapshot())
    assert await other.fingerprint() == await one.fingerprint()
    ends = [await env.step(TURNS[-1]) for env in (one, other)]
    assert [end.reward.value for end in ends] == [1.0, 1.0]
    assert ends[0].observation == ends[1].observation
    assert await other.fingerprint() == await one.fingerprint()


async def test_a_recalled_episode_is_worked_out_again(chat: Any, small_tau2: Path) -> None:
    tasks = read_folder(small_tau2)
    assert tasks is not None
    [task] = [task for task in tasks if task.id == "retail-0"]
    chat.says(["Cancel it.", "I don't need it.", "Yes.", f"Thanks! {STOP}"])
    environment = playing(chat)
    seen = [await environment.reset(task, seed=0)]
    prints = [await environment.fingerprint()]
    for action in TURNS:
        end = await environment.step(action)
        seen.append(end.observation)
        prints.append(await environment.fingerprint())
    assert end.reward.value == 1.0

    async def again(record: list[Observation]) -> tuple[list[Observation], list[str], Reward]:
        environment.recall(record, end.reward)
        found = [await environment.reset(task, seed=0)]
        marks = [await environment.fingerprint()]
        for action in TURNS:
            last = await environment.step(action)
            found.append(last.observation)
            marks.append(await environment.fingerprint())
        return found, marks, last.reward

    asked = len(chat.requests)
    assert await again(seen) == (seen, prints, end.reward)
    refusal = Message(role="user", content="No, don't.")
    altered = [*seen[:2], seen[2].model_copy(update={"messages": (refusal,)}), *seen[3:]]
    _, _, reward = await again(altered)
    assert (reward.value, reward.labels["outcome"]) == (0.0, "consent")
    assert len(chat.requests) == asked  # a replay asks nobody


async def test_the_next_episode_is_played_by_the_model_again(chat: Any, small_tau2: Path) -> None:
    tasks = read_folder(small_tau2)
    assert tasks is not None
    environment = playing(chat)
    chat.says(["One.", "Two."])
    grade = Reward(labels={"user_tokens": "0+0"})
    environment.recall(shown(Reply(text="Recorded.")), grade)
    firsts = [(await environment.reset(tasks.tasks[0], seed=0)).messages[1].text for _ in "ab"]
    assert firsts == ["Recorded.", "One."]
