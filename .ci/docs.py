"""Documentation: fails when a Markdown file of the project names a file that does not exist, or is too long.

- Paths: relative links and images, with their anchors, and paths of the repository in backticks (`core/...`, `docs/...`).
  What is in a code block is not checked: it may be about somebody else's files.
- ARCHITECTURE.md has at most 250 lines, README.md at most 200.
- Lines of prose of the Markdown files in the root, such as README.md, and of docs have at most 120 characters. Tables,
  code and lines that are one link are not prose. No line within a paragraph begins like a numbered item, which would
  make it a list.
- The book: docs/SUMMARY.md lists every Markdown file of docs, each once, and nothing else. What is in a comment there
  is not listed. A link from docs to a file beside it leads nowhere in the built book, so there is none. What
  `./x book` adds to the built book is checked there (.ci/book.py).
- Each section of docs/benchmarks.md with a table has rows for the command, the date and what the figures are compared
  with, or is part of a section that has them.
"""
import os, pathlib, re, sys

LONGEST_FILE = {"ARCHITECTURE.md": 250, "README.md": 200}
LONGEST_LINE = 120
BOOK = "docs"
# The folder of the built book with the SDK's documentation.
RUSTDOC = "docs/rustdoc"
# Folders whose names begin a path of the repository.
FOLDERS = {"core", "plugins", "tests", "docs", "examples", "pipelines", "snapshots", ".ci", ".cargo"}
# A path: no spaces, no placeholders in capitals (`plugins/ROLE-NAME`), no patterns.
PATH = re.compile(r"[\w.-]+(?:/[\w.@-]+)+/?")
PLACEHOLDER = re.compile(r"[A-Z]{3,}(?:-[A-Z]+)*(?=/|$)")
BRACES = re.compile(r"(.*)\{([^{}]*)\}(.*)")
# Code within a paragraph.
CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
IMAGE = re.compile(r"<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ONLY_A_LINK = re.compile(r"\s*(?:[-*] )?\S*\[[^\]]*\]\([^)]*\)\S*\s*|\s*<?https?://\S+|\s*<img [^>]*>\s*")


def without_blocks(text):
    """The text with the same lines, those of code blocks blank."""
    lines, fence, before = [], None, ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
            lines.append("")
        elif mark:
            fence = mark[1]
            lines.append("")
        else:
            is_indented = line.startswith("    ") and not before.strip()
            lines.append("" if is_indented else line)
            if is_indented:
                continue  # The next line of the block follows a blank one.
        before = lines[-1]
    return "\n".join(lines)


def without_comments(text):
    """The text with the same lines, comments blank."""
    return COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def anchors(text):
    """The anchors of a file's headings, as GitHub makes them."""
    found, seen = set(), {}
    for line in without_blocks(text).split("\n"):
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            title = LINK.sub(lambda link: link[0].split("]")[0].lstrip("!["), heading[1])
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            count = seen[slug] = seen.get(slug, -1) + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def spelled_out(word):
    """`a/{b,c}` as `a/b` and `a/c`."""
    if braces := BRACES.fullmatch(word):
        return [it for part in braces[2].split(",") for it in spelled_out(braces[1] + part + braces[3])]
    return [word]


def paths(root, name, text):
    """What the file names that does not exist, with the line."""
    prose = without_comments(without_blocks(text))
    line = lambda position: prose.count("\n", 0, position) + 1
    for code in CODE.finditer(prose):
        for path in (path for word in code[2].split() for path in spelled_out(word.rstrip(".,:;"))):
            if not PATH.fullmatch(path) or path.split("/")[0] not in FOLDERS or PLACEHOLDER.search(path):
                continue
            if not (root / path).exists():
                yield line(code.start()), f"there is no `{path}`"
    # A link in code is an example of one.
    plain = CODE.sub(lambda code: code[0] if "](" not in code[0] else re.sub(r"[^\n]", " ", code[0]), prose)
    for link in [*LINK.finditer(plain), *IMAGE.finditer(plain)]:
        target, _, anchor = link[1].partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        file = (root / name).parent / target if target else root / name
        if is_of_book(root, name) and not file.resolve().is_relative_to(root / BOOK):
            yield line(link.start()), f"the link to {link[1]} leads out of the book: name the path in backticks instead"
        elif is_of_book(root, name) and file.is_relative_to(root / RUSTDOC):
            continue
        elif not file.exists():
            yield line(link.start()), f"the link to {link[1]} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield line(link.start()), f"the link to {link[1]} leads to no heading"


