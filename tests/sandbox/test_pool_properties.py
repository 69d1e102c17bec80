"""Whatever is asked, cancelled, given back, lost or failing, and in whatever order it happens."""

import asyncio
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentgym.errors import ProtocolError, SandboxStartError
from agentgym.sandbox.admission import Admission
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec
from tests.sandbox.imaginary import Call, ImaginaryBackend, ImaginarySandbox, settle, start_error

SPECS = [SandboxSpec(memory=size * MIB) for size in (100, 200, 300)]
LIMIT, MOST, STARTS, IDLE = 600 * MIB, 5, 2, 3
PLENTY = 1 << 50


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test sets."""

    now = 0.0

    def time(self) -> float:
        return self.now


class WatchedBackend(ImaginaryBackend):
    """Looks at every start whether it is the turn of whom it is for."""

    def __init__(self, pool: "PoolMachine") -> None:
        super().__init__("start", "reset", "close")
        self.machine = pool

    async def start(self, spec: SandboxSpec) -> Sandbox:
        first = self.machine.first_in_need()
        fair = first is None or first == spec or self.machine.racing
        assert fair, "somebody who asked before waits"
        return await super().start(spec)


class PoolMachine(RuleBasedStateMachine):
    """Everything that can happen to a pool, one thing at a time."""

    @initialize(warm=st.integers(0, 2))
    def begin(self, warm: int) -> None:
        self.loop = StillLoop()
        self.runner = asyncio.Runner(loop_factory=lambda: self.loop)
        self.backend = WatchedBackend(self)
        self.free = PLENTY
        self.asked: list[tuple[SandboxSpec, asyncio.Task[Sandbox]]] = []
        self.leased: list[ImaginarySandbox] = []
        self.uses: Counter[Sandbox] = Counter()
        self.failed = self.answered = 0
        self.racing = False  # a cancellation may come between a decision and what it begins
        self.runner.run(self._open(warm))

    async def _open(self, warm: int) -> None:
        self.pool = SandboxPool(
            self.backend,
            warm=warm,
            idle=IDLE,
            admission=Admission(
                max_memory=LIMIT, max_sandboxes=MOST, starts=STARTS, available=lambda: self.free
            ),
        )
        await self.pool.open()

    def first_in_need(self) -> SandboxSpec | None:
        """Return what the first asker wants for whom nothing is coming."""
        coming = Counter(c.spec.memory for c in self.backend.calls if c.what != "close")
        for spec, task in self.asked:
            if task.done() or task.cancelling():
                continue
            if not coming[spec.memory]:
                return spec
            coming[spec.memory] -= 1
        return None

    def _settle(self) -> None:
        self.runner.run(settle())
        served = [(spec, task) for spec, task in self.asked if task.done()]
        for spec, task in served:
            before = self.asked[: self.asked.index((spec, task))]
            if not task.cancelled() and task.exception() is None:
                assert all(t.done() for s, t in before if s == spec), "served before its turn"
        self.asked = [(spec, task) for spec, task in self.asked if not task.done()]
        for spec, task in served:
            self._take(spec, task)

    def _take(self, spec: SandboxSpec, task: asyncio.Task[Sandbox]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            assert isinstance(error, SandboxStartError)
            self.answered += 1
            return
        sandbox = task.result()
        assert isinstance(sandbox, ImaginarySandbox)
        assert sandbox.spec == spec
        assert sandbox.alive
        assert sandbox not in self.leased, "lent twice"
        assert sandbox.resets >= self.uses[sandbox], "not reset since its last use"
        self.uses[sandbox] += 1
        self.leased.append(sandbox)

    @rule(which=st.integers(0, len(SPECS) - 1))
    def ask(self, which: int) -> None:
        async def begin() -> asyncio.Task[Sandbox]:
            return asyncio.create_task(self.pool.acquire(SPECS[which]))

        self.asked.append((SPECS[which], self.runner.run(begin())))
        self._settle()

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from([task for _, task in self.asked])).cancel()
        self._settle()

    @precondition(lambda self: self.asked and self.backend.calls)
    @rule(data=st.data())
    def give_up_just_when_something_ends(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(self.backend.calls))
        task = data.draw(st.sampled_from([task for _, task in self.asked]))
        turns = data.draw(st.integers(0, 4))

        async def cancel_soon() -> None:
            call.end.set_result(None)
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()

        self.racing = True
        self.runner.run(cancel_soon())
        self._settle()
        self.racing = False

    @precondition(lambda self: self.leased)
    @rule(data=st.data(), reusable=st.booleans())
    def give_back(self, data: st.DataObject, reusable: bool) -> None:
        sandbox = data.draw(st.sampled_from(self.leased))
        self.leased.remove(sandbox)

        async def release() -> None:
            self.pool.release(sandbox, reusable=reusable)

        self.runner.run(release())
        self._settle()

    @precondition(lambda self: self.backend.calls)
    @rule(data=st.data(), well=st.booleans())
    def end_a_call(self, data: st.DataObject, well: bool) -> None:
        self._end(data.draw(st.sampled_from(self.backend.calls)), well)
        self._settle()

    def _end(self, call: Call, well: bool) -> None:
        if well or call.what == "close":
            call.end.set_result(None)
            return
        self.failed += call.what == "start"
        call.end.set_exception(start_error())

    @precondition(lambda self: self.backend.alive)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        there = sorted(self.backend.alive, key=lambda sandbox: sandbox.id)
        data.draw(st.sampled_from(there)).lost = True

    @rule(plenty=st.booleans())
    def other_programs_take_memory(self, plenty: bool) -> None:
        self.free = PLENTY if plenty else 0
        self.loop.now += 1
        self._settle()

    @invariant()
    def the_limits_hold(self) -> None:
        starting = [call.spec for call in self.backend.calls if call.what == "start"]
        specs = [*starting, *(sandbox.spec for sandbox in self.backend.alive)]
        assert sum(spec.memory for spec in specs) == self.pool.state.memory <= LIMIT
        assert len(specs) == self.pool.state.sandboxes <= MOST
        assert len(starting) == self.pool.state.starting <= STARTS
        assert self.pool.state.idle <= IDLE
        assert self.answered <= self.failed

    @precondition(lambda self: self.asked and not self.backend.calls and self.free == PLENTY)
    @invariant()
    def nobody_waits_without_need(self) -> None:
        taken = sum(sandbox.spec.memory for sandbox in self.leased)
        assert taken + self.asked[0][0].memory > LIMIT or len(self.leased) == MOST

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        self.backend.held.clear()
        for call in self.backend.calls:
            call.end.set_result(None)
        if self.failed % 2:  # otherwise its loop just ends
            self.runner.run(self.pool.close())
            assert asyncio.all_tasks(self.loop) <= {task for _, task in self.asked}
            self.runner.run(settle())
            assert all(isinstance(task.exception(), ProtocolError) for _, task in self.asked)
        self.runner.close()
        assert self.pool.closed
        assert not self.backend.alive


PoolMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50)
TestPool = PoolMachine.TestCase
