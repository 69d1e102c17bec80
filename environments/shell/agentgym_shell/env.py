"""The shell environment: run commands in a sandbox, submit when it is done."""

import asyncio
import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError, UnknownNameError, UsageError
from agentgym.sandbox import SandboxSpec
from agentgym.sandbox.backends import backend_type
from agentgym.sandbox.spec import MIB
from agentgym.tools import tool
from agentgym.types import Action, Json, Reward, Transition
from agentgym_shell.archives import read_tree
from agentgym_shell.checks import Left
from agentgym_shell.display import show_result
from agentgym_shell.grading import GRADERS, grade, nothing
from agentgym_shell.session import Session
from agentgym_shell.stage import Stage
from agentgym_shell.tasks import ShellPrivate, ShellPublic
from agentgym_shell.trees import tree_hash

DEFAULTS: Mapping[str, Json] = {
    "memory": 256 * MIB,
    "disk": 64 * MIB,
    "inodes": 10_000,
    "pids": 128,
    "output_limit": MIB,
    "env": {"LC_ALL": "C.UTF-8", "LOGNAME": "agent", "TZ": "UTC0", "USER": "agent"},
}
"""What the sandboxes are made from where the option `spec` says nothing else."""

MOST_S = 200
"""Seconds that a command may ask for."""
TURN_S = 240.0
"""Seconds that the commands of one turn may take together."""
ANSWER = 10_000
"""Characters of an answer."""

INTRODUCTION = """\
You work in a bash shell on Linux, as an ordinary user without network, and start in the folder \
/work. Only /work and /tmp can be written to. Use the tool run for commands.

{instruction}

{ending}"""

ANSWER_ENDING = "When you know the answer, call submit once, with the answer and nothing else."
STATE_ENDING = "When everything is as asked, call submit once, without an answer."


