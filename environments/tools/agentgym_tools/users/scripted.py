"""The scripted user: a state machine that plays a task's script, without any model.

They tell what they are asked for, do with their own devices what they are asked to do, agree to
a proposal that names what they want, object to one that does not, and leave when what they came
for has happened, or when nothing leads on any more: to say something once more does not, nor
does a change at their devices that the right solution has not. Which wording they use is drawn by
the episode's seed.
"""

from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from agentgym.env import digest
from agentgym.errors import ToolError
from agentgym.types import Frozen, Json
from agentgym_tools.case import Case
from agentgym_tools.domain import Call
from agentgym_tools.script import Deed, Wish, Wordings
from agentgym_tools.toolkit import Effect
from agentgym_tools.users.base import Reply, User
from agentgym_tools.users.listening import orders, proposes, requests
from agentgym_tools.words import Tokens, holds_all, holds_any, taken_in, tokens

AGREED = ("Yes, please go ahead.", "Yes, please do that.", "Yes, that is right, go ahead.")
UNCLEAR = (
    "Before I agree: what exactly would you do? Please name every detail.",
    "I can't say yes to that yet. Tell me all the details of what you would do first.",
)
TOO_LONG = (
    "That is more than I can take in at once. Could you put it briefly?",
    "Sorry, that was far too long for me. What is it, in short?",
)
MOST_UNSURE = 3
"""Questions without an answer that do not cost a user's patience."""

MOST_CHANGES = 2
"""Changes at their devices that a user makes at one asking."""

ONE_BY_ONE = (
    "That is too much at once. What should I do first?",
    "One thing after the other, please. Which of these first?",
)
UNSURE = (
    "I can't tell just like that. What should I do?",
    "I would not know. Tell me what to do.",
)
LISTENS = ("I see. What else is there?", "Understood. And the rest?", "All right. Please go on.")
WAITING = (
    "I have agreed already, but it has not happened yet. Please do it now.",
    "I said yes. Nothing has changed on my side yet.",
)
AGAIN = ("I am still here for the same thing: {wish}", "That does not help me yet. {wish}")
GIVES_UP = (
    "This leads nowhere. I will try another time. Goodbye.",
    "I don't have more time for this. Goodbye.",
)


class _Memory(Frozen):
    """What a user remembers.

    Attributes:
        wish: Which of the script's wishes is the current one.
        changes: How often they changed their mind about it.
        agreed: Whether they agreed to a proposal for it.
        insisted: How often they insisted on it.
        known: Names of the facts and deeds that were asked for, as often as they were.
        answers: What their own devices have answered, each once.
        told: How many of the things to be told had been told at the last turn.
        details: How many of the further sentences they have said.
        idle: Turns without progress so far, one after the other.
        lines: How many wordings were drawn.
        before: The agent's words of the turn before.
    """

    wish: int = 0
    changes: int = 0
    agreed: bool = False
    insisted: int = 0
    known: dict[str, int] = Field(default_factory=dict)
    answers: tuple[str, ...] = ()
    told: int = 0
    details: int = 0
    idle: int = 0
    lines: int = 0
    before: str = ""


