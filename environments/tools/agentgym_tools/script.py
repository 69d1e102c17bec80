"""What a scripted user knows and wants: the declarative part of a task's private side."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from agentgym.types import Frozen, Json
from agentgym_tools.domain import Call

Wordings = Annotated[tuple[str, ...], Field(min_length=1)]
"""Ways to say one thing; the episode's seed picks one."""

Parts = tuple[Wordings, ...]
"""Things that have to be named, each in any of its wordings; see `words.holds_all`."""


class Expect(Frozen):
    """A statement about the state, or about what the domain derives from it.

    Attributes:
        collection: A collection of the base, or the name of one of the domain's `derived`.
        key: The record's id; None for some record of the collection.
        fields: Values by field, nested ones by dotted path; numbers are compared with tolerance.
        absent: True to say that there is no such record.
    """

    collection: str
    key: str | None = None
    fields: Mapping[str, Json] = Field(default_factory=dict)
    absent: bool = False


class Fact(Frozen):
    """Something the user tells when asked for it.

    Attributes:
        name: Unique in the script, such as "birth date".
        asked: Phrases of the agent's that ask for it, matched as whole tokens.
        says: What the user answers.
        then: What they answer from the second time on; by default the same.
        unless: Phrases beside which it is not asked for, such as those of a final refusal.
    """

    name: str
    asked: tuple[str, ...]
    says: Wordings
    then: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


NOTHING_ELSE = Fact(
    name="nothing else",
    asked=(
        *("anything else", "something else", "before i hand you over", "before i hand over"),
        *("before i transfer you", "before i connect you", "before i pass you on"),
    ),
    says=("No, nothing else. Please hand me over.",),
)
"""What a user whose matter is to be handed over answers to a last question."""


class Told(Frozen):
    """Something the agent has to tell the user, in one message.

    Attributes:
        name: Unique in the script, such as "late fee".
        parts: What the message has to name.
        unless: Phrases that make a message say something else, such as another amount.
    """

    name: str
    parts: Parts = Field(min_length=1)
    unless: tuple[str, ...] = ()


class Deed(Frozen):
    """Something the user does with their own tools when the agent asks for it.

    Attributes:
        name: Unique in the script, such as "restart router".
        asked: Phrases of the agent's that ask for it.
        call: The call of the user's side.
        says: What the user reports; `{result}` is the call's answer.
        first: What the user does at the first time of asking instead, such as the wrong thing.
        first_says: What they report then.
    """

    name: str
    asked: tuple[str, ...]
    call: Call
    says: Wordings
    first: Call | None = None
    first_says: tuple[str, ...] = ()


class Correction(Frozen):
    """What the user objects to in a proposal.

    Attributes:
        heard: Phrases that are wrong.
        says: The objection.
    """

    heard: tuple[str, ...]
    says: Wordings


class Wish(Frozen):
    """One thing the user came for, asked for when the wish before is settled.

    A wish that is to be granted is settled when `done` holds and all of `told` has been told.
    One that is to be refused is settled when all of `told` has been told and the user has
    insisted as often as `insists` says; and also when the agent gives in, that is, `done` holds.

    Attributes:
        says: How the user asks for it, and asks again.
        agrees: What a request for confirmation has to name to be agreed to; empty agrees to any.
        corrections: What is objected to in one.
        instead: The user changes their mind when first asked to confirm: this wish is dropped
            for that one, whose `says` is the answer.
        done: What the user waits for: statements about the state; "gold" for the state that the
            task's gold calls lead to.
        told: Names of what they have to be told.
        refused: Whether the right outcome is not to grant it.
        insists: What the user says to a refusal before accepting it, one after the other.
        gold: The calls that settle it, in order; for a refusal those that prove the reason.
    """

    says: Wordings
    agrees: Parts = ()
    corrections: tuple[Correction, ...] = ()
    instead: "Wish | None" = None
    done: tuple[Expect, ...] | Literal["gold"] = ()
    told: tuple[str, ...] = ()
    refused: bool = False
    insists: tuple[Wordings, ...] = ()
    gold: tuple[Call, ...] = ()


class Script(Frozen):
    """A user's whole part in a conversation.

    Attributes:
        opening: Their first words, which ask for the first wish.
        wishes: What they came for, in order.
        facts: What they tell when asked.
        deeds: What they do when asked.
        told: What the agent has to tell them.
        details: Further sentences, told one at a time where the agent asks for anything else.
        closing: Their last words when everything is settled.
        patience: Turns without any progress after which they give up.
    """

    opening: Wordings
    wishes: tuple[Wish, ...] = Field(min_length=1)
    facts: tuple[Fact, ...] = ()
    deeds: tuple[Deed, ...] = ()
    told: tuple[Told, ...] = ()
    details: tuple[str, ...] = ()
    closing: Wordings = ("Thank you, that is all. Goodbye.", "Great, thanks for your help. Bye.")
    patience: int = Field(default=4, ge=1)

    def chosen(self) -> tuple[Wish, ...]:
        """Return the wishes as they are in the end, after every change of mind."""
        return tuple(_last(wish) for wish in self.wishes)


def _last(wish: Wish) -> Wish:
    return wish if wish.instead is None else _last(wish.instead)
