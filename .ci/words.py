"""Finds words that the project does not use: see words.txt."""

import re
import subprocess
import sys
from pathlib import Path

# Frozen headers and sources, recordings, and the list itself.
EXEMPT = re.compile(r"^(core/abi/include/|core/abi/tests/frozen/|core/engine/tests/fixtures/oldest\.c$|\.ci/words)")
READ = re.compile(r"(\.(rs|c|h|md|toml|py|js|css|html|snap|yml)|/x|^x)$")


def patterns():
    for line in Path(".ci/words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split("\t")
            flags = 0 if pattern.startswith("=") else re.IGNORECASE
            yield re.compile(pattern.removeprefix("="), flags), instead


def main():
    only = sys.argv[1:]
    files = subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    known = list(patterns())
    found = 0
    for file in files:
        if EXEMPT.search(file) or not READ.search(file) or not Path(file).is_file():
            continue
        if only and not any(file.startswith(prefix) for prefix in only):
            continue
        # Names that files have keep what they were called: `#[serde(rename = "told")]`.
        for number, line in enumerate(Path(file).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if "serde(" in line:
                continue
            for pattern, instead in known:
                match = pattern.search(line)
                if match:
                    found += 1
                    print(f"{file}:{number}: \"{match.group()}\": write {instead}\n    {line.strip()[:160]}")
    if found:
        sys.exit(f"{found} words that .ci/words.txt lists")


main()
