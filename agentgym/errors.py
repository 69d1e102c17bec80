"""Every error agentgym raises, named by where it broke.

Three families, told apart by who has to act:

* `UsageError`: the person who called. The CLI prints it as one line and exits with 2.
* `EpisodeError`: infrastructure. The engine retries it by type and records what remains on
  the trajectory as an error; it is never a score.
* `ToolError`: the model. A tool raises it to answer the agent with a message; it never
  leaves the environment.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class AgentgymError(Exception):
    """Base of the errors that reach a caller.

    Args:
        message: What happened, one sentence.
        remedy: What mends it, one sentence or a command.
    """

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message


class UsageError(AgentgymError):
    """The call cannot be carried out as asked; nothing was changed."""


class UnknownNameError(UsageError):
    """A name that is not known, with the nearest ones that are.

    Args:
        what: The sort of name, such as "environment".
        name: The name as it was given, whatever its type.
        known: The names that exist.
    """

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(str(name), names, n=3, cutoff=0.5)
        if near:
            remedy = f"Did you mean {' or '.join(repr(n) for n in near)}?"
        elif names:
            remedy = f"Known: {', '.join(names[:20])}."
        else:
            remedy = "None is known."
        super().__init__(f"Unknown {what} {name!r}.", remedy=remedy)


class TaskSetError(UsageError):
    """A task set that cannot be used; the message names file, line and field."""


class StoreError(UsageError):
    """The trajectory store cannot be opened, read or written."""


class MissingExtraError(UsageError):
    """An optional dependency that is not installed.

    Args:
        feature: What needs it.
        extra: The extra of the agentgym distribution that brings it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra {extra!r}, which is not installed.",
            remedy=f"From the checkout: pip install -e '.[{extra}]'",
        )


class ProtocolError(UsageError):
    """The protocol was called out of order, such as a step after the end."""


class CapabilityError(UsageError):
    """The environment does not have an optional capability.

    Args:
        capability: Such as "snapshot".
        environment: The environment's class name.
    """

    def __init__(self, capability: str, environment: str) -> None:
        super().__init__(
            f"{environment} has no {capability}.",
            remedy="`agentgym info ENV` lists an environment's capabilities.",
        )


class EpisodeError(AgentgymError):
    """Infrastructure broke during an episode.

    Attributes:
        kind: A stable name of where it broke, the key of every error count.
        retryable: Whether the same call may succeed later.
    """

    kind: ClassVar[str] = "episode"
    retryable: ClassVar[bool] = True


class OwnCodeError(EpisodeError):
    """Code that we call raised; a defect, so it is not retried.

    Args:
        where: The part that raised, such as "setup", "tool query" or "grade".
        cause: What it raised.
    """

    retryable = False

    def __init__(self, where: str, cause: BaseException) -> None:
        super().__init__(f"{where} raised {type(cause).__name__}: {cause}")
        self.where = where


class EnvironmentFailedError(OwnCodeError):
    """The environment's own code raised."""

    kind = "environment"


class AgentFailedError(OwnCodeError):
    """The agent's own code raised."""

    kind = "agent"


class AgentLeftError(EpisodeError):
    """The agent went away in mid-episode, which is then graded as it stands."""

    kind = "agent_left"
    retryable = False


class EnvironmentTimeoutError(EpisodeError):
    """The environment did not answer within its time."""

    kind = "environment_timeout"


class EnvironmentLostError(EpisodeError):
    """What the environment runs in (a process, a container, a server) died."""

    kind = "environment_lost"


class EnvironmentMalformedError(EpisodeError):
    """What the environment runs in answered, and not in the words agreed on."""

    kind = "environment_malformed"


class SandboxUnavailableError(UsageError):
    """Sandboxes of a backend cannot be made on this machine; the remedy says what is missing."""


class SandboxStartError(EpisodeError):
    """A sandbox could not be made."""

    kind = "sandbox_start"


class SandboxTransportError(EpisodeError):
    """A message to or from a sandbox broke; the sandbox is closed."""

    kind = "sandbox_transport"


class SandboxTimeoutError(EpisodeError):
    """A sandbox did not answer although everything asked of it should have ended."""

    kind = "sandbox_timeout"


class SandboxLostError(EpisodeError):
    """A sandbox died, or what answers from it can no more be trusted."""

    kind = "sandbox_lost"


class ModelError(EpisodeError):
    """A model endpoint did not give a usable answer.

    Attributes:
        retried: The errors of the attempts before this one, where there were any.
    """

    kind = "model"
    retried: tuple["ModelError", ...] = ()


class ModelRateLimitedError(ModelError):
    """HTTP 429.

    Args:
        message: What the server said.
        retry_after: Seconds the server asked to wait, where it said so.
    """

    kind = "model_rate_limited"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelServerError(ModelError):
    """HTTP 5xx, or 408 and 409, which servers use alike."""

    kind = "model_server"


class ModelConnectionError(ModelError):
    """No connection, or one that dropped before the answer was whole."""

    kind = "model_connection"


class ModelTimeoutError(ModelError):
    """No answer within the request's time."""

    kind = "model_timeout"


class ModelMalformedError(ModelError):
    """An answer that is not the protocol's JSON."""

    kind = "model_malformed"


class ModelRejectedError(ModelError):
    """The server refused the request (HTTP 4xx): a wrong key, model name or parameter."""

    kind = "model_rejected"
    retryable = False


class ModelAccessError(ModelRejectedError):
    """The key, the endpoint or the model's name is wrong (HTTP 401, 403, 404)."""

    kind = "model_access"


class ModelContextError(ModelRejectedError):
    """The conversation no longer fits the model's context."""

    kind = "model_context"


class ToolError(Exception):
    """Raised inside a tool to answer the agent with this message as an error.

    This is how an author says that the model's call was wrong. It costs the agent a turn,
    is counted, and is never raised out of `Environment.step`.
    """