class ShellEnvironment(ToolEnvironment[ShellPublic, ShellPrivate]):
    """Tasks done with bash.

    Args:
        sandbox: What commands run in: `bubblewrap`, `docker`, or the name of another backend.
            `process` isolates nothing and is for trusted agents.
        timeout: Seconds a command may take, unless it asks for more.
        max_output: Characters of each of a command's streams that are shown.
        grader: `exact`, or `intercode` for InterCode's reward.
        spec: Fields of the sandboxes' `SandboxSpec` over `DEFAULTS`, such as memory or image.
    """

    def __init__(
        self,
        *,
        sandbox: str = "bubblewrap",
        timeout: float = 30.0,
        max_output: int = 10_000,
        grader: Literal["exact", "intercode"] = "exact",
        spec: Mapping[str, Json] | None = None,
    ) -> None:
        if grader not in GRADERS:
            raise UnknownNameError("grader", grader, GRADERS)
        backend_type(sandbox)  # refuses an unknown name
        _check_option("timeout", timeout, (int, float), most=MOST_S)
        _check_option("max_output", max_output, (int,), most=MIB)
        fields = {**DEFAULTS, **(spec or {})}
        fields["env"] = {**DEFAULTS["env"], **fields["env"]}
        self._stage = Stage(sandbox, SandboxSpec.of(**fields))
        self._timeout = timeout
        self._max_output = max_output
        self._grader = grader
        self._session: Session | None = None
        self._left: Left | None = None
        self._output = ""
        self._turn_s = 0.0

    async def setup(self) -> str:
        """Set up a sandbox for the task."""
        await self._leave()
        self._left, self._output = None, ""
        public = self.task.public
        if public.answer != (self.task.private.oracle.answer is not None):
            raise UsageError(
                f"Task {self.task.id!r}: the public part says answer {public.answer}, and the "
                "oracle does otherwise.",
                remedy="Mend the task.",
            )
        self._session = await Session.open(self._stage, self.task, beginning=self._beginning)
        return INTRODUCTION.format(
            instruction=public.instruction,
            ending=ANSWER_ENDING if public.answer else STATE_ENDING,
        )

    @tool
    async def run(
        self,
        command: str,
        timeout: Annotated[float, Field(ge=1, le=MOST_S)] | None = None,  # noqa: ASYNC109 - the tool's
    ) -> str:
        """Run a command in a bash that stays.

        Its folder, variables and functions are still there for the next command, and background
        processes go on. There is no terminal, and standard input is empty. A command that runs
        out of time, or ends the shell itself, costs the shell with all it has started: a new one
        begins in the same folder.

        Args:
            command: Any number of lines of bash.
            timeout: Seconds it may take, where it needs more than usual.
        """
        if "\0" in command:
            raise ToolError("A command holds no NUL character.")
        seconds = min(self._timeout if timeout is None else timeout, TURN_S - self._turn_s)
        if seconds <= 0:
            raise ToolError(f"The commands of this turn took {TURN_S:g} s. Go on in another turn.")
        result, new_shell = await self._active.run(command, seconds=seconds)
        self._turn_s += result.duration
        self._output = result.text + result.error_text
        return show_result(
            result, max_output=self._max_output, timeout=seconds, new_shell=new_shell
        )

    @tool
    async def submit(self, answer: str | None = None) -> str:
        """Submit; this ends the work.

        Args:
            answer: The answer, where the task asks for one.
        """
        if self.task.public.answer and answer is None:
            raise ToolError("This task asks for an answer.")
        if answer is not None and (len(answer) > ANSWER or "\0" in answer):
            raise ToolError(f"An answer has {ANSWER} characters at most, and no NUL.")
        try:
            files = await self._active.files()
        except OSError:
            files = None
        self._left = Left(files, answer, self._output)
        await self._leave()
        self.finish()
        return "Submitted."

    async def step(self, action: Action) -> Transition:
        """Carry out one turn; see `Environment.step`."""
        self._turn_s = 0.0
        return await super().step(action)

    async def grade(self) -> Reward:
        """Grade what was submitted; without a submission the grade is 0."""
        if self._left is None:
            return nothing(self._grader)
        return await grade(self._grader, self._stage, self.task, self._left)

    async def save(self) -> Any:
        """Return the sandbox's files and the shell's state, or what was left in the end."""
        try:
            saved = None if self._left else await self._active.save()
        except OSError as error:
            raise UsageError(
                f"The files are more than a snapshot holds: {error.strerror}.",
                remedy="Give the sandboxes a smaller disk.",
            ) from error
        return saved, self._left, self._output

    async def load(self, state: Any) -> None:
        """Take back what `save` returned, in any object of this class."""
        saved, self._left, self._output = state
        await self._leave()
        if self._left is None:
            self._session = await Session.load(self._stage, saved, beginning=self._beginning)

    async def fingerprint(self) -> str:
        """Hash the files without their times, the shell's own state and the answer."""
        if self._left is not None:
            tree = self._left.files.tree if self._left.files else {}
            return digest([self.task.id, tree_hash(tree), self._left.answer])
        try:
            archive, shell = await self._active.save()
        except OSError:
            return digest([self.task.id, "more files than can be read"])
        tree = await asyncio.to_thread(read_tree, archive)
        return digest([self.task.id, tree_hash(tree), shell.cwd, shell.text.decode("latin-1")])

    async def close(self) -> None:
        """Give the sandbox back."""
        await self._leave()
        await self._stage.close()

    @property
    def _active(self) -> Session:
        if self._session is None:
            raise UsageError("There is no episode.", remedy="Call reset first.")
        return self._session

    @property
    def _beginning(self) -> str:
        return f"RANDOM={random.Random(f'{self.task.id}:{self.seed}').randrange(1 << 15)}"

    async def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _check_option(name: str, value: Any, types: tuple[type, ...], *, most: float) -> None:
    if type(value) not in types or not 0 < value <= most:
        kind = "number" if float in types else "whole number"
        raise UsageError(f"{name} is {value!r}.", remedy=f"Give a {kind} of {most} at most.")
