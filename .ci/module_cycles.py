"""Module cycles: fails when the top-level modules of a crate use each other in a circle.

For each crate of the workspace (core/*, plugins/*, tests) it reads the sources, collects for each top-level module the
`crate::name` paths it uses (groups such as `use crate::{a, b::c}` too), and prints each cycle. Comments and code under
`#[cfg(test)]` are not part of the graph, nor are files named `tests*.rs`.
"""
import pathlib, re, sys

# Comments, string literals and character literals. Comments and literals become blanks.
LEXEMES = re.compile(
    r"//[^\n]*|/\*|(?:br|cr|r)(#*)\"|[bc]?\"(?:\\.|[^\"\\])*\"|b?'(?:\\[^\n]{1,10}?|[^\\'\n])'", re.DOTALL)
CRATE = re.compile(r"(?<![\w:])crate\s*::\s*")
NAME = re.compile(r"(?:r#)?[A-Za-z_]\w*")
TEST_ONLY = re.compile(r"#\[\s*cfg\(\s*(?:all\(\s*)?test\b[^\]]*\]")
TEST_MODULE = re.compile(TEST_ONLY.pattern + r"(?:\s*#\[[^\]]*\])*\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")


def without_comments(text):
    """The text, with blanks for comments and literals; line breaks stay."""
    parts, at = [], 0
    while found := LEXEMES.search(text, at):
        lexeme = found.group()
        end = found.end()
        if lexeme == "/*":
            depth = 1
            while depth and (edge := re.compile(r"/\*|\*/").search(text, end)):
                depth += 1 if edge.group() == "/*" else -1
                end = edge.end()
            end = len(text) if depth else end
        elif found.group(1) is not None:
            close = text.find('"' + found.group(1), end)
            end = len(text) if close < 0 else close + 1 + len(found.group(1))
        parts += [text[at:found.start()], " ", "\n" * text.count("\n", found.start(), end)]
        at = end
    return "".join(parts) + text[at:]


def item_end(text, at):
    """Where the item that starts at `at` ends: its `;`, or the brace that closes its body."""
    depth = 0
    while at < len(text):
        letter = text[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            # An item without an end of its own, such as a field: its surroundings end it.
            if depth < 0 or (depth == 0 and letter == "}"):
                return at + (depth == 0)
        elif letter == ";" and depth == 0:
            return at + 1
        at += 1
    return at


def without_tests(text):
    """The text, without the items under `#[cfg(test)]`."""
    while found := TEST_ONLY.search(text):
        at = found.end()
        while attribute := re.compile(r"\s*#\[[^\]]*\]").match(text, at):
            at = attribute.end()
        text = text[:found.start()] + text[item_end(text, at):]
    return text


def first_names(text, at):
    """The first names of the path, or of the group of paths, at `at`."""
    if at < len(text) and text[at] == "{":
        depth, fresh = 0, True
        while at < len(text):
            letter = text[at]
            if letter == "{":
                depth += 1
            elif letter == "}":
                depth -= 1
                if depth == 0:
                    return
            elif letter == "," and depth == 1:
                fresh = True
            elif depth == 1 and fresh and (name := NAME.match(text, at)):
                yield name.group().removeprefix("r#")
                at, fresh = name.end(), False
                continue
            at += 1
    elif name := NAME.match(text, at):
        yield name.group().removeprefix("r#")


def graph(folder, others):
    """For each top-level module of the crate whose root is in a folder, the top-level modules that it uses."""
    read = {}
    for path in sorted(folder.rglob("*.rs")):
        # What another crate, or a template of one, holds.
        if "templates" in path.parts or any(other in path.parents for other in others if folder in other.parents):
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        read[path] = (without_tests(text), set(TEST_MODULE.findall(text)))
    tests = set()
    for path, (_, names) in read.items():
        inside = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
        tests |= {inside / name for name in names}

    def is_test(path):
        parts = [path.with_suffix(""), *path.parents]
        return path.name.startswith("tests") or any(part in tests or part.name == "tests" for part in parts)

    modules = {path.relative_to(folder).parts[0].removesuffix(".rs") for path in read} - {"main", "lib", "bin"}
    uses = {module: set() for module in modules}
    for path, (text, _) in read.items():
        module = path.relative_to(folder).parts[0].removesuffix(".rs")
        if module in uses and not is_test(path.relative_to(folder.parent)) and not is_test(path):
            for found in CRATE.finditer(text):
                uses[module] |= {name for name in first_names(text, found.end()) if name in modules}
            uses[module].discard(module)
    return uses


def cycles(uses):
    """A shortest cycle through each module that is on one, each cycle once."""
    shown = set()
    for start in sorted(uses):
        before, queue = {start: None}, [start]
        for module in queue:
            for used in sorted(uses[module]):
                if used == start:
                    circle = [module]
                    while before[circle[-1]] is not None:
                        circle.append(before[circle[-1]])
                    circle.reverse()
                    if frozenset(circle) not in shown:
                        shown.add(frozenset(circle))
                        yield circle + [start]
                    queue.clear()
                    break
                if used not in before:
                    before[used] = module
                    queue.append(used)
            else:
                continue
            break


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    crates = sorted(manifest.parent for pattern in ("core/*", "plugins/*", "tests")
                    for manifest in root.glob(pattern + "/Cargo.toml"))
    if not crates:
        sys.exit(f"no crates in {root}")
    failed = False
    for crate in crates:
        # Each folder of `tests` with a root is a crate of its own.
        files = [path for name in ("lib.rs", "main.rs") for path in crate.rglob(name)]
        roots = sorted({path.parent for path in files if not {"templates", "target"} & set(path.parts)})
        for source in roots:
            for cycle in cycles(graph(source, roots)):
                failed = True
                print(f"{crate.relative_to(root)}: {' -> '.join(cycle)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
