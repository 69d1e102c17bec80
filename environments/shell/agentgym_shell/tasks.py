"""What a shell task holds: public words, and a private set-up, oracle and checks.

Paths are absolute, or relative to `/work`, where the agent starts; they lie in `/work` or `/tmp`.
"""

import posixpath
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agentgym.sandbox.spec import WORK, checked_path

FOLDERS = (WORK, "/tmp")  # noqa: S108 - a folder of the sandbox
"""Where tasks put files and look for them."""

DROPPINGS = tuple(
    f"{WORK}/{name}"
    for name in (".bash_history", ".cache", ".lesshst", ".local", ".python_history", ".viminfo")
)
"""What programs leave in a home folder; no state check looks at it."""

Comparison = Literal["exact", "words", "number", "lines", "set"]
"""How two texts are compared: `exact` but for white space around them; `words` whatever the case
and the white space between them; as one `number`; `lines` without the white space around each
and without empty ones; or as a `set` of such lines."""


def _in_sandbox(path: str) -> str:
    full = checked_path(posixpath.join(WORK, path))
    if not any(full == folder or full.startswith(f"{folder}/") for folder in FOLDERS):
        raise ValueError(f"{path!r} is not in {' or '.join(FOLDERS)}")
    return full


SandboxPath = Annotated[str, AfterValidator(_in_sandbox)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShellPublic(_Part):
    """The part an agent may see.

    Attributes:
        instruction: What is asked, with the form of the answer where one is wanted.
        answer: Whether `submit` takes an answer. Otherwise only what is done counts.
    """

    instruction: str = Field(min_length=1)
    answer: bool = False


class Setup(_Part):
    """What is in the sandbox before the agent comes.

    Files are written first, then the script runs; then all its processes end. Whatever has a
    later modification time than 2025-06-15 12:00:00 UTC gets that one, so a script need set none
    but those that matter. The script's text is not in the sandbox when the agent comes.

    Attributes:
        files: Text by path, with mode 644.
        script: For bash, with `-eu -o pipefail`, as the agent's user, in `/work`. It gives the
            same every time: no random numbers, no time of day.
    """

    files: Mapping[SandboxPath, str] = Field(default_factory=dict)
    script: str = ""


class Oracle(_Part):
    """How the task is done.

    Attributes:
        commands: One call of `run` each, in the one shell that stays.
        answer: What is submitted, and so what is expected of an agent; it appears in the
            commands' output.
    """

    commands: tuple[str, ...] = Field(min_length=1)
    answer: str | None = None


class StateCheck(_Part):
    """Holds where files are as they are after the oracle's commands.

    Names, types, permissions, content and link targets count; times and owners do not.

    Attributes:
        paths: What is compared: files, or folders with all in them.
        ignore: Paths left out, with all below; `*`, `?` and `[...]` match as in a shell, but
            `*` matches `/` too. What programs leave in a home folder is always left out.
        modes: Whether permissions count.
    """

    paths: tuple[SandboxPath, ...] = Field(default=(WORK,), min_length=1)
    ignore: tuple[SandboxPath, ...] = ()
    modes: bool = True


class AnswerCheck(_Part):
    """Holds where the submitted answer is the oracle's.

    Attributes:
        compare: How they are compared.
        accept: Other answers that are as good.
        tolerance: How far apart two numbers may be.
    """

    compare: Comparison = "exact"
    accept: tuple[str, ...] = ()
    tolerance: float = Field(default=0.0, ge=0)


class RunCheck(_Part):
    """Holds where a command, run on what the agent left, prints what is expected.

    This is the check for a program the agent had to write: what is expected of it never enters
    the sandbox it runs in. Each runs in a fresh shell on an untouched copy of the agent's files.

    Attributes:
        command: One line for `bash -c` in `/work`.
        stdin: Its input.
        files: Put in before, by path; one that is there is overwritten.
        stdout: What it has to print; None is what it prints after the oracle's commands.
        compare: How the two are compared.
        exit_code: How it has to end; None is any.
    """

    command: str
    stdin: str = ""
    files: Mapping[SandboxPath, str] = Field(default_factory=dict)
    stdout: str | None = None
    compare: Comparison = "exact"
    exit_code: int | None = 0


class ShellPrivate(_Part):
    """The part that sets up and grades. All checks that are given have to hold.

    Attributes:
        setup: What is there at first.
        oracle: How the task is done.
        state: Compares files with those after the oracle's commands.
        answer: Compares the submitted answer with the oracle's.
        runs: Commands and what they have to print.
        script: A bash script that ends with 0 where the task is done; it starts in `/work`, with
            the submitted answer in `$ANSWER`. It looks at files and never executes them: a
            program of the agent's could read it there. What it prints is feedback.
    """

    setup: Setup = Setup()
    oracle: Oracle
    state: StateCheck | None = None
    answer: AnswerCheck | None = None
    runs: tuple[RunCheck, ...] = ()
    script: str | None = None

    @model_validator(mode="after")
    def _graded(self) -> "ShellPrivate":
        if self.state is None and self.answer is None and not self.runs and self.script is None:
            raise ValueError("nothing is checked: give state, answer, runs or script")
        if self.answer is not None and self.oracle.answer is None:
            raise ValueError("an answer check needs the oracle's answer")
        if self.oracle.answer is not None and self.answer is None and self.script is None:
            raise ValueError("nothing checks the oracle's answer")
        return self
