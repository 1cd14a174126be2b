"""Links of packaged Markdown: `packaged_links.py FOLDER [--check]`.

README.md and CHANGELOG.md link to files of the repository. Where such a file is not in FOLDER, the link gets the page of
the packaged book, or the repository's address. With --check nothing is written, and a link that leads nowhere fails.
"""
import pathlib, re, sys

REPOSITORY = "https://github.com/flowpipe/flowpipe/blob/main"
FILES = ["README.md", "CHANGELOG.md"]
# The target of a link, in Markdown or HTML, without its anchor.
TARGET = re.compile(r"(?<=\]\()[^()\s#]+|(?<=src=\")[^\"#]+|(?<=href=\")[^\"#]+")


def is_relative(target):
    return not re.match(r"[a-z][a-z0-9+.-]*:", target)


def packaged(folder, target):
    """Where a link leads in the package."""
    if not is_relative(target) or (folder / target).exists():
        return target
    if target.startswith("docs/"):
        page = "book/" + re.sub(r"\.md$", ".html", target.removeprefix("docs/"))
        if (folder / page).exists():
            return page
    return f"{REPOSITORY}/{target}"


def main():
    folder, is_check = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["--check"]
    for file in (folder / name for name in FILES if (folder / name).exists()):
        text = file.read_text()
        if is_check:
            dead = [it for it in TARGET.findall(text) if is_relative(it) and not (folder / it).exists()]
            if dead:
                sys.exit(f"{file}: these links lead nowhere: {', '.join(dead)}")
        else:
            file.write_text(TARGET.sub(lambda link: packaged(folder, link[0]), text))


if __name__ == "__main__":
    main()
