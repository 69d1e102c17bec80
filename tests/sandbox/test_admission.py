"""Admission: nothing is ever over its limits, and what never fits is said so at once."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import UsageError
from agentgym.sandbox.admission import Admission
from agentgym.sandbox.memory import available_memory, total_memory
from agentgym.sandbox.spec import MIB

GIB = 1 << 30
SIZES = st.integers(16 * MIB, 2 * GIB)


def test_the_machine_has_memory() -> None:
    host = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    most = int(host["MemTotal"].split()[0]) * 1024
    assert 0 < available_memory() <= total_memory() <= most


@given(
    limit=st.integers(64 * MIB, 4 * GIB), most=st.integers(1, 6), sizes=st.lists(SIZES, min_size=1)
)
def test_the_limits_are_never_exceeded(limit: int, most: int, sizes: list[int]) -> None:
    admission = Admission(max_memory=limit, max_sandboxes=most)
    there: list[int] = []
    for size in sizes:
        if size > limit:
            with pytest.raises(UsageError, match="never fits"):
                admission.require(size)
            continue
        admission.require(size)
        while not admission.fits(size):
            gone = there.pop(0)
            admission.leave(gone)
            admission.gone(gone)
        admission.begin(size)
        there.append(size)
        assert admission.memory == sum(there) <= limit
        assert admission.sandboxes == len(there) <= most


def test_what_is_being_closed_counts_until_it_is_gone() -> None:
    admission = Admission(max_memory=GIB, max_sandboxes=9)
    admission.begin(GIB)
    assert not admission.fits(GIB)
    admission.leave(GIB)
    assert admission.fits(GIB, soon=True)
    assert not admission.fits(GIB)
    admission.gone(GIB)
    assert admission.fits(GIB)


def test_without_a_limit_one_sandbox_fits_if_the_machine_could_ever_hold_it() -> None:
    admission = Admission(available=lambda: GIB)
    more_than_is_free = total_memory() - 2 * max(256 * MIB, total_memory() // 20)
    admission.require(more_than_is_free)
    assert admission.fits(more_than_is_free)
    admission.begin(16 * MIB)
    assert not admission.fits(more_than_is_free)
    with pytest.raises(UsageError, match=r"[\d,]+ MiB of memory never fits into the [\d,]+ MiB"):
        admission.require(total_memory())


def test_the_host_keeps_a_reserve() -> None:
    free = [10 * GIB]
    admission = Admission(available=lambda: free[0])
    assert admission.host_has(GIB)
    free[0] = GIB + 200 * MIB
    assert not admission.host_has(GIB)


def test_starts_at_once_are_counted() -> None:
    admission = Admission(max_memory=GIB, starts=2)
    for _ in range(2):
        assert admission.can_start
        admission.begin(MIB)
    assert not admission.can_start
    admission.started()
    assert admission.can_start


@pytest.mark.parametrize(("most", "starts"), [(0, 1), (1, 0)])
def test_a_pool_of_nothing_is_refused(most: int, starts: int) -> None:
    with pytest.raises(UsageError, match="at least one"):
        Admission(max_sandboxes=most, starts=starts)
