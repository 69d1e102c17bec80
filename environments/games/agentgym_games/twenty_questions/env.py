"""The twenty questions environment."""

from math import log

from agentgym.tools import tool
from agentgym.types import Json
from agentgym_games.game import GameEnvironment
from agentgym_games.twenty_questions.rules import QuestionsState, Table, ask, fitting, guess
from agentgym_games.twenty_questions.tasks import QuestionsPrivate, QuestionsPublic

RULES = (
    "Find the hidden one by asking whether it has a value of an attribute; the answer is yes or "
    "no. Then guess its name: there is one guess. {listed}"
)
_LISTED = "Below are the attributes with their values, and everyone's values in that order."
_COMBINED = "Below are the attributes with their values. A name is one value of each, in order."


class TwentyQuestionsEnvironment(
    GameEnvironment[QuestionsPublic, QuestionsPrivate, QuestionsState]
):
    """Find the hidden one of a table by yes and no questions about its attributes."""

    _table: Table

    def begin(self) -> QuestionsState:
        """Hide one."""
        self._table = self.task.public.table(self.task.private.hidden)
        return QuestionsState()

    def explain(self) -> str:
        """Return the rules."""
        return RULES.format(listed=_LISTED if self.task.public.items else _COMBINED)

    def announce(self) -> str:
        """Return how many questions there are, the attributes, and the table."""
        public = self.task.public
        lines = [f"{name}: {', '.join(values)}" for name, values in public.attributes.items()]
        lines += [f"- {name}: {', '.join(values)}" for name, values in public.items.items()]
        return "\n".join((f"{self._table.questions} left", *lines))

    def show(self) -> str:
        """Return the last answer, and how many questions are left."""
        if self.state.named:
            return "right" if self.solved else "wrong"
        answer = "yes" if self.state.asked[-1].yes else "no"
        return f"{answer} {self._table.questions - len(self.state.asked)} left"

    @tool
    async def ask(self, question: str) -> str:
        """Ask whether the hidden one has a value of an attribute.

        Args:
            question: An attribute and a value, such as "size big".
        """
        state = self.on_move()
        attribute, _, value = " ".join(question.split()).partition(" ")
        return self.play(ask(self._table, state, attribute, value))

    @tool
    async def guess(self, name: str) -> str:
        """Name the hidden one; this ends the game.

        Args:
            name: Its whole name.
        """
        return self.play(guess(self._table, self.on_move(), name))

    @property
    def solved(self) -> bool:
        """Whether the right one was named."""
        return self.state.named == self._table.hidden

    @property
    def lost(self) -> bool:
        """Whether a wrong one was named."""
        return bool(self.state.named) and not self.solved

    def potential(self) -> float:
        """Return how much of the choice is gone, in bits, as a share of all of it."""
        if self.state.named:
            return float(self.solved)
        table = self._table
        left = fitting(table.attributes, table.items, self.state.asked)
        return 1 - log(len(left)) / log(len(table.items))

    def efficiency(self) -> float:
        """Return 1 for a guess without questions, less a share for each question."""
        return 1 - (self.moves - 1) / (self._table.questions + 1)

    def essence(self) -> Json:
        """Return the answers without their order, on which nothing depends, and the guess."""
        return [sorted(self.state.asked), self.state.named]
