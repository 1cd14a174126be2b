"""Builds all tests and runs them: `tests.py [CRATE...]`, where a crate is a folder's or a package's name.

Cargo runs one test program after the other. Many of ours wait most of the time (for a window, a timeout, a process), so
that three at a time take little longer than one. All are built at once whatever is run, for other selections have other
features and would compile most crates again.
"""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

# The whole-program tests are started first, since they take longest. Those that play in a window have a run of their
# own before all others, one at a time: the mouse is as fast there as for a user.
WHOLE_PROGRAM = "tests"
LIVE = "live::"
LIVE_THREADS = "1"
# These wait most of the time, so that several run on a processor.
WHOLE_PROGRAM_THREADS = "5"
# Tests that compute, and that wait for no window: by the folders of their crates, and by the modules of the
# whole-program tests. They run beside the others, on what those leave of the processors.
COMPUTING = {
    "check-flowfree", "fuzz", "generate", "path", "puzzle", "recording", "report", "sat", "search",
    "solver-astar", "solver-frontier", "solver-genetic", "vision-contours", "vision-opencv",
}
COMPUTING_MODULES = [
    "book::", "compare::", "fuzz_commands::", "hostile_bounds::", "hostile_recordings::", "plugin_check::",
]
COMPUTING_THREADS = "2"
AT_ONCE = 3
# A test program that takes longer, in seconds, is killed: its output shows which test hangs. On two processors the
# longest takes some twelve minutes, and several times as long on a busy machine.
LONGEST = int(os.environ.get("FLOWPIPE_TEST_TIMEOUT", "2700"))
# With these clippy compiles in rustc's place (./x): not what the tests compile.
LINTS = ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS"]
# In CI random tests try the same cases each time, so that a change fails for what it changes. Elsewhere, and in the
# workflow of each week, they try others.
SEED = "20261124"
# How a line begins that says what a test could not do (core/testing), such as puzzles that are not there.
SKIPPED = "skipped: "
# How a line begins that names a test which failed beside others and passed alone.
PASSED_ALONE = "passed alone: "
# Many tests have limits of time, and others share the processors with them. So a test that fails beside others is run
# again alone. If it fails again, or more tests fail than this, the run fails. If it passes, the last lines name it.
MOST_AGAIN = 2
# How much of a failure's output is printed, in characters.
LONGEST_OUTPUT = 200_000


def built():
    """The test programs: folder of the package, names of package and target, file."""
    command = ["cargo", "test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]
    cargo = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if cargo.returncode:
        sys.exit(cargo.returncode)
    for line in cargo.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            package = message["package_id"].split("#")[-1].split("@")[0]
            yield folder, package, message["target"]["name"], message["executable"]


class Beside:
    """The test programs that only compute: while others run, those have the processors first."""

    def __init__(self):
        self.lock = threading.Lock()
        self.policy, self.nice = os.SCHED_IDLE, 19
        self.sessions = set()

    def start(self, command, **options):
        """Starts a program, in a session of its own."""
        with self.lock:
            before = functools.partial(schedule, 0, self.policy, self.nice)
            process = subprocess.Popen(command, start_new_session=True, preexec_fn=before, **options)
            self.sessions.add(process.pid)
        return process

    def end_of_live(self):
        """Gives the programs a part of the processors even while others could use all of them."""
        self.change(os.SCHED_OTHER, 10)

    def end_of_others(self):
        """Gives the programs the processors as all others have them."""
        self.change(os.SCHED_OTHER, 0)

    def change(self, policy, nice):
        """Schedules the programs, and what they have started. Without the right to that, they are slower."""
        with self.lock:
            self.policy, self.nice = policy, nice
            for status in Path("/proc").glob("[0-9]*/stat"):
                # What has ended meanwhile is no longer there.
                with contextlib.suppress(OSError):
                    after_name = status.read_text(errors="replace").rpartition(")")[2].split()
                    if int(after_name[3]) in self.sessions:
                        for task in (status.parent / "task").iterdir():
                            schedule(int(task.name), policy, nice)


BESIDE = Beside()


def schedule(task, policy, nice):
    """Sets how much of the processors a thread gets (0: the calling one) while others need them."""
    os.sched_setscheduler(task, policy, os.sched_param(0))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, task, nice)
    # Where Linux shares the processors among sessions, the priority counts within one alone.
    with contextlib.suppress(OSError):
        Path(f"/proc/{task or 'self'}/autogroup").write_text(str(nice), encoding="ascii")


def start(command, **options):
    """Starts a program, in a session of its own."""
    return subprocess.Popen(command, start_new_session=True, **options)


class Result(NamedTuple):
    """What a run of a test program has shown: how many tests passed, what they skipped, and the names of the failed."""

    job: tuple
    is_ok: bool
    passed: int
    skipped: list
    failed: list


