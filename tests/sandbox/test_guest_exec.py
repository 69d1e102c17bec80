"""Commands run by the guest, both as the first process of a namespace and as any other."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox import wire
from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.guest_rig import RawGuest, is_held, names, raw_guest
from tests.servers import require

NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "--pid", "--net", "--ipc"),
    *("--fork", "--kill-child", "--mount-proc"),
)
LIMITED = "64996"
KILLED = 128 + signal.SIGKILL
HOLD_OPEN = "exec 9<>{fifo}; "


@pytest.fixture(params=["first", "ordinary"])
def guest(request: pytest.FixtureRequest) -> Iterator[RawGuest]:
    with raw_guest(before=NAMESPACES if request.param == "first" else ()) as running:
        yield running


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A pipe that whoever runs with `HOLD_OPEN` holds: it ends when the last of them has."""
    path = tmp_path / "held"
    os.mkfifo(path)
    return path


def test_output_and_code_come_back(guest: RawGuest) -> None:
    done = guest.run("echo out; echo err >&2; exit 7")
    assert (done.code, done.flags, done.stdout, done.stderr) == (7, 0, b"out\n", b"err\n")


def test_any_bytes_pass_through(guest: RawGuest) -> None:
    every = bytes(range(256)) * 300
    identity = guest.start(("cat",), flags=wire.EXEC_STDIN)
    guest.send(Kind.INPUT, identity, every)
    guest.send(Kind.INPUT, identity)
    assert guest.wait(identity).stdout == every


def test_input_is_taken_as_fast_as_it_is_read(guest: RawGuest) -> None:
    identity = guest.start("sleep 0.1; md5sum; sleep 0.05", flags=wire.EXEC_STDIN)
    left, window, sent = 20_000_000, wire.WINDOW_BYTES, 0
    while sent < left:
        if window:
            size = min(window, left - sent)
            guest.send(Kind.INPUT, identity, bytes(size))
            window -= size
            sent += size
        else:
            kind, _, payload = guest.receive()
            assert kind is Kind.WINDOW
            window += wire.U32.unpack(payload)[0]
            assert window <= wire.WINDOW_BYTES
    guest.send(Kind.INPUT, identity)
    digest = subprocess.run("head -c 20000000 /dev/zero | md5sum", shell=True, capture_output=True)
    assert guest.wait(identity).stdout == digest.stdout


def test_input_that_nobody_reads_is_thrown_away(guest: RawGuest) -> None:
    identity = guest.start("exec <&-; sleep 1000", flags=wire.EXEC_STDIN)
    allowed = 0
    for _ in range(8):
        guest.send(Kind.INPUT, identity, bytes(wire.WINDOW_BYTES))
        while allowed < wire.WINDOW_BYTES:
            kind, _, payload = guest.receive()
            assert kind is Kind.WINDOW
            allowed += wire.U32.unpack(payload)[0]
        allowed -= wire.WINDOW_BYTES
    assert guest.ask(Kind.KILL_ALL).fault is None


def test_a_missing_program_is_a_result(guest: RawGuest) -> None:
    done = guest.run(("nothing-like-it",))
    assert (done.code, done.stderr) == (127, b"nothing-like-it: No such file or directory\n")
    assert guest.run(("/nothing/like/it",)).code == 127
    assert guest.run(("",)).code == 127


def test_what_is_no_program_is_a_result(guest: RawGuest, tmp_path: Path) -> None:
    done = guest.run(("/etc/passwd",))
    assert (done.code, done.stderr) == (126, b"/etc/passwd: Permission denied\n")
    assert guest.run(("/etc",)).code == 126
    rubbish = tmp_path / "rubbish"
    rubbish.write_bytes(b"\x7fELF" + bytes(60))
    rubbish.chmod(0o755)
    done = guest.run((os.fspath(rubbish),))
    assert (done.code, done.stderr) == (126, f"{rubbish}: Exec format error\n".encode())


def test_a_missing_folder_is_a_result(guest: RawGuest) -> None:
    done = guest.run("true", cwd="/no/where")
    assert done.code == 126
    assert done.stderr == b"cannot start in /no/where: No such file or directory\n"


def test_a_missing_user_is_a_result(guest: RawGuest) -> None:
    done = guest.run("true", user="nobody-like-it")
    assert (done.code, done.stderr) == (126, b"cannot start: no such user\n")


