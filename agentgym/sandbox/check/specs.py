"""Checks of what a spec asks for, and of what it may not ask for."""

from typing import Any

from agentgym.errors import SandboxStartError, UsageError
from agentgym.sandbox.check.context import Context, token
from agentgym.sandbox.check.inside import succeeds
from agentgym.sandbox.check.registry import check, fail, holds, refused, same
from agentgym.sandbox.spec import WORK, SandboxSpec

_PRIVILEGES: tuple[dict[str, Any], ...] = (
    {"privileged": True},
    {"cap_add": ["SYS_ADMIN"]},
    {"volumes": {"/": "/host"}},
    {"mounts": ["/:/host"]},
    {"devices": ["/dev/kvm"]},
    {"network": "host"},
    {"pid_mode": "host"},
    {"security_opt": ["seccomp=unconfined"]},
    {"runtime": "runc"},
    {"user": "root"},
    {"user": "0"},
    {"user": "00"},
    {"user": "\u0660"},
    {"user": "root:root"},
    {"user": "0:0"},
    {"user": "+0"},
    {"user": ""},
    {"memory": 0},
    {"memory": -1},
    {"pids": 0},
    {"pids": -1},
    {"disk": 0},
    {"inodes": 0},
    {"open_files": 0},
    {"cpus": 0},
    {"cpus": float("inf")},
    {"timeout": 0},
    {"timeout": float("inf")},
    {"output_limit": -1},
    {"egress": ("*",)},
    {"egress": ("http://x/",)},
    {"cwd": "relative"},
    {"files": {"relative": "x"}},
    {"env": {"A=B": "x"}},
)


@check("specs")
async def privilege(_: Context) -> None:
    """A spec that asks for privilege, for root or for no limit is refused."""
    for fields in _PRIVILEGES:
        with refused(f"SandboxSpec.of({fields})", UsageError):
            SandboxSpec.of(**fields)


@check("specs", isolated=True)
async def missing_image(ctx: Context) -> None:
    """An image that does not exist is refused with its name."""
    name = f"no-such-image-{token()}"
    for image in (name, f"/no/such/folder/{name}", f"{name}@sha256:{'0' * 64}"):
        try:
            ctx.keep(await ctx.backend.start(SandboxSpec.of(image=image)))
        except (UsageError, SandboxStartError) as error:
            holds(name in str(error), "the image's name in the error", str(error))
        else:
            fail("an image that does not exist to be refused", "a sandbox")


@check("specs")
async def kept(ctx: Context) -> None:
    """A sandbox says what it was made from."""
    fields: dict[str, Any] = {"env": {"X": "1"}, "timeout": 7.0, "output_limit": 77}
    box = await ctx.fresh(**fields)
    same("its spec", box.spec, SandboxSpec.of(**fields))


@check("specs")
async def files_at_the_start(ctx: Context) -> None:
    """The spec's files are there at the start, the user's own, with the folders above them."""
    top = WORK if ctx.backend.isolated else str(ctx.folder)
    files: dict[str, str | bytes] = {
        f"{top}/a": "text é",
        f"{top}/deep/er/b": b"\x00\xff",
        f"{top}/deep/c": "",
    }
    box = await ctx.fresh(files=files)
    for path, content in files.items():
        wanted = content if isinstance(content, bytes) else content.encode()
        same(path, await box.read_file(path), wanted)
    await succeeds(box, f"echo more >> {top}/a && touch {top}/deep/er/d")


@check("specs", isolated=True)
async def files_out_of_place(ctx: Context) -> None:
    """A file of the spec that cannot be written is an error at the start, not a silent lack."""
    for path in ("/usr/bin/new", "/proc/1/mem", "/new"):
        with refused(f"files={{{path!r}: ...}}", UsageError, SandboxStartError):
            ctx.keep(await ctx.backend.start(SandboxSpec.of(files={path: "x"})))


@check("specs", isolated=True)
async def folder_and_user(ctx: Context) -> None:
    """Commands start in the spec's `cwd` as the spec's `user`, after a reset too."""
    folder = f"{WORK}/sub/folder"
    box = await ctx.fresh(cwd=folder, user="1234", files={f"{folder}/file": "x"})
    for _ in range(2):
        found = await succeeds(box, "pwd; id -u; ls -A; echo y >> file; touch new")
        same("folder, user and files", found.text, f"{folder}\n1234\nfile\n")
        await box.reset()