def run(job):
    """Runs a test program."""
    (folder, _, target, program), arguments, threads = job
    began = time.monotonic()
    environment = dict(os.environ, CARGO_MANIFEST_DIR=str(folder), CARGO="cargo")
    if "CI" in os.environ:
        environment.setdefault("PROPTEST_RNG_SEED", SEED)
    for name in LINTS:
        environment.pop(name, None)
    if threads:
        environment.setdefault("RUST_TEST_THREADS", threads)
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        started = BESIDE.start if computes(job) else start
        process = started(
            [program, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            is_ok = process.wait(LONGEST) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            is_ok = False
        output.seek(0)
        printed = output.read()
    missing = f"no result after {time.monotonic() - began:.0f} s"
    result = next((line for line in reversed(printed.splitlines()) if line.startswith("test result")), missing)
    verdict = "ok" if is_ok else "FAILED"
    name = f"{folder.name}::{target} {' '.join(arguments)}".rstrip()
    print(f"{verdict:6} {time.monotonic() - began:6.0f} s  {name}  {result}", flush=True)
    if not is_ok:
        print(printed[-LONGEST_OUTPUT:], flush=True)
    count = re.search(r"\b(\d+) passed", result)
    skipped = [line for line in printed.splitlines() if line.startswith(SKIPPED)]
    return Result(job, is_ok, int(count[1]) if count else 0, skipped, [] if is_ok else failed_tests(printed))


def failed_tests(printed):
    """The names of the tests that the last list of failures in the output of a test program has."""
    last_list = re.findall(r"^failures:\n((?:    \S+\n)+)\ntest result: FAILED", printed, re.MULTILINE)
    return last_list[-1].split() if last_list else []


def run_alone(result):
    """Runs the failed tests again, one at a time."""
    test, _, _ = result.job
    return run((test, ["--exact", *result.failed], "1"))


def jobs(tests, extra):
    """What is run, in this order: a test program with its arguments, and how many threads it gets."""
    whole = [test for test in tests if test[0].name == WHOLE_PROGRAM]
    rest = [test for test in tests if test[0].name != WHOLE_PROGRAM]
    if extra:
        yield from ((test, extra, WHOLE_PROGRAM_THREADS) for test in whole)
        yield from ((test, extra, None) for test in rest)
        return
    skipped = [word for module in [LIVE, *COMPUTING_MODULES] for word in ["--skip", module]]
    yield from ((test, [LIVE], LIVE_THREADS) for test in whole)
    yield from ((test, COMPUTING_MODULES, COMPUTING_THREADS) for test in whole)
    yield from ((test, skipped, WHOLE_PROGRAM_THREADS) for test in whole)
    yield from ((test, [], None) for test in rest)


def computes(job):
    """Whether a test program, or the part of it that the job runs, only computes."""
    return job[0][0].name in COMPUTING or job[1] == COMPUTING_MODULES


def main():
    crates, _, extra = (list(part) for part in partition(sys.argv[1:]))
    tests = [test for test in built() if not crates or test[0].name in crates or test[1] in crates]
    if not tests:
        sys.exit(f"no tests of {', '.join(crates)}: name the folder of a crate, such as engine or vision-opencv")
    planned = list(jobs(tests, extra))
    live = [job for job in planned if job[1] == [LIVE]]
    computing = [job for job in planned if computes(job)]
    others = [job for job in planned if job not in live and job not in computing]
    with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(AT_ONCE) as pool:
        computed = beside.map(run, computing)
        # A game that gets no processor misses strokes, as it would for a user.
        results = [run(job) for job in live]
        BESIDE.end_of_live()
        results += pool.map(run, others)
        BESIDE.end_of_others()
        results += computed
    failures = [result for result in results if not result.is_ok]
    names = [name for result in failures for name in result.failed]
    if not extra and all(result.failed for result in failures) and len(names) <= MOST_AGAIN:
        again = [run_alone(result) for result in failures]
        results += again
        failures = [result for result in again if not result.is_ok]
    if failures:
        sys.exit(f"{len(failures)} of {len(results)} runs of test programs failed")
    # A filter that matches nothing, such as an old name of a test, would pass unnoticed.
    count = sum(result.passed for result in results)
    if extra and not count and "--list" not in extra:
        sys.exit(f"no test ran with {' '.join(extra)}: correct the name, or add --ignored for a test that is ignored")
    skipped = [line for result in results for line in result.skipped]
    for line in [*sorted(set(skipped)), *(PASSED_ALONE + name for name in names)]:
        print(line)
    print(f"{len(tests)} test programs passed, {count} tests; {len(skipped) or 'no'} parts skipped")


def partition(arguments):
    """What stands before `--`, the mark, and what stands after it, which each program gets."""
    if "--" not in arguments:
        return arguments, [], []
    place = arguments.index("--")
    return arguments[:place], ["--"], arguments[place + 1 :]


main()
