"""Builds all tests and runs them: `tests.py [CRATE...]`, where a crate is a folder's or a package's name.

Cargo runs one test program after the other. Many of ours wait most of the time (for a window, a timeout, a process), so
that two at a time take little longer than one. All are built at once whatever is run, for other selections have other
features and would compile most crates again.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Started first, since they take longest. Their tests wait most of the time, so that several run on a processor.
SLOW = ["tests"]
THREADS_OF_SLOW = "4"
AT_ONCE = 2


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


def run(test, extra):
    folder, _, target, program = test
    began = time.monotonic()
    environment = dict(os.environ, CARGO_MANIFEST_DIR=str(folder), CARGO="cargo")
    if folder.name in SLOW:
        environment.setdefault("RUST_TEST_THREADS", THREADS_OF_SLOW)
    done = subprocess.run(
        [program, *extra], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )
    result = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("test result")), "no result")
    verdict = "ok" if done.returncode == 0 else "FAILED"
    print(f"{verdict:6} {time.monotonic() - began:6.0f} s  {folder.name}::{target}  {result}", flush=True)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0


def main():
    crates, _, extra = (list(part) for part in partition(sys.argv[1:]))
    tests = [test for test in built() if not crates or test[0].name in crates or test[1] in crates]
    if not tests:
        sys.exit(f"no tests of {', '.join(crates)}: name the folder of a crate, such as engine or vision-opencv")
    tests.sort(key=lambda test: test[0].name not in SLOW)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(lambda test: run(test, extra), tests))
    if not all(passed):
        sys.exit(f"{passed.count(False)} of {len(passed)} test programs failed")
    print(f"{len(passed)} test programs passed")


def partition(arguments):
    """What stands before `--`, the mark, and what stands after it, which each program gets."""
    if "--" not in arguments:
        return arguments, [], []
    place = arguments.index("--")
    return arguments[:place], ["--"], arguments[place + 1 :]


main()