def test_the_path_of_the_given_environment_is_searched(guest: RawGuest, tmp_path: Path) -> None:
    program = tmp_path / "mine"
    program.write_text("echo no first line, $1\n")
    program.chmod(0o755)
    env = (f"PATH=/nowhere:/etc/passwd:{tmp_path}:/usr/bin",)
    assert guest.run(("mine", "run by sh"), env=env).stdout == b"no first line, run by sh\n"
    program.chmod(0o644)
    assert guest.run(("mine",), env=env).code in (126, 127)
    assert guest.run(("env",), env=()).code == 0


def test_environment_and_folder_are_those_asked_for(guest: RawGuest) -> None:
    done = guest.run(("env",), env=("PATH=/usr/bin", "A=b=c", "EMPTY="), cwd="/usr")
    assert set(done.stdout.split()) == {b"PATH=/usr/bin", b"A=b=c", b"EMPTY="}
    assert guest.run(("pwd",), cwd="/usr/lib").stdout == b"/usr/lib\n"


def test_a_signal_is_a_code(guest: RawGuest) -> None:
    assert guest.run("kill -TERM $$").code == 128 + signal.SIGTERM
    assert guest.run("ulimit -c; kill -SEGV $$").stdout == b"0\n"


def test_commands_begin_afresh(guest: RawGuest) -> None:
    state = guest.run("grep -E '^(Sig(Blk|Ign)|Cap|NoNewPrivs|Seccomp:)' /proc/self/status; umask")
    words = dict(line.split(":\t") for line in state.stdout.decode().splitlines()[:-1])
    assert {int(words[name], 16) for name in words if name.startswith(("Sig", "Cap"))} == {0}
    assert (words["NoNewPrivs"], words["Seccomp"]) == ("1", "2")
    assert state.stdout.endswith(b"0022\n")
    assert guest.run("echo /proc/self/fd/*").stdout.split() == [
        b"/proc/self/fd/%d" % number for number in (0, 1, 2, 3)
    ]


def test_output_beyond_the_limit_is_cut_off_on_each_stream(guest: RawGuest) -> None:
    done = guest.run("head -c 3000000 /dev/zero | tee /dev/stderr", limit=1000)
    assert (len(done.stdout), len(done.stderr)) == (1000, 1000)
    assert (done.code, done.flags) == (0, wire.EXIT_TRUNCATED)
    assert guest.run("printf 1234", limit=4).flags == 0
    assert guest.run("printf 12345", limit=4).flags == wire.EXIT_TRUNCATED
    assert guest.run("printf 1", limit=0).stdout == b""


def test_a_background_child_does_not_hold_up_the_end(guest: RawGuest) -> None:
    done = guest.run("sleep 1000 & echo started")
    assert (done.code, done.stdout) == (0, b"started\n")
    answer = guest.ask(Kind.KILL_ALL)
    assert (answer.fault, answer.value) == (None, 1)


def test_a_flood_in_the_background_does_not_hold_up_the_end(guest: RawGuest) -> None:
    assert guest.run("yes & yes >&2 & sleep 0.05").code == 0
    assert guest.ask(Kind.KILL_ALL).fault is None


@pytest.mark.parametrize(
    "tree",
    [
        "sleep 1000",
        "trap '' TERM INT HUP; while :; do sleep 1000; done",
        "(sleep 1000 &); sleep 1000",
        "setsid bash -c '(setsid sleep 1000 &); sleep 1000' & sleep 1000",
        "sleep 1000 | sleep 1000 | sleep 1000",
        "(kill -STOP $BASHPID) & sleep 1000",
    ],
)
def test_a_timeout_ends_the_whole_tree(guest: RawGuest, fifo: Path, tree: str) -> None:
    done = guest.run(HOLD_OPEN.format(fifo=fifo) + tree, timeout_ms=50)
    assert (done.code, done.flags) == (KILLED, wire.EXIT_TIMED_OUT)
    assert not is_held(fifo)


def test_a_timeout_ends_no_other_command(guest: RawGuest) -> None:
    other = guest.start("sleep 1000 & wait; exit 5")
    assert guest.run("sleep 1000 & sleep 1000", timeout_ms=20).code == KILLED
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(other) + wire.U32.pack(signal.SIGTERM)).value == 0
    assert guest.wait(other).code == 5


