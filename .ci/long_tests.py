"""Long tests: fails when a test is to be run by `./x test full` as its `#[ignore]` says, and is not.

The function `run_full_tests` of `x` names crates and parts of tests' names (`.ci/tests.py CRATE... -- --ignored NAME...`,
without a name: all of the crates), and each name must be that of a test.
"""
import pathlib, re, shlex, subprocess, sys

# A test that is ignored for this reason, and its name.
LONG = re.compile(r'#\[ignore = "[^"]*\./x test full[^"]*"\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn (\w+)')
FUNCTION = re.compile(r"^run_full_tests\(\) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


def crate(path):
    """The folder of the crate of a file: `core/link/src/lib.rs` is of `link`, and all of `tests` is of one."""
    parts = pathlib.PurePosixPath(path).parts
    return parts[0] if parts[0] == "tests" else parts[1]


def long_tests(files):
    """Each test: its crate, the names of its modules and its own, and where it is."""
    for path in files:
        text = pathlib.Path(path).read_text()
        for found in LONG.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield crate(path), f"{pathlib.PurePosixPath(path).stem}::{found[1]}", f"{path}:{line}"


def commands(script):
    """What runs ignored tests: crates, and the parts of names, none for all."""
    body = FUNCTION.search(script)
    if not body:
        sys.exit("x: there is no function run_full_tests")
    for line in body[1].replace("\\\n", " ").splitlines():
        if ".ci/tests.py" in line and "--ignored" in line:
            words = shlex.split(line)
            names = words[words.index(".ci/tests.py") + 1:]
            yield names[:names.index("--")], names[names.index("--ignored") + 1:]


def problems(tests, run):
    """What is wrong."""
    for of, name, place in tests:
        if not any(of in crates and (not parts or any(part in name for part in parts)) for crates, parts in run):
            yield f"{place}: {name} says that ./x test full runs it, and run_full_tests in x does not name it"
    for crates, parts in run:
        for part in parts:
            if not any(of in crates and part in name for of, name, _ in tests):
                yield f"x: run_full_tests names {part} of {', '.join(crates)}, and there is no such test"


def self_test():
    """Fails when the check does not find what it is for."""
    run = list(commands('run_full_tests() {\n  step "a" python3 .ci/tests.py tests -- --ignored \\\n    a_test gone\n}\n'))
    assert run == [(["tests"], ["a_test", "gone"])], run
    tests = [("tests", "file::a_test_that_runs", "1"), ("tests", "file::another", "2"), ("path", "file::a_test", "3")]
    found = list(problems(tests, run))
    assert [text.split(":")[0] for text in found] == ["2", "3", "x"], found
    assert LONG.search('#[ignore = "long: `./x test full` runs it"]\n#[cfg(unix)]\nfn it() {')[1] == "it"


self_test()
listed = subprocess.run(["git", "ls-files", "*.rs"], stdout=subprocess.PIPE, check=True, text=True).stdout
all_tests = list(long_tests(path for path in listed.splitlines() if path.startswith(("core/", "plugins/", "tests/"))))
wrong = list(problems(all_tests, list(commands(pathlib.Path("x").read_text()))))
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(all_tests)} long tests, and each is run by ./x test full")