class ScriptedUser(User):
    """Plays a script over a case.

    Args:
        case: What they react to; the script is in its task.
        seed: Draws the wordings.
    """

    def __init__(self, case: Case, seed: str) -> None:
        self._case = case
        self._script = case.private.script
        self._seed = seed
        self._memory = _Memory()
        self._known: Counter[str] = Counter()

    async def begin(self) -> Reply:
        """Ask for the first wish."""
        return Reply(text=self._pick(self._script.opening))

    async def answer(self, text: str) -> Reply:
        """Answer by the script."""
        words = taken_in(text)
        if words is None:
            return self._idle(self._pick(TOO_LONG))
        done, led_on = self._done(words, orders(text))
        said, new = self._asked(words, requests(text))
        parts = [*done, *said]
        news = led_on or new or len(self._case.told) > self._memory.told
        self._note(told=len(self._case.told))
        last = self._moved_on()
        if last is not None:
            parts.append(last.text)
            reply = Reply(text=" ".join(parts), end=last.end)
        else:
            # Who is just asked who they are is not asked for a yes.
            proposed = proposes(text) and not new and not self._memory.agreed
            reply = self._about_the_wish(words, parts, news=news, proposed=proposed)
        self._note(before=text)
        self.agreed = self._memory.agreed
        return reply

    def labels(self) -> Mapping[str, str]:
        """Return that they were scripted."""
        return {"user": "scripted"}

    def save(self) -> Json:
        """Return what they remember."""
        return self._memory.model_copy(update={"known": dict(self._known)}).model_dump()

    def load(self, state: Json) -> None:
        """Remember what `save` returned."""
        self._memory = _Memory.model_validate(state)
        self._known = Counter(self._memory.known)
        self.agreed = self._memory.agreed

    # Doing and telling.

    def _done(self, words: Tokens, ordered: Tokens) -> tuple[list[str], bool]:
        """Do what is asked for; the second value is whether it leads on.

        Args:
            words: The agent's words: what is named in them can be looked at.
            ordered: Those of them that are no mere questions: only they change anything.
        """
        named = [deed for deed in self._script.deeds if holds_any(words, deed.asked)]
        asked = [
            deed for deed in named if not self._changes(deed.call) or holds_any(ordered, deed.asked)
        ]
        if named and not asked:
            self._known[UNSURE[0]] += 1
            return [self._pick(UNSURE)], self._known[UNSURE[0]] <= MOST_UNSURE
        if sum(self._changes(deed.call) for deed in asked) > MOST_CHANGES:
            return [self._pick(ONE_BY_ONE)], False
        done = [self._do(deed) for deed in asked]
        return [said for said, _ in done], any(led_on for _, led_on in done)

    def _do(self, deed: Deed) -> tuple[str, bool]:
        mistake = deed.first if not self._known[deed.name] else None
        self._known[deed.name] += 1
        says = deed.first_says if mistake else deed.says
        result = self._result(mistake or deed.call)
        useful = not self._changes(deed.call) or deed.call in self._case.private.gold
        led_on = bool(mistake) or (useful and result not in self._memory.answers)
        self._note(answers=tuple(dict.fromkeys((*self._memory.answers, result))))
        return self._pick(says).replace("{result}", result), led_on

    def _changes(self, call: Call) -> bool:
        return self._case.desk.side("user").declared()[call.name].effect is Effect.WRITE

    def _result(self, call: Call) -> str:
        try:
            return self._case.desk.side("user").call(call.name, call.arguments)
        except ToolError as error:
            return str(error)

    def _asked(self, words: Tokens, requested: Tokens) -> tuple[list[str], bool]:
        """Tell what is asked for; the second value is whether any of it is new."""
        asked = [
            fact
            for fact in self._script.facts
            if holds_any(requested, fact.asked) and not holds_any(words, fact.unless)
        ]
        new = [fact for fact in asked if not self._known[fact.name]]
        told = [fact.says if fact in new else fact.then or fact.says for fact in new or asked]
        for fact in asked:
            self._known[fact.name] += 1
        return [self._pick(says) for says in told], bool(new)

    # Wanting.

    @property
    def _wish(self) -> Wish:
        wish = self._script.wishes[self._memory.wish]
        for _ in range(self._memory.changes):
            wish = wish.instead or wish
        return wish

    def _settled(self, wish: Wish) -> bool:
        last = self._memory.wish + 1 == len(self._script.wishes)
        if wish.instead is not None:
            return False  # only a change of mind leads on from it
        if last and self._case.private.rules.handover == "must":
            return False  # only the handover settles it
        told = self._case.told.issuperset(wish.told)
        if wish.refused:
            return self._happened(wish) or (told and self._memory.insisted >= len(wish.insists))
        return told and (self._happened(wish) or not wish.done) and self._proved(wish)

    def _happened(self, wish: Wish) -> bool:
        if wish.done == "gold":
            return not self._case.differences()
        return bool(wish.done) and all(self._case.holds(part) for part in wish.done)

    def _proved(self, wish: Wish) -> bool:
        """Whether, where nothing has to happen, the agent has at least looked."""
        return wish.done != "gold" or self._case.looked_up()

    def _moved_on(self) -> Reply | None:
        """Go on to the next wish where this one is settled; None where it is not."""
        if not self._settled(self._wish):
            return None
        following = self._memory.wish + 1
        self._note(agreed=False, insisted=0, changes=0, idle=0)
        if following == len(self._script.wishes):
            return Reply(text=self._pick(self._script.closing), end="satisfied")
        self._note(wish=following)
        return Reply(text=self._pick(self._wish.says))

    def _about_the_wish(
        self, words: Tokens, parts: list[str], *, news: bool, proposed: bool
    ) -> Reply:
        wish = self._wish
        objection = self._objection(wish, words) if proposed else None
        if objection is not None:
            return self._reply([*parts, objection], news=news)
        left = wish.insists[self._memory.insisted :]
        if wish.refused and left and self._case.told.issuperset(wish.told):
            said = self._pick(left[0])
            self._note(insisted=self._memory.insisted + 1)
            return self._reply([*parts, said], news=True)
        if proposed:
            said, news_here = self._verdict(wish, words)
            return self._reply([*parts, said], news=news or news_here)
        if parts:
            return self._reply(parts, news=news)
        return self._reply([self._pick(LISTENS)], news=True) if news else self._at_a_loss(wish)

    def _verdict(self, wish: Wish, words: Tokens) -> tuple[str, bool]:
        """Answer a request for agreement; the second value is whether it leads on."""
        if wish.instead is not None:
            self._note(changes=self._memory.changes + 1)
            return self._pick(wish.instead.says), True
        if not holds_all(tokens(self._memory.before) + words, wish.agrees):
            return self._pick(UNCLEAR), False
        self._note(agreed=True)
        return self._pick(AGREED), True

    def _objection(self, wish: Wish, words: Tokens) -> str | None:
        for correction in wish.corrections:
            if holds_any(words, correction.heard):
                return self._pick(correction.says)
        return None

    def _at_a_loss(self, wish: Wish) -> Reply:
        if self._memory.details < len(self._script.details):
            said = self._script.details[self._memory.details]
            self._note(details=self._memory.details + 1)
            return self._reply([said], news=True)
        if self._memory.agreed:
            return self._idle(self._pick(WAITING))
        return self._idle(self._pick(AGAIN).replace("{wish}", self._pick(wish.says)))

    # Talking.

    def _reply(self, parts: list[str], *, news: bool) -> Reply:
        if not news:
            return self._idle(" ".join(parts))
        self._note(idle=0)
        return Reply(text=" ".join(parts))

    def _idle(self, text: str) -> Reply:
        self._note(idle=self._memory.idle + 1)
        if self._memory.idle >= self._script.patience:
            return Reply(text=self._pick(GIVES_UP), end="gave_up")
        return Reply(text=text)

    def _pick(self, wordings: Wordings) -> str:
        self._note(lines=self._memory.lines + 1)
        drawn = digest([self._seed, self._memory.lines])
        return wordings[int(drawn, 16) % len(wordings)]

    def _note(self, **what: object) -> None:
        self._memory = self._memory.model_copy(update=what)