def test_signal_0_ends_a_command_with_all_it_started(guest: RawGuest, fifo: Path) -> None:
    identity = guest.start(HOLD_OPEN.format(fifo=fifo) + "setsid sleep 1000 & echo x; sleep 1000")
    assert guest.receive()[0] is Kind.STDOUT
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(identity) + wire.U32.pack(0)).fault is None
    with fifo.open("rb") as held:
        assert held.read() == b""


def test_a_process_without_its_first_thread_is_ended_too(guest: RawGuest, fifo: Path) -> None:
    program = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(1000,)).start();"
        "print(flush=True); ctypes.PyDLL(None).pthread_exit(None)"
    )
    tree = f"{sys.executable} -c '{program}' & wait; sleep 1000"
    identity = guest.start(HOLD_OPEN.format(fifo=fifo) + tree)
    assert guest.receive()[0] is Kind.STDOUT
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(identity) + wire.U32.pack(0)).fault is None
    assert guest.wait(identity).code == KILLED
    assert not is_held(fifo)


def test_a_tree_ends_although_somebody_ends_its_root(tmp_path: Path, fifo: Path) -> None:
    """A process left by an earlier command kills whatever the guest has stopped."""
    attack = tmp_path / "attack.py"
    attack.write_text(
        "import os, pathlib\n"
        "pathlib.Path('ready').touch()\n"
        "while True:\n"
        "    for pid in filter(str.isdecimal, names('/proc')):\n"
        "        try:\n"
        "            if open(f'/proc/{pid}/stat').read().rpartition(') ')[2][0] == 'T':\n"
        "                os.kill(int(pid), 9)\n"
        "        except (FileNotFoundError, ProcessLookupError):\n"
        "            pass\n"
    )
    with raw_guest(before=NAMESPACES) as guest:
        start = f"{sys.executable} attack.py & until [ -e ready ]; do :; done"
        assert guest.run(start, cwd=os.fspath(tmp_path)).code == 0
        for _ in range(10):
            tree = HOLD_OPEN.format(fifo=fifo) + "for i in {1..20}; do sleep 1000 & done; wait"
            assert guest.run(tree, timeout_ms=30).code == KILLED
            assert not is_held(fifo)


@pytest.mark.parametrize("quiet", ["SIG_DFL", "SIG_IGN"])
def test_a_process_that_keeps_forking_itself_away_is_ended(
    guest: RawGuest, fifo: Path, quiet: str
) -> None:
    program = (
        f"import os, signal; signal.signal(signal.SIGCHLD, signal.{quiet})\n"
        "if os.fork():\n    signal.pause()\n"
        "while True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n"
    )
    for _ in range(3):
        tree = HOLD_OPEN.format(fifo=fifo) + f"exec {sys.executable} -c '{program}'"
        assert guest.run(tree, timeout_ms=150).code == KILLED
        assert not is_held(fifo)


def test_no_child_can_be_made_beside_the_tree(guest: RawGuest) -> None:
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    clone_parent = 0x8000
    program = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
        f"pid = libc.syscall({number}, {clone_parent | signal.SIGCHLD}, 0, 0, 0, 0);"
        "print(pid, ctypes.get_errno())"
    )
    assert guest.run((sys.executable, "-c", program)).stdout == b"-1 1\n"


def test_kill_all_removes_shared_memory_and_queues() -> None:
    with raw_guest(before=NAMESPACES) as guest:
        count = "cat /proc/sysvipc/* | wc -l"
        empty = guest.run(count).stdout
        assert guest.run("for i in 1 2 3; do ipcmk -M 9999; ipcmk -Q; ipcmk -S 3; done").code == 0
        assert guest.run(count).stdout != empty
        assert guest.ask(Kind.KILL_ALL).fault is None
        assert guest.run(count).stdout == empty


def test_bad_signals_are_refused(guest: RawGuest) -> None:
    identity = guest.start("sleep 1000")
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(identity) + wire.U32.pack(65)).fault is Fault.SYSTEM
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(99) + wire.U32.pack(9)).fault is (
        Fault.NO_SUCH_TARGET
    )


