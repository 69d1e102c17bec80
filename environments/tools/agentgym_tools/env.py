"""The tools environment: an agent serves a person through tools, by a policy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import ValidationError

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError, UnknownNameError, UsageError
from agentgym.tools import Tool
from agentgym.types import Content, Json, Message, Observation, Reward
from agentgym_tools.case import Case
from agentgym_tools.cast import Cast, UserKind
from agentgym_tools.checking import check_task
from agentgym_tools.domain import Call, Domain
from agentgym_tools.domains import open_domain
from agentgym_tools.grading import grade
from agentgym_tools.judging import checklist
from agentgym_tools.models import ModelSettings
from agentgym_tools.tasks import ToolsPrivate, ToolsPublic
from agentgym_tools.tau2.reward import grade as tau2_grade
from agentgym_tools.toolkit import DomainTool
from agentgym_tools.transcript import Line, call_line, result_line
from agentgym_tools.users.base import End, User
from agentgym_tools.users.prompt import without_marks

RULES = """\
You serve one person through a conversation and tools, by the policy below.

- A turn is either words to the person or calls of tools. Words beside a call are not passed on.
- The person ends the conversation when their concern is settled.
- Do only what the policy allows. Explain what you refuse, with the reason that applies here.

# Policy

{policy}"""

GRADINGS = ("agentgym", "tau2")


class ToolsEnvironment(ToolEnvironment[ToolsPublic, ToolsPrivate]):
    """People who come to an agent with something to be done.

    A turn that calls tools has the reward components `valid` and `useful`: how many of its calls
    were carried out, and how many of them the right solution has too.

    Args:
        user: Who the people are: `scripted` plays the task's script, `llm` has a model play its
            story.
        user_model: That model, as litellm knows it.
        user_base_url: An OpenAI-compatible endpoint for it, up to and including `/v1`; the model's
            name is then the server's.
        user_temperature: Its sampling temperature; None leaves it to the server.
        user_seed: Added to the episode's seed for the model's sampling.
        judge_model: A model that judges the tasks' checklists, better not the agent's own; None
            leaves them unjudged.
        judge_base_url: An OpenAI-compatible endpoint for it.
        grading: `agentgym`, or `tau2` for the reward of the benchmark that a task comes from.
    """

    def __init__(
        self,
        *,
        user: UserKind = "scripted",
        user_model: str | None = None,
        user_base_url: str | None = None,
        user_temperature: float | None = 0.0,
        user_seed: int = 0,
        judge_model: str | None = None,
        judge_base_url: str | None = None,
        grading: Literal["agentgym", "tau2"] = "agentgym",
    ) -> None:
        if grading not in GRADINGS:
            raise UnknownNameError("grading", grading, GRADINGS)
        if type(user_seed) is not int:
            raise UsageError(f"user_seed is {user_seed!r}.", remedy="Give a whole number.")
        self._grading = grading
        self._cast = Cast(
            user,
            user_model=settings_of(user_model, user_base_url, user_temperature),
            user_seed=user_seed,
            judge_model=settings_of(judge_model, judge_base_url, 0.0),
        )
        self._lines: list[Line] = []
        self._case: Case | None = None
        self._user: User | None = None
        self._end: End = ""
        self._checked: dict[str, ToolsPrivate] = {}

    async def setup(self) -> Sequence[Message]:
        """Open the domain and let the person speak first."""
        self._cast.begin()
        case = self._open()
        first = await self._person.begin()
        self._lines = [Line("person", first.text)]
        policy = RULES.format(policy=case.domain.policy.strip())
        return [Message(role="system", content=policy), Message(role="user", content=first.text)]

    def tools(self) -> Sequence[Tool]:
        """Return the domain's tools; every call of one is kept."""
        toolkit = self._active.desk.agent
        return [KeptTool.of(part, toolkit, self._keep) for part in toolkit.declared().values()]

    async def reply(self, text: str) -> str:
        """Pass the agent's words on and return the person's."""
        if not text.strip():
            raise ToolError("An empty turn. Say something to the person, or call a tool.")
        text = without_marks(text)
        self._active.hear(text)
        answer = await self._person.answer(text)
        self._lines += [Line("agent", text), Line("person", answer.text)]
        if answer.end:
            self._end = answer.end
            self.finish()
        return answer.text

    async def grade(self) -> Reward:
        """Grade the case as it stands; see `grading.grade` and `tau2.reward.grade`.

        A judge's `checklist` counts like every other component.
        """
        case, person = self._active, self._person
        judged: dict[str, str] = {}
        if self._grading == "tau2":
            found = tau2_grade(case, self._end)
        else:
            finding, judged = await checklist(
                self._cast.judge,
                case.private.rules.checklist,
                self._lines,
                seed=f"{self.task.id}:{self.seed}",
            )
            further = {} if finding is None else {"checklist": finding}
            found = grade(case, self._end, user_fault=person.fault, further=further)
        labels = {**found.labels, **person.labels(), **judged}
        return found.model_copy(update={"labels": labels})

    def recall(self, observations: Sequence[Observation], grade: Reward) -> None:
        """Take what models said in an episode from its record; see `Environment.recall`."""
        self._cast.recall(observations, grade)

    async def save(self) -> Any:
        """Return the case, the person's memory, the transcript, and how the conversation ended."""
        return self._active.save(), self._person.save(), tuple(self._lines), self._end

    async def load(self, state: Any) -> None:
        """Take back what `save` returned, in any object of this class."""
        case, memory, lines, end = state
        self._open().load(case)
        self._person.load(memory)
        self._lines, self._end = list(lines), end

    async def fingerprint(self) -> str:
        """Hash the state, what was done, said and told, and the person's memory."""
        case = self._active
        made = [[m.call.name, dict(m.call.arguments), m.error, m.agreed] for m in case.made]
        talk = [case.said, sorted(case.told), self._person.save(), self._end]
        return digest([self.task.id, case.desk.state.fingerprint(), made, talk])

    async def close(self) -> None:
        """Let the models that took part go."""
        await self._cast.close()

    @property
    def _active(self) -> Case:
        if self._case is None:
            raise UsageError("There is no episode.", remedy="Call reset first.")
        return self._case

    @property
    def _person(self) -> User:
        if self._user is None:
            raise UsageError("There is no episode.", remedy="Call reset first.")
        return self._user

    def _open(self) -> Case:
        private = self.task.private
        domain = open_domain(self.task.public.domain, private.folder)
        if self._checked.get(self.task.id) is not private:
            self._refuse_unplayable(domain)
            self._checked[self.task.id] = private
        self._end = ""
        self._case = Case(domain, private)
        self._user = self._cast.person(self._case, self.task.id, self.seed)
        return self._case

    def _refuse_unplayable(self, domain: Domain) -> None:
        check_task(domain, self.task)
        if self._grading == "tau2" and not self.task.private.foreign:
            raise UsageError(
                f"Task {self.task.id!r} is not one of tau2-bench.",
                remedy="Leave grading=tau2 out, or name a folder of its tasks with --tasks.",
            )

    def _keep(self, name: str, arguments: Mapping[str, Json], answer: str, error: bool) -> None:
        case = self._active
        call = Call(name=name, arguments=arguments)
        self._lines += [call_line(name, arguments), result_line(answer)]
        useful = case.record(call, error=error, agreed=self._person.agreed)
        self.reward(0.0, valid=float(not error), useful=float(useful))
        if name == case.domain.handover and not error:
            self._end = "handover"
            self.finish()