def long_lines(text):
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        is_prose = not line.lstrip().startswith("|") and not ONLY_A_LINK.fullmatch(line)
        if is_prose and len(line) > LONGEST_LINE:
            yield number, f"{len(line)} characters; lines of prose have at most {LONGEST_LINE}"


FIGURES = f"{BOOK}/benchmarks.md"
# The rows that a section with figures needs, with what each must contain.
ROWS = {
    "Command": re.compile(r"`[^`]+`|not recorded|named in each section"),
    "Date": re.compile(r"\b20\d\d-\d\d-\d\d\b"),
    "Compared with": re.compile(r"\w"),
}


def rows_that_lack(text):
    """The sections whose figures lack a command, a date, or what they are compared with."""
    # Of each section: its line, its title, the rows that it lacks, whether it has a table. Of its outer one: the rows.
    sections = []
    outer = set(ROWS)
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        if heading := re.match(r"(##+)\s+(.*)", line):
            is_inner = len(heading[1]) > 2
            if not is_inner:
                outer = set(ROWS)
            lacking = set(outer) if is_inner else outer
            sections.append((number, heading[2], lacking, []))
        elif line.startswith("|") and sections:
            sections[-1][3].append(line)
            name, _, value = line.strip("| ").partition(" | ")
            if name in ROWS and ROWS[name].search(value):
                sections[-1][2].discard(name)
    for number, title, lacking, table in sections:
        if table and lacking:
            rows = ", ".join(f"'{row}'" for row in ROWS if row in lacking)
            yield number, f"the figures of '{title}' lack the rows {rows}"


def accidental_items(text):
    """Lines of a paragraph that Markdown shows as items of a list."""
    before = ""
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        is_item = re.match(r"\d+[.)] ", line)
        is_in_paragraph = before.strip() and not re.match(r"\s|(?:\d+[.)]|[-+*]|#+) ", before)
        if is_item and is_in_paragraph:
            yield number, f"this line of a paragraph begins like an item of a list ({is_item[0].strip()}): wrap it elsewhere"
        before = line


def problems(root, name):
    text = (root / name).read_text()
    yield from paths(root, name, text)
    if name == FIGURES:
        yield from rows_that_lack(text)
    lines, most = len(text.splitlines()), LONGEST_FILE.get(name)
    if most and lines > most:
        yield lines, f"{lines} lines; it has at most {most}: move what is deep to docs"
    if "/" not in name or name.startswith(f"{BOOK}/"):
        yield from long_lines(text)
        yield from accidental_items(text)


def is_of_book(root, name):
    return name.startswith(f"{BOOK}/") and (root / BOOK / "book.toml").exists()


def unlisted(root, names):
    """Where the chapters of the book and the files of its folder differ, with file and line."""
    if not (root / BOOK / "book.toml").exists():
        return
    summary = f"{BOOK}/SUMMARY.md"
    if summary not in names:
        yield summary, 1, "there is no such file, and docs/book.toml needs it"
        return
    listed = set()
    for number, line in enumerate(without_comments((root / summary).read_text()).split("\n"), 1):
        for link in LINK.finditer(line):
            chapter = f"{BOOK}/{link[1].removeprefix('./')}"
            if chapter in listed:
                yield summary, number, f"{link[1]} is listed a second time"
            elif chapter not in names and (root / chapter).exists():
                yield summary, number, f"{link[1]} is no Markdown file of {BOOK}"
            listed.add(chapter)
    for name in names:
        if name.startswith(f"{BOOK}/") and name != summary and name not in listed:
            yield name, 1, f"{summary} does not list it"


def markdown(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [it for it in folders if it != "target" and not it.startswith(".")]
        yield from (pathlib.Path(folder, it) for it in files if it.endswith(".md"))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = sorted(path.relative_to(root).as_posix() for path in markdown(root))
    if "ARCHITECTURE.md" not in names:
        sys.exit("docs: there is no ARCHITECTURE.md")
    found = [f"{name}:{line}: {what}" for name in names for line, what in sorted(problems(root, name))]
    found += [f"{name}:{line}: {what}" for name, line, what in unlisted(root, names)]
    if found:
        sys.exit("\n".join(found))
    print(f"docs: {len(names)} files, all that they name exists")


if __name__ == "__main__":
    main()
