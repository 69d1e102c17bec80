"""What a twenty questions task holds."""

from pydantic import BaseModel, ConfigDict, Field

from agentgym_games.twenty_questions.rules import Attribute, Item, Table, every_item


class QuestionsPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        attributes: The values each attribute may have.
        items: The values of each one that may be hidden, in the attributes' order; empty where
            every combination of values is one, named by them.
        questions: How many may be asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attributes: dict[str, tuple[str, ...]] = Field(min_length=1)
    items: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    questions: int = Field(ge=1)

    def table(self, hidden: str) -> Table:
        """Return the game's table with the hidden one's name."""
        attributes = tuple(Attribute(name, values) for name, values in self.attributes.items())
        items = tuple(Item(name, values) for name, values in self.items.items())
        return Table(attributes, items or every_item(attributes), hidden, self.questions)


class QuestionsPrivate(BaseModel):
    """The part that is hidden: the name of the one to be found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: str
