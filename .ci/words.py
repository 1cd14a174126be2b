"""Finds words that the project does not use: see words.txt."""

import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

# Frozen headers and sources, recordings, and the list itself.
EXEMPT = re.compile(r"^(core/abi/tests/frozen/|core/engine/tests/fixtures/oldest\.c$|vendor/.*\.rs$|\.ci/words)")
READ = re.compile(r"(\.(rs|c|h|md|toml|py|js|css|html|snap|yml|sh)|/x|^x)$")


def patterns():
    for line in Path(".ci/words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split("\t")
            flags = 0 if pattern.startswith("=") else re.IGNORECASE
            yield re.compile(pattern.removeprefix("="), flags), instead


# Keys of older files stay as they are: `#[serde(alias = "told")]`, and lines of tests with this comment.
OLDER_KEY = "// key of older files"
NAMES_IN_FILES = re.compile(r'\b(rename|alias)\s*=\s*"[^"]*"')


def as_words(line):
    """The line, with the words of `snake_case` and of `CamelCase` apart."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line.replace("_", " "))


def has_names(pattern):
    """Whether it names identifiers, which are no longer there once their words are apart."""
    return bool(re.search("[_A-Z]", pattern.pattern))


KNOWN = list(patterns())


def problems(file):
    """What is found in a file, as lines to print."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    apart = as_words(text)
    # Most patterns are found in no line of a file, which one search of it shows.
    here = [it for it in KNOWN if it[0].search(apart) or has_names(it[0]) and it[0].search(text)]
    found = []
    for number, line in enumerate(text.splitlines() if here else [], 1):
        if line.endswith(OLDER_KEY):
            continue
        checked = NAMES_IN_FILES.sub("", line) if "serde(" in line else line
        for pattern, instead in here:
            match = pattern.search(checked) or pattern.search(as_words(checked))
            if match:
                found.append(f"{file}:{number}: \"{match.group()}\": write {instead}\n    {line.strip()[:160]}")
    return found


def main():
    only = tuple(sys.argv[1:])
    # With those that are not added yet.
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    read = [
        file for file in files
        if READ.search(file) and not EXEMPT.search(file) and Path(file).is_file() and (not only or file.startswith(only))
    ]
    with ProcessPoolExecutor() as pool:
        found = [line for lines in pool.map(problems, read, chunksize=16) for line in lines]
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        sys.exit(f"{len(found)} words that .ci/words.txt lists")


if __name__ == "__main__":
    main()
