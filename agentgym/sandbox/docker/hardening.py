"""What a sandbox's container may and may not do. There is no way to ask for more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.sandbox.spec import WORK, SandboxSpec

INSIDE = "/.agentgym"
"""Where the folder with the guest and its socket is mounted; empty once the guest is there."""
GUEST = "guest"
SOCKET = "socket"
HOSTS = "hosts"
_SHARED = ("/tmp", "/dev/shm")  # noqa: S108 - folders of the sandbox, not of the host
_GUEST_UID = 64999
"""The guest's user, whom no command can be: the guest refuses that."""
# The guest alone holds these, and no command ever does. To run commands as other users:
# SETUID, SETGID; to end them: KILL; to take every capability from them: SETPCAP; to put back
# folders of any owner when it restores a snapshot: CHOWN, DAC_OVERRIDE, FOWNER.
_CAPABILITIES = ("SETUID", "SETGID", "KILL", "SETPCAP", "CHOWN", "DAC_OVERRIDE", "FOWNER")

# Message queues and semaphores outlive every process and the files' reset, so none can be made;
# shared memory ends with the last process that has it.
_OBJECTS = {
    "kernel.msgmni": "0",
    "kernel.sem": "250 32000 32 0",
    "kernel.shm_rmid_forced": "1",
    "fs.mqueue.queues_max": "0",
}


class Image(NamedTuple):
    """An image as sandboxes are made from it.

    Attributes:
        name: As it was asked for.
        digest: Its id, the digest that containers are created from.
        env: The variables it sets.
        volumes: The folders it declares as volumes.
    """

    name: str
    digest: str
    env: Mapping[str, str]
    volumes: tuple[str, ...]


def users_folders(image: Image) -> tuple[str, ...]:
    """Return the folders that belong to the user: the work folder and what the image declares."""
    return tuple(dict.fromkeys((WORK, *image.volumes)))


def writable_folders(image: Image) -> tuple[str, ...]:
    """Return the folders a sandbox can write to, each of a size of its own."""
    return tuple(dict.fromkeys((*users_folders(image), *_SHARED)))


def container_config(
    spec: SandboxSpec, image: Image, folder: Path, *, labels: Mapping[str, str], cpus: int
) -> dict[str, Any]:
    """Return the container of a sandbox, in the words of the Docker Engine API.

    Args:
        spec: What is asked for.
        image: What the container is made from.
        folder: The host's folder with the guest, its socket and the hosts file.
        labels: Whose it is.
        cpus: The processors of this machine; a larger limit is none.
    """
    socket, guest = f"{INSIDE}/{SOCKET}", f"{INSIDE}/{GUEST}"
    options = ("--connect", socket, "--uid", str(_GUEST_UID), "--nofile", str(spec.open_files))
    return {
        "Image": image.digest,
        "Entrypoint": [guest],
        "Cmd": list(options),
        "User": "0:0",
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Env": [],
        "Labels": dict(labels),
        # An image's health check would run as root, beside the guest and with what it may do.
        "Healthcheck": {"Test": ["NONE"]},
        # With the network mode alone the engine sets up a network of none, in 100 ms.
        "NetworkDisabled": True,
        "Tty": False,
        "OpenStdin": False,
        "HostConfig": _host_config(spec, image, folder, cpus),
    }


def _host_config(spec: SandboxSpec, image: Image, folder: Path, cpus: int) -> dict[str, Any]:
    return {
        "NetworkMode": "none",
        # An IPC namespace of its own, without the engine's /dev/shm, whose files are uncounted.
        "IpcMode": "none",
        "Sysctls": _OBJECTS,
        "CgroupnsMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(_CAPABILITIES),
        "SecurityOpt": ["no-new-privileges"],
        "Init": False,
        "ReadonlyRootfs": True,
        "Tmpfs": {path: _tmpfs(path, spec, image) for path in writable_folders(image)},
        "Mounts": [
            _read_only(folder, INSIDE),
            # The engine gives no hosts file where networking is disabled, and programs look
            # for localhost in it.
            _read_only(folder / HOSTS, "/etc/hosts"),
        ],
        "Memory": spec.memory,
        "MemorySwap": spec.memory,
        "PidsLimit": spec.pids + 1,  # and the guest
        "NanoCpus": int(1e9 * max(0.01, min(spec.cpus, cpus))),
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        # Nothing inside can fill the host's disk with its output.
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no"},
        # The guest ends when the host hangs up, and the container with it.
        "AutoRemove": True,
    }


def _tmpfs(path: str, spec: SandboxSpec, image: Image) -> str:
    # The folders lie in memory, and all of them full must leave some: volumes take a part of one.
    share = 4 * len(image.volumes) if path in image.volumes else 1
    access = "mode=1777" if path in _SHARED else "mode=0755"
    if path not in _SHARED and spec.user.isdecimal():
        access += f",uid={spec.user},gid={spec.user}"
    size = f"size={spec.disk // share},nr_inodes={max(16, spec.inodes // share)}"
    return f"rw,nosuid,nodev,exec,{size},{access}"


def _read_only(source: Path, target: str) -> dict[str, Any]:
    return {"Type": "bind", "Source": str(source), "Target": target, "ReadOnly": True}
