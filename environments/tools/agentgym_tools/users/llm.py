"""The LLM user: a model that plays the person whom a task's story describes.

The agent's words reach it in the role `user`, as something that is said to it. How an episode
with it went depends on a model; what was said and done is in the record, and a replay plays it
from there.
"""

from collections.abc import Mapping

from agentgym.errors import ToolError
from agentgym.types import Frozen, Json, ToolCall
from agentgym_tools.case import Case
from agentgym_tools.users.agreement import Verdict, verdict
from agentgym_tools.users.base import Reply, User
from agentgym_tools.users.listening import proposes
from agentgym_tools.users.prompt import GREETING
from agentgym_tools.users.voice import ACTS, TOKENS, Act, Talk, Voice, acts_text

MOST_CALLS = 8
"""Calls of their own tools that a person makes before they answer in words."""

MOST_HEARD, MOST_REMEMBERED = 8_000, 32_000
"""Characters of one message, and bytes of all the agent's messages, that reach their model, the
latest first: no agent can overflow its context."""

FORGOTTEN = "(too long ago)"
"""What stands where a message was that is not remembered."""

FAREWELL = "Goodbye."
"""What a person says who ends the conversation without a word."""

ENDED_FIRST = "the user ended the conversation in their first words"
ENDED_AGREEING = "the user left right after agreeing, before the agent could act"


class _Memory(Frozen):
    """What a played person remembers.

    Attributes:
        talk: The conversation, in the wire form of the person's model.
        acts: What they did beside their words.
        answers: How often they have spoken.
        seen: How many of the agent's calls had been made at the last answer.
        held: Whether an end was already held back.
        agreed: See `User.agreed`.
        fault: See `User.fault`.
    """

    talk: tuple[dict[str, Json], ...] = ()
    acts: tuple[Act, ...] = ()
    answers: int = 0
    seen: int = 0
    held: bool = False
    agreed: bool = False
    fault: str = ""


class LlmUser(User):
    """A person whose words come from a model.

    They have agreed from a yes of theirs (see `agreement.verdict`) until a no, or until they
    speak again after the agent has acted on it. An end in the same message as a yes is held back
    once, since the agent has to have its turn.

    Args:
        case: What they talk about, with their own tools.
        voice: Where their words come from.
        identity: What the record calls them.
    """

    def __init__(self, case: Case, voice: Voice, identity: str) -> None:
        self._case = case
        self._voice = voice
        self._identity = identity
        self._memory = _Memory()

    async def begin(self) -> Reply:
        """Return their first words; see `User.begin`."""
        reply = await self._speak(GREETING)
        if reply.end:
            self._note(fault=ENDED_FIRST)
        return Reply(text=reply.text)

    async def answer(self, text: str) -> Reply:
        """Answer the agent; see `User.answer`."""
        if len(text) > MOST_HEARD:
            text = f"{text[:MOST_HEARD]} (the message goes on, too long to read)"
        used = self._acted_upon()
        reply = await self._speak(text)
        says = verdict(reply.text, asked=proposes(text))
        if says is Verdict.YES:
            self._note(agreed=True)
        elif used or says is Verdict.NO:
            self._note(agreed=False)
        self._note(seen=len(self._case.made))
        if reply.end == "satisfied" and says is Verdict.YES and self._case.domain.consent:
            return self._leave_agreeing(reply)
        return reply

    def labels(self) -> Mapping[str, str]:
        """Return what is needed to know who they were and to play them again."""
        usage = self._voice.usage
        labels = {
            "user": self._identity,
            TOKENS: f"{usage.prompt_tokens}+{usage.completion_tokens}",
        }
        acts = self._memory.acts
        return {**labels, ACTS: acts_text(acts)} if acts else labels

    def save(self) -> Json:
        """Return what they remember."""
        return self._memory.model_dump(mode="json")

    def load(self, state: Json) -> None:
        """Remember what `save` returned."""
        self._memory = _Memory.model_validate(state)
        self._note()

    def _leave_agreeing(self, reply: Reply) -> Reply:
        if not self._memory.held:
            self._note(held=True)
            return Reply(text=reply.text)
        self._note(fault=ENDED_AGREEING)
        return reply

    def _acted_upon(self) -> bool:
        """Whether the agent has used the agreement since the last answer."""
        consent = self._case.domain.consent
        made = self._case.made[self._memory.seen :]
        return any(m.agreed and not m.error and m.call.name in consent for m in made)

    async def _speak(self, heard: str) -> Reply:
        """Hear words, do what they lead to, and answer."""
        self._add({"role": "user", "content": heard})
        calls = 0
        while True:
            talk = remembered(self._memory.talk)
            said = await self._voice.say(talk, may_call=calls < MOST_CALLS)
            if not said.calls:
                break
            for call in said.calls[: MOST_CALLS - calls]:
                self._use(call)
                calls += 1
        text = said.text or FAREWELL
        self._add({"role": "assistant", "content": text})
        if said.end:
            self._do(Act(self._memory.answers, end=said.end))
        self._note(answers=self._memory.answers + 1)
        return Reply(text=text, end=said.end)

    def _use(self, call: ToolCall) -> None:
        """Use one of their own tools; each call is a message of its own, with an id of ours."""
        number = f"call_{len(self._memory.talk)}"
        wire = ToolCall(name=call.name, arguments=call.arguments, id=number).to_wire()
        self._add({"role": "assistant", "content": None, "tool_calls": [wire]})
        result = self._result(call)
        self._add({"role": "tool", "tool_call_id": number, "content": result})
        self._do(Act(self._memory.answers, name=call.name, arguments=call.arguments))

    def _result(self, call: ToolCall) -> str:
        if isinstance(call.arguments, str):
            return "Error: the arguments are not a JSON object."
        try:
            return self._case.desk.side("user").call(call.name, call.arguments)
        except ToolError as error:
            return f"Error: {error}"

    def _add(self, message: dict[str, Json]) -> None:
        self._note(talk=(*self._memory.talk, message))

    def _do(self, act: Act) -> None:
        self._note(acts=(*self._memory.acts, act))

    def _note(self, **what: object) -> None:
        self._memory = self._memory.model_copy(update=what)
        self.agreed, self.fault = self._memory.agreed, self._memory.fault


def remembered(talk: Talk) -> Talk:
    """Return a conversation without what was heard too long ago."""
    left = MOST_REMEMBERED
    found: list[Mapping[str, Json]] = []
    for message in reversed(talk):
        if message["role"] == "user":
            left -= len(message["content"].encode())
            if left < 0:
                message = {**message, "content": FORGOTTEN}
        found.append(message)
    return tuple(reversed(found))
