"""The self-check suite catches each sort of bad backend, by the check that is named for it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgym.errors import UnknownNameError
from agentgym.sandbox import Command, ExecResult, SandboxBackend
from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.check import CHECKS, CheckResult, check_backend
from tests.sandbox import faulty
from tests.sandbox.check_rig import backend_of
from tests.sandbox.wrapped import Wrapped, WrappedBackend

ALL = 60


@pytest.fixture
async def sound() -> AsyncIterator[SandboxBackend]:
    async with backend_of("bubblewrap") as backend:
        yield backend


def wrapping(sandbox: type[Wrapped], inner: SandboxBackend) -> SandboxBackend:
    backend = WrappedBackend(inner)
    backend.sandbox = sandbox
    return backend


@pytest.mark.parametrize(
    ("fault", "caught"),
    [
        (faulty.LeavesChildren, {"processes.timeout", "processes.timeout_of_daemon"}),
        (
            faulty.KillsTheRoot,
            {"processes.timeout_of_daemon", "processes.timeout_of_stubborn"},
        ),
        (faulty.CollectsEverything, {"floods.gigabyte"}),
        (
            faulty.UnpacksBlindly,
            {"hostile.links_out", "hostile.links_to_links", "hostile.privileged_modes"},
        ),
        (faulty.FollowsLinksUp, {"transfer.links_up"}),
        (faulty.KeepsFiles, {"state.reset", "state.reset_of_files", "state.reset_of_traps"}),
        (faulty.KeepsProcesses, {"state.restore_ends_processes"}),
        (faulty.KeepsNewFiles, {"state.restored"}),
        (faulty.Retries, {"exec.never_repeated"}),
        (faulty.ForwardsEnvironment, {"exec.host_variables"}),
        (faulty.HidesLosses, {"lifetime.lost"}),
        (faulty.MixesOutputs, {"streams.outputs_never_mixed"}),
        (faulty.OneAtATime, {"streams.at_the_same_time"}),
        (faulty.TextOnly, {"streams.binary_output", "encodings.no_text"}),
        (faulty.JoinsWords, {"exec.arguments"}),
        (faulty.RaisesWhatIsOrdinary, {"exec.missing_program", "processes.timeout"}),
        (faulty.ForgetsWhere, {"exec.folder", "exec.missing_folder"}),
        (faulty.GoesOnWhenCancelled, {"processes.cancelled"}),
        (faulty.StreamsAtTheEnd, {"streams.as_it_is_written"}),
        (faulty.SharesForks, {"state.forked"}),
        (faulty.NeverCloses, {"lifetime.closed", "lifetime.used_after_close"}),
        (
            faulty.CarelessFiles,
            {
                "files.read_limit",
                "files.owner_and_mode",
                "files.listing",
                "files.folders",
                "files.missing",
            },
        ),
        (faulty.ShellWithoutMemory, {"shells.state_kept"}),
        (faulty.HidesEgress, {"egress.allowed"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_bad_sandbox_is_caught(
    fault: type[Wrapped], caught: set[str], sound: SandboxBackend
) -> None:
    report = await check_backend(wrapping(fault, sound), only=caught)
    assert {result.name for result in report.failures} == caught, report.listing()
    assert all(
        "expected" in result.detail or "Error" in result.detail for result in report.failures
    )


@pytest.mark.parametrize(
    ("fault", "caught"),
    [
        (
            faulty.Generous,
            {
                "limits.memory",
                "limits.shared_memory",
                "limits.processes",
                "limits.disk",
                "limits.inodes",
                "limits.open_files",
                "limits.processors",
                "limits.nothing_else_writable",
            },
        ),
        (faulty.OpensEverything, {"egress.allowed", "egress.after_reset"}),
        (faulty.ListsNothing, {"lifetime.ids"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_bad_backend_is_caught(
    fault: type[WrappedBackend], caught: set[str], sound: SandboxBackend
) -> None:
    report = await check_backend(fault(sound), only=caught)
    assert {result.name for result in report.failures} == caught, report.listing()


@pytest.mark.filterwarnings("ignore::agentgym.sandbox.process.UnisolatedSandboxWarning")
async def test_claimed_isolation_is_caught() -> None:
    # Only checks that look: those that attack would hit this machine.
    looking = {
        "isolation.host_files",
        "isolation.host_processes",
        "isolation.host_name",
        "isolation.namespaces",
        "isolation.nobody",
        "isolation.shared_names",
        "network.interfaces",
    }
    backend = faulty.ClaimsIsolation(make_backend("process"))
    try:
        report = await check_backend(backend, only=looking)
    finally:
        await backend.close()
    assert {result.name for result in report.failures} == looking, report.listing()


async def test_a_wrapper_without_a_fault_passes(sound: SandboxBackend) -> None:
    only = {"exec", "encodings", "hostile", "state.reset", "lifetime.lost", "limits.disk"}
    report = await check_backend(WrappedBackend(sound), only=only)
    assert not report.failed, report.listing()


class Raises(Wrapped):
    async def exec(self, command: Command, **options: object) -> ExecResult:
        raise KeyError("what a third party's backend may raise")


async def test_whatever_a_sandbox_raises_is_a_failure(sound: SandboxBackend) -> None:
    report = await check_backend(
        wrapping(Raises, sound), only=["exec.exit_codes", "specs.privilege"]
    )
    assert [result.status for result in report.results] == ["failed", "passed"]
    assert "KeyError" in report.results[0].detail


async def test_the_report_counts_and_serialises(sound: SandboxBackend) -> None:
    seen: list[CheckResult] = []
    report = await check_backend(
        sound, only=["users", "exec.duration", "streams.no_input"], on_result=seen.append
    )
    assert [result.name for result in report.results if result.group != "users"] == [
        "exec.duration",
        "streams.no_input",
    ]
    assert seen == list(report.results)
    found = report.to_json()
    assert (found["passed"], found["failed"], found["not_applicable"]) == (2, 0, 6)
    assert found["results"][0]["promise"] == report.results[0].promise
    assert "2 passed, 0 failed, 6 not applicable" in report.listing()


async def test_unknown_checks_are_named(sound: SandboxBackend) -> None:
    with pytest.raises(UnknownNameError, match=r"exec\.exit_codes"):
        await check_backend(sound, only=["exec.exitcodes"])


def content(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_nothing_is_left_on_the_host(
    sound: SandboxBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    before = dict(os.environ)
    report = await check_backend(sound, only=["isolation.host_files", "exec.host_variables"])
    assert not report.failed, report.listing()
    assert dict(os.environ) == before
    assert not content(tmp_path)
    assert not [item for item in await sound.list() if item.alive and item.owner_pid == os.getpid()]


def test_the_suite_is_whole() -> None:
    names = [item.name for item in CHECKS]
    assert len(names) == len(set(names)) >= ALL
    assert all(item.promise.endswith(".") for item in CHECKS)
    # What does not attack is tried on every backend.
    assert sum(not item.isolated and not item.users for item in CHECKS) >= ALL
