"""What a sandbox is asked for, and what it answers."""

import posixpath
import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from agentgym.errors import UsageError

KIB = 1 << 10
MIB = 1 << 20
WORK = "/work"
"""The folder commands start in, and the user's home: writable, empty at first, size-capped."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LAST_USER = (1 << 31) - 1
_MEMORY = 512 * MIB


class SandboxSpec(BaseModel):
    """What to run commands in. There is no field that asks for privilege.

    Attributes:
        image: A container image by name or digest (Docker), a recipe's name, or the folder of
            a root file system (bubblewrap). None is the backend's own: the `base` recipe in
            Docker, the host's system, read-only, in bubblewrap.
        cpus: Processors' worth of time.
        memory: Bytes of memory, writable folders included; there is no swap beyond it.
        pids: Processes and threads at once.
        disk: Bytes that each of the three writable folders (`/work`, `/tmp`, `/dev/shm`) takes
            at most. They lie in memory: at most a quarter of it, which is the default.
        inodes: Files and folders that each of them takes at most; one for 16 KiB of memory at
            most, by default one for 32 KiB.
        open_files: File descriptors a process may have.
        egress: Hosts that may be reached, through a logging proxy, as `name`, `*.name` or an
            address, each with an optional `:port`. Empty is no network at all.
        env: Environment variables of every command.
        files: Files that are there at the start, by path; text or bytes, owned by the user.
        user: Who runs the commands, by name or number; not root.
        cwd: Where commands start.
        timeout: Seconds a command may take, unless the call says otherwise.
        output_limit: Bytes of each of a command's streams that are kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str | None = None
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1.0
    memory: Annotated[int, Field(ge=16 * MIB)] = _MEMORY
    pids: Annotated[int, Field(ge=4, le=1 << 20)] = 256
    disk: Annotated[int, Field(ge=MIB)] = 0
    inodes: Annotated[int, Field(ge=64)] = 0
    open_files: Annotated[int, Field(ge=16, le=1 << 20)] = 1024
    egress: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    files: Mapping[str, str | bytes] = Field(default_factory=dict)
    user: str = "1000"
    cwd: str = WORK
    timeout: Annotated[float, Field(gt=0, le=7 * 86_400)] = 60.0
    output_limit: Annotated[int, Field(ge=0, le=1 << 30)] = MIB

    @classmethod
    def of(cls, **fields: Any) -> "SandboxSpec":
        """Make a spec from a person's words.

        Raises:
            UsageError: A field is unknown or its value not allowed.
        """
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])) or "spec"
            remedy = f"Fields: {', '.join(cls.model_fields)}."
            raise UsageError(f"Sandbox {name}: {first['msg']}.", remedy=remedy) from error

    def __hash__(self) -> int:  # mappings have none of their own
        fields = (getattr(self, name) for name in type(self).model_fields)
        return hash(tuple(frozenset(f.items()) if isinstance(f, Mapping) else f for f in fields))

    @field_validator("user")
    @classmethod
    def _ordinary(cls, user: str) -> str:
        return checked_user(user)

    @field_validator("cwd")
    @classmethod
    def _absolute(cls, path: str) -> str:
        return checked_path(path)

    @field_validator("files")
    @classmethod
    def _writable(cls, files: Mapping[str, str | bytes]) -> Mapping[str, str | bytes]:
        for path in files:
            checked_path(path)
        return files

    @field_validator("egress")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if hosts:
            from agentgym.sandbox.egress.allowlist import Allowlist

            Allowlist(hosts)
        return hosts

    @model_validator(mode="before")
    @classmethod
    def _shares(cls, fields: Any) -> Any:
        memory = fields.get("memory", _MEMORY) if isinstance(fields, dict) else None
        if not isinstance(memory, int):
            return fields
        return {"disk": memory // 4, "inodes": memory // (32 * KIB), **fields}

    @model_validator(mode="after")
    def _fit(self) -> "SandboxSpec":
        # Full folders must leave room for the guest and for commands, or nothing could be run.
        if self.disk > self.memory // 4:
            raise ValueError(f"disk is at most a quarter of memory: {self.memory // 4} bytes")
        if self.inodes > self.memory // (16 * KIB):
            raise ValueError(f"inodes are at most {self.memory // (16 * KIB)} in this memory")
        return self

    @model_validator(mode="after")
    def _names(self) -> "SandboxSpec":
        check_environment(self.env)
        return self


class ExecResult(NamedTuple):
    """How a command ended.

    Attributes:
        stdout: What it wrote, up to the output limit.
        stderr: The same of its errors; a program that cannot be started is named here.
        exit_code: 0 to 255; 128 + n where signal n ended it, 127 where there is no such
            program, 126 where it may not or cannot be run.
        timed_out: Whether it was killed, with everything it had started, for its time.
        truncated: Whether more was written than is kept.
        duration: Seconds from its start to its end, as the sandbox measured them.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int
    timed_out: bool
    truncated: bool
    duration: float

    @property
    def text(self) -> str:
        """`stdout` as text; bytes that are not UTF-8 become the replacement character."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """`stderr` as text, like `text`."""
        return self.stderr.decode("utf-8", "replace")


class FileInfo(NamedTuple):
    """A file as the sandbox sees it; symbolic links are not followed.

    Attributes:
        name: Its path where it was asked for by path, its name in a listing.
        mode: `st_mode`: type and permissions.
        size: Bytes.
        mtime: Seconds since 1970.
        target: Where a symbolic link points; otherwise empty.
    """

    name: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float
    target: str = ""


def checked_path(path: str) -> str:
    """Return an absolute path in its normal form.

    Raises:
        ValueError: It is relative or holds a NUL.
    """
    if not path.startswith("/") or "\0" in path:
        raise ValueError(f"{path!r} is not an absolute path")
    return "/" + posixpath.normpath(path).lstrip("/")


def checked_user(user: str) -> str:
    """Return a user's name or number.

    Raises:
        ValueError: It is root, or cannot be a user.
    """
    number = int(user) if user.isascii() and user.isdecimal() else None
    if user == "root" or number == 0:
        raise ValueError("commands run as an ordinary user, not as root")
    if number is None and not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", user):
        raise ValueError(f"{user!r} cannot be a user's name")
    if number is not None and (number > _LAST_USER or user.startswith("0")):
        raise ValueError(f"{user!r} cannot be a user's number")
    return user


def check_environment(env: Mapping[str, str]) -> None:
    """Refuse names and values that no environment can hold.

    Raises:
        ValueError: There is one.
    """
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"{name!r} cannot be an environment variable")
