"""The sandboxes of this machine, and what is left of those whose owner is dead."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agentgym.sandbox import procfs
from agentgym.sandbox.base import SandboxInfo
from agentgym.sandbox.bubblewrap.host import UID
from agentgym.sandbox.bubblewrap.launch import LABEL
from agentgym.sandbox.cgroups import CgroupHome
from agentgym.sandbox.owner import owner_of
from agentgym.sandbox.spec import SandboxSpec

_RUN = "AGENTGYM_RUN"
_IMAGE = "AGENTGYM_IMAGE"
_PATIENCE_S = 10.0


class _Process(NamedTuple):
    pid: int
    labels: Mapping[str, str]


def labels(identity: str, run_id: str, spec: SandboxSpec) -> Mapping[str, str]:
    """Return what a sandbox's `bwrap` process shows in its arguments."""
    return {LABEL: identity, _RUN: run_id, _IMAGE: spec.image or "the host's system"}


def found(home: CgroupHome | None) -> list[SandboxInfo]:
    """Return the sandboxes there are, and the control groups of those there no longer are."""
    running = {process.labels[LABEL]: process for process in _processes()}
    infos = [
        _info(identity, process.labels.get(_RUN, ""), "sandbox", process.labels.get(_IMAGE, ""))
        for identity, process in running.items()
    ]
    groups = home.identities() - running.keys() if home is not None else set()
    return infos + [_info(identity, "", "cgroup", "") for identity in sorted(groups)]


async def reap(home: CgroupHome | None) -> list[SandboxInfo]:
    """Remove what belongs to dead owners and return it."""
    dead = [info for info in found(home) if not info.alive]
    identities = {info.id for info in dead}
    for process in _processes():
        if process.labels[LABEL] in identities:
            await _end(process.pid)
    if home is not None:
        for identity in home.identities() & identities:
            await home.group(identity).remove()
    return dead


async def _end(bwrap: int) -> None:
    """End a sandbox by its guest: to kill bwrap would leave the guest running."""

    def is_guest(pid: int) -> bool:
        return procfs.parent_of(pid) == bwrap

    try:
        handle = os.pidfd_open(bwrap)
    except ProcessLookupError:
        return
    try:
        guests = [pid for pid in procfs.pids() if is_guest(pid)]
        for pid in guests:
            procfs.kill(pid, is_guest)
        if not guests:  # it still waits for what its owner would have told it
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        await procfs.ended(handle, _PATIENCE_S)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def _processes() -> Iterator[_Process]:
    """Yield the `bwrap` processes of this user's sandboxes."""
    for pid in procfs.pids():
        labels = _labels_of(procfs.words_of(pid))
        # What runs in a sandbox may write the same words, but not outside of it.
        if (
            owner_of(labels.get(LABEL, "")) is not None
            and procfs.uid_of(pid) in _ours()
            and not procfs.is_nested(pid)
        ):
            yield _Process(pid, labels)


def _ours() -> tuple[int, ...]:
    return (0, UID) if os.geteuid() == 0 else (os.geteuid(),)


def _labels_of(words: Sequence[str]) -> Mapping[str, str]:
    triples = zip(words, words[1:], words[2:], strict=False)
    return {name: value for option, name, value in triples if option == "--setenv"}


def _info(identity: str, run_id: str, what: str, detail: str) -> SandboxInfo:
    owner = owner_of(identity)
    return SandboxInfo(
        id=identity,
        backend="bubblewrap",
        run_id=run_id,
        owner_pid=owner.pid if owner is not None else 0,
        alive=owner is not None and owner.alive(),
        what=what,
        detail=detail,
    )
