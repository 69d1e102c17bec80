"""Who takes part in an episode beside the agent: the person, and a judge where one is named.

Where they are models, an episode does not follow from task, seed and actions alone. A recorded
episode is therefore played again with what its record says of them.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from agentgym.errors import UnknownNameError, UsageError
from agentgym.types import Observation, Reward
from agentgym_tools.case import Case
from agentgym_tools.judgements import JudgementCache
from agentgym_tools.judging import Judge, Judging, RecordedJudge
from agentgym_tools.models import ChatModel, ModelSettings
from agentgym_tools.users.base import User
from agentgym_tools.users.llm import LlmUser
from agentgym_tools.users.prompt import prompt_hash, system_prompt
from agentgym_tools.users.scripted import ScriptedUser
from agentgym_tools.users.voice import ModelVoice, RecordedVoice, Voice

UserKind = Literal["scripted", "llm"]
USERS: tuple[UserKind, ...] = ("scripted", "llm")


class _Record(NamedTuple):
    observations: tuple[Observation, ...]
    grade: Reward


class Cast:
    """Makes the person and the judge of each episode.

    Args:
        user: Who the people are: `scripted`, or `llm`.
        user_model: The model that plays them.
        user_seed: Added to the episode's seed where the model samples.
        judge_model: The model that judges checklists; None leaves them unjudged.

    Raises:
        UnknownNameError: There is no such user.
        UsageError: A model is missing, or one is named that nobody asks.
    """

    def __init__(
        self,
        user: UserKind,
        *,
        user_model: ModelSettings | None,
        user_seed: int,
        judge_model: ModelSettings | None,
    ) -> None:
        if user not in USERS:
            raise UnknownNameError("user", user, USERS)
        if user == "llm" and user_model is None:
            raise UsageError("user=llm needs a model.", remedy="Add user_model=NAME.")
        if user != "llm" and user_model is not None:
            raise UsageError("user_model is for user=llm.", remedy="Add user=llm.")
        self._user_model = ChatModel(user_model, "user") if user_model else None
        self._user_seed = user_seed
        judge = ChatModel(judge_model, "judge") if judge_model else None
        self._judge = Judge(judge, JudgementCache()) if judge else None
        self._record: _Record | None = None
        self._next: _Record | None = None

    def recall(self, observations: Sequence[Observation], grade: Reward) -> None:
        """Take the next episode's people from a record; see `Environment.recall`."""
        self._next = _Record(tuple(observations), grade)

    def begin(self) -> None:
        """Begin an episode, with the record that was given for it if there is one."""
        self._record, self._next = self._next, None

    async def close(self) -> None:
        """Let the models' connections go."""
        for part in (self._user_model, self._judge):
            if part is not None:
                await part.close()

    @property
    def judge(self) -> Judging | None:
        """Who judges the episode's checklist."""
        if self._judge is None or self._record is None:
            return self._judge
        return RecordedJudge(self._judge.name, self._record.grade)

    def person(self, case: Case, task_id: str, seed: int) -> User:
        """Return the episode's person.

        Args:
            case: What they talk about.
            task_id: The task, which the scripted user's wordings depend on.
            seed: The episode's.

        Raises:
            UsageError: The record of the episode does not say what they did.
        """
        model = self._user_model
        if model is None:
            return ScriptedUser(case, f"{task_id}:{seed}")
        seed += self._user_seed
        identity = f"llm:{model.settings.model}:{prompt_hash()}:{seed}"
        return LlmUser(case, self._voice(model, case, seed), identity)

    def _voice(self, model: ChatModel, case: Case, seed: int) -> Voice:
        if self._record is not None:
            return RecordedVoice(self._record.observations, self._record.grade)
        tools = [tool.spec for tool in case.desk.side("user").declared().values()]
        return ModelVoice(model, system_prompt(case.private.story, tools=bool(tools)), tools, seed)
