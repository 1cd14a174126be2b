"""Type names: fails when a crate has two types of one name, so that a name has one meaning.

For each crate of the workspace (core/*, plugins/*, the library of tests) it reads the sources and collects the structs,
enums, unions, traits and type aliases, except those of tests and those in functions, macros, traits and impls. Two
types may share a name when no build has both: each is under a `#[cfg]` of its own.
"""
import pathlib, re, sys

sys.dont_write_bytecode = True

from module_cycles import TEST_MODULE, without_comments, without_tests

# Aliases that a module defines as the standard library's modules do (`io::Result`, `fmt::Result`).
ALLOWED = {"Result"}
# What opens a block, or defines a type.
EVENT = re.compile(
    r"(?P<close>\})|(?P<open>\{)|(?P<cfg>#\[\s*cfg\((?P<condition>[^\]]*)\)\s*\])"
    r"|\b(?P<kind>struct|enum|union|trait|type)\s+(?P<name>[A-Z]\w*)"
    r"|(?P<body>\b(?:fn|impl|macro_rules)\b)|\bmod\s+(?P<module>\w+)\s*(?P<file>;)?|(?P<end>;)")


def definitions(text):
    """The types that are defined in a file, and its modules in other files: name, line, condition of `#[cfg]`."""
    types, modules = [], []
    # By open block: whether types in it count, and under which condition.
    blocks, condition, opens = [(True, "")], "", None
    for event in EVENT.finditer(text):
        counts, outer = blocks[-1]
        here = f"{outer} {condition}".strip()
        if event["cfg"]:
            condition = event["condition"].strip()
        elif event["kind"] and opens is None:
            if counts:
                types.append((event["name"], text.count("\n", 0, event.start("name")) + 1, here))
            opens = (False, here)
        elif event["module"] and opens is None:
            if event["file"]:
                modules.append((event["module"], here))
                condition = ""
            else:
                opens = (counts, here)
        elif event["body"]:
            opens = opens or (False, here)
        elif event["open"]:
            blocks.append(opens or (False, here))
            opens, condition = None, ""
        elif event["close"]:
            if len(blocks) > 1:
                blocks.pop()
            opens, condition = None, ""
        elif event["end"]:
            opens, condition = None, ""
    return types, modules


def sources():
    """The folders with the sources of each crate."""
    found = sorted(pathlib.Path().glob("core/*/src")) + sorted(pathlib.Path().glob("plugins/*/src"))
    if not found:
        sys.exit("no crates in this folder")
    return [*found, pathlib.Path("tests/support")]


def is_test(path, tests):
    """Whether a file is part of a test module: one of `tests`, or one that is named so."""
    around = [path.with_suffix(""), *path.parents]
    return path.name.startswith("tests") or any(module in tests or module.name == "tests" for module in around)


def duplicates(source):
    """The names of a crate that mean two types: each with the places."""
    read, conditions, tests = {}, {}, set()
    for path in sorted(source.rglob("*.rs")):
        if "templates" in path.parts:
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        read[path] = types, modules = definitions(without_tests(text))
        inside = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
        tests |= {inside / name for name in TEST_MODULE.findall(text)}
        conditions |= {inside / name: condition for name, condition in modules if condition}
    found = {}
    for path, (types, _) in read.items():
        # The module of the file, and those that it is in.
        around = [path.with_suffix(""), *path.parents]
        if is_test(path, tests):
            continue
        outer = " ".join(conditions[module] for module in around if module in conditions)
        for name, line, condition in types:
            found.setdefault(name, []).append((f"{path}:{line}", f"{outer} {condition}".strip()))
    for name, places in sorted(found.items()):
        known = [condition for _, condition in places]
        is_one_a_build = "" not in known and len(set(known)) == len(known)
        if len(places) > 1 and not is_one_a_build and name not in ALLOWED:
            yield name, [place for place, _ in places]


def main():
    found = [f"{name}: {', '.join(places)}" for source in sources() for name, places in duplicates(source)]
    if found:
        sys.exit("\n".join([*found, f"{len(found)} names mean several types of a crate: name each by its content"]))


if __name__ == "__main__":
    main()