def settings_of(
    model: str | None, base_url: str | None, temperature: float | None
) -> ModelSettings | None:
    """Return a model's settings; None where no model is named.

    Raises:
        UsageError: An endpoint is named without a model, or a setting is of the wrong type.
    """
    if model is None and base_url is not None:
        raise UsageError("A base URL is named, and no model at it.", remedy="Name the model too.")
    if model is None:
        return None
    try:
        return ModelSettings(model=model, base_url=base_url, temperature=temperature)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(
            f"The {first['loc'][0]} of the model {model!r} is {first['input']!r}: {first['msg']}."
        ) from error


class KeptTool(DomainTool):
    """A domain's tool whose calls are told to somebody, with the arguments as they were given."""

    _keep: Callable[[str, Mapping[str, Json], str, bool], None]
    _given: Mapping[str, Json]

    @classmethod
    def of(cls, tool: DomainTool, owner: object, keep: Callable[..., None]) -> Self:
        """Return a tool on a toolkit; the schema is shared.

        Args:
            tool: The tool.
            owner: The toolkit.
            keep: Takes the name, the arguments, the answer and whether the call was refused.
        """
        kept = object.__new__(cls)
        vars(kept).update(vars(tool), _owner=owner, _keep=keep)
        return kept

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate arguments by the schema first, whatever a toolkit lets pass.

        Raises:
            ToolError: They do not fit; the message names each argument at fault.
        """
        self.convert(arguments)
        self._given = arguments
        return super().check(arguments)

    async def run(self, arguments: Mapping[str, Any]) -> Content:
        """Make the call and tell of it."""
        try:
            content = await super().run(arguments)
        except ToolError as error:
            self._keep(self.name, self._given, str(error), True)
            raise
        self._keep(self.name, self._given, str(content), False)
        return content