def test_kill_all_ends_everything_and_reports_it(guest: RawGuest, fifo: Path) -> None:
    tree = HOLD_OPEN.format(fifo=fifo) + "sleep 1000 & echo x; sleep 1000"
    running = [guest.start(tree) for _ in "123"]
    assert [guest.receive()[0] for _ in running] == [Kind.STDOUT] * 3
    begin = guest.begin(Kind.KILL_ALL)
    ends = [guest.receive() for _ in range(4)]
    codes = [wire.EXIT_FIELDS.unpack(p)[0] for kind, _, p in ends if kind is Kind.EXIT]
    assert codes == [KILLED] * 3
    assert (ends[-1][0], ends[-1][1]) == (Kind.OK, begin)
    assert {identity for _, identity, _ in ends[:-1]} == set(running)
    assert guest.run("echo alive").stdout == b"alive\n"


def test_a_persistent_shell_says_what_came_before_its_mark(guest: RawGuest) -> None:
    loop = 'while read -r line <&3; do eval "$line"; echo "$?" >&4; done'
    identity = guest.start(loop, flags=wire.EXEC_CONTROL, limit=100_000)
    for round in range(50):
        line = f"head -c 90000 /dev/zero; echo {round} >&2; (exit {round})\n"
        guest.send(Kind.INPUT, identity, line.encode())
        out = err = b""
        while True:
            kind, _, payload = guest.receive()
            if kind is Kind.CONTROL:
                break
            out += payload if kind is Kind.STDOUT else b""
            err += payload if kind is Kind.STDERR else b""
        assert (len(out), err, payload) == (90_000, b"%d\n" % round, b"%d\n" % round)
    guest.send(Kind.INPUT, identity)
    assert guest.wait(identity).code == 0


def test_many_commands_run_at_once(guest: RawGuest) -> None:
    running = {guest.start(f"echo {i}; sleep 0.2; exit {i}"): i for i in range(64)}
    output = dict.fromkeys(running, b"")
    codes: dict[int, int] = {}
    while len(codes) < 64:
        kind, identity, payload = guest.receive()
        if kind is Kind.EXIT:
            codes[identity] = wire.EXIT_FIELDS.unpack(payload)[0]
        else:
            output[identity] += payload
    assert codes == running
    assert output == {identity: b"%d\n" % i for identity, i in running.items()}


def test_thousands_of_commands_leave_nothing(guest: RawGuest) -> None:
    def files_and_memory() -> tuple[int, int]:
        status = Path(f"/proc/{pid}/statm").read_text().split()
        return len(names(f"/proc/{pid}/fd")), int(status[1])

    pid = guest.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pid = int(children[0]) if children else pid  # that of unshare
    guest.run(("true",))
    files, pages = files_and_memory()
    for _ in range(40):
        identities = [guest.start(("true",)) for _ in range(50)]
        for _ in identities:
            guest.receive()
    assert files_and_memory()[0] == files
    assert files_and_memory()[1] <= pages + 64


@pytest.mark.parametrize("limit", [("--nofile", "32", "n"), ("--as", str(64 << 20), "v")])
def test_limits_are_those_of_the_options(limit: tuple[str, str, str]) -> None:
    option, value, flag = limit
    with raw_guest(option, value) as guest:
        shown = int(guest.run(f"ulimit -H{flag}").stdout)
        assert shown == (int(value) if flag == "n" else int(value) // 1024)


def test_the_worst_score_for_memory_is_the_commands(guest: RawGuest) -> None:
    assert guest.run(("cat", "/proc/self/oom_score_adj")).stdout == b"1000\n"


@pytest.fixture
def limited() -> Iterator[RawGuest]:
    """A guest whose commands, as a user of their own, may be 40 processes."""
    require(os.getuid() == 0, "Another user's process limit can be tested by root only.")
    with raw_guest("--uid", "64999", "--nproc", "40") as running:
        yield running


def test_a_process_limit_is_a_result(limited: RawGuest) -> None:
    loop = "for i in 1 2 3 4 5 6 7 8 9 0; do for j in 1 2 3 4 5; do sleep 1000 & done; done"
    done = limited.run(("sh", "-c", loop), user=LIMITED)
    assert done.code == 2
    assert b"fork" in done.stderr
    assert 0 < limited.ask(Kind.KILL_ALL).value <= 40


def test_a_fork_bomb_is_ended_with_its_time(limited: RawGuest) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; while :; do bomb; done"
    done = limited.run(("sh", "-c", bomb), user=LIMITED, timeout_ms=300)
    assert (done.code, done.flags & wire.EXIT_TIMED_OUT) in ((KILLED, 1), (2, 0))
    assert limited.ask(Kind.KILL_ALL).fault is None
    assert limited.run("echo alive", user=LIMITED).stdout == b"alive\n"
