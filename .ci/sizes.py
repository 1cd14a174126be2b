"""Sizes: fails when a source file is too long, or the implementation of one type lies in too many files.

- A source file (Rust, C, Python, shell) of core, plugins, tests, examples and .ci has at most 600 lines.
- The inherent impls of one type of a crate (core/*, plugins/*, the library of tests) lie in at most two files, so that
  a reader finds its methods. Tests and impls of traits do not count.
"""
import pathlib, re, subprocess, sys

sys.dont_write_bytecode = True

from module_cycles import TEST_MODULE, without_comments, without_tests
from type_names import is_test, sources

LONGEST_FILE = 600
MOST_FILES = 2
SOURCE = re.compile(r"(^|/)x$|\.(rs|c|h|py|sh)$")
# An impl, up to its body. Its type is what comes after the parameters.
IMPL = re.compile(r"^[ \t]*(?:unsafe )?impl\b([^{;]*)\{", re.MULTILINE)
TYPE = re.compile(r"\s*(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)?(?:\w+::)*([A-Z]\w*)")


def after_parameters(text):
    """What follows the `<...>` that a text begins with."""
    text = text.lstrip()
    if not text.startswith("<"):
        return text
    depth = 0
    for at, letter in enumerate(text):
        # `->` closes nothing.
        depth += (letter == "<") - (letter == ">" and text[at - 1] != "-")
        if depth == 0:
            return text[at + 1:]
    return ""


def implemented(text):
    """The types that a file has inherent impls of."""
    for impl in IMPL.finditer(text):
        head = after_parameters(impl[1])
        found = TYPE.match(head)
        if found and not re.search(r"\bfor\b(?!\s*<)", re.split(r"\bwhere\b", head)[0]):
            yield found[1]


def scattered(source):
    """The types of a crate whose inherent impls lie in more than two files, with the files."""
    found, tests = {}, set()
    for path in sorted(source.rglob("*.rs")):
        if "templates" in path.parts:
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        inside = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
        tests |= {inside / name for name in TEST_MODULE.findall(text)}
        for name in implemented(without_tests(text)):
            found.setdefault(name, set()).add(path)
    for name, paths in sorted(found.items()):
        paths = {path for path in paths if not is_test(path, tests)}
        if len(paths) > MOST_FILES:
            yield name, sorted(map(str, paths))


def long_files():
    """The source files that are too long, with their lines."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for file in filter(SOURCE.search, files):
        # Sources of others keep their files.
        if file.startswith("vendor/"):
            continue
        path = pathlib.Path(file)
        if path.is_file():
            lines = len(path.read_text(encoding="utf-8", errors="replace").splitlines())
            if lines > LONGEST_FILE:
                yield file, lines


def main():
    found = [f"{file}: {lines} lines: divide it by its ideas; {LONGEST_FILE} is the most"
             for file, lines in long_files()]
    for source in sources():
        found += [f"{name}: methods in {len(paths)} files: {', '.join(paths)}; give its parts types or functions"
                  for name, paths in scattered(source)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
