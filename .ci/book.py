"""The built book: `book.py FOLDER [--width]` fails when a page of FOLDER is broken.

- Every relative link leads to a file of the folder, and every anchor to an element of it.
- The search index exists and finds words of the pages.
- No page, style sheet or picture loads anything from another host.
- With --width: no page of the book scrolls horizontally in a window that is 360 pixels wide (needs chromium).
"""
import html.parser, json, pathlib, re, shutil, subprocess, sys, tempfile, urllib.parse

WIDTH = 360
# What rustdoc writes, beside the book.
RUSTDOC = "rustdoc"
# Words that the search must find, with a page that has them.
SEARCHED = {"lineage": "concepts.html", "solver-frontier": "reference/plugins.html"}
# Attributes that load what they name, by element.
LOADED = {"img": ["src", "srcset"], "script": ["src"], "iframe": ["src"], "source": ["src", "srcset"], "embed": ["src"],
          "object": ["data"], "video": ["src", "poster"], "audio": ["src"], "image": ["href"], "use": ["href"]}
# Links of the head that load nothing.
NOT_LOADED = {"canonical", "author", "license", "next", "prev"}
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:)?//[^"')\s]+)""")


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self.base = set(), [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[it] for it in ("id", "name") if attributes.get(it))
        target = attributes.get("href")
        if tag == "base":
            self.base = target or ""
        elif tag == "a" and target:
            self.links.append(target)
        elif tag == "link" and target and attributes.get("rel") not in NOT_LOADED:
            self.loaded.append(target)
        self.loaded += [attributes[it] for it in LOADED.get(tag, []) if attributes.get(it)]


def is_foreign(target):
    return bool(re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", target, re.IGNORECASE))


def broken(root, name, pages):
    """What is wrong with a page."""
    page = pages[name]
    for target in page.loaded:
        if is_foreign(target):
            yield f"it loads {target}: copy that into docs"
    # The page of errors is for a server: its links start at the root of the site. rustdoc checks its own links, and
    # includes descriptions of other crates.
    if page.base or name.startswith(f"{RUSTDOC}/"):
        return
    for target in page.links + page.loaded:
        if is_foreign(target) or re.match(r"(?:mailto|javascript|data):", target):
            continue
        path, _, anchor = target.partition("#")
        path = urllib.parse.unquote(path.partition("?")[0])
        file = (root / name).parent / path if path else root / name
        if file.is_dir():
            file /= "index.html"
        file = pathlib.Path(*file.resolve().parts)
        if not file.is_relative_to(root):
            yield f"the link to {target} leads out of the book"
        elif not file.exists():
            yield f"the link to {target} leads nowhere"
        elif anchor:
            other = file.relative_to(root).as_posix()
            if other in pages and urllib.parse.unquote(anchor) not in pages[other].anchors:
                yield f"the link to {target} leads to no element of {other}"


def search_problems(root):
    """What is wrong with the search index."""
    files = sorted(root.glob("searchindex*.js"))
    if len(files) != 1:
        yield f"there are {len(files)} search indexes: enable the search in docs/book.toml"
        return
    # The script assigns a text of JSON.
    text = re.search(r"JSON\.parse\('(.*)'\)", files[0].read_text(), re.DOTALL)
    index = json.loads(text[1].replace("\\'", "'").replace("\\\\", "\\"))
    for word, page in SEARCHED.items():
        documents = index["index"]["documentStore"]["docs"]
        has_word = lambda it: word in f"{it['title']} {it['body']}"
        found = {index["doc_urls"][int(key)].partition("#")[0] for key, it in documents.items() if has_word(it)}
        if page not in found:
            yield f"{files[0].name}: the search for {word!r} does not find {page}"


def wide(root, names):
    """The pages that scroll horizontally in a narrow window, with their width."""
    browser = next((it for it in ("chromium", "chromium-browser", "google-chrome") if shutil.which(it)), None)
    if not browser:
        sys.exit("book: --width needs chromium: ./x setup and packages-test.txt name the packages that the tests need")
    script = """<!DOCTYPE html><body><iframe id="frame" style="width:%dpx;height:800px;border:0"></iframe><script>
      const frame = document.getElementById("frame"), found = {}, pages = %s;
      const next = () => {
        const page = pages.shift();
        if (page === undefined) {
          const out = document.createElement("pre");
          out.id = "found";
          out.textContent = JSON.stringify(found);
          document.body.append(out);
          return;
        }
        frame.onload = () => {
          // The content of a page scrolls, not the page; code and tables scroll inside of it.
          const boxes = frame.contentDocument.querySelectorAll("html, body, .page-wrapper, .page, .content, main");
          found[page] = Math.max(...Array.from(boxes, box => box.scrollWidth));
          setTimeout(next);
        };
        frame.src = page;
      };
      next();
    </script>"""
    with tempfile.TemporaryDirectory() as profile:
        measure = pathlib.Path(profile, "measure.html")
        pages = {(root / name).as_uri(): name for name in names}
        measure.write_text(script % (WIDTH, json.dumps(list(pages))))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--allow-file-access-from-files", "--virtual-time-budget=600000", "--dump-dom"]
        command = [browser, *flags, f"--user-data-dir={profile}/user", measure.as_uri()]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        found = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
        if not found:
            sys.exit(f"book: {browser} measures no page:\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
        widths = json.loads(html.unescape(found[1]))
    for uri, name in pages.items():
        if widths[uri] > WIDTH:
            yield name, f"it is {widths[uri]} pixels wide in a window of {WIDTH}: a table, picture or word is too wide"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = sorted(root.rglob("*.html"))
    pages = {file.relative_to(root).as_posix(): Page(file.read_text()) for file in files}
    of_book = [name for name in pages if not name.startswith(f"{RUSTDOC}/")]
    if not of_book or len(of_book) == len(pages):
        sys.exit(f"book: {root} has no built book with rustdoc in it: run ./x book")
    found = [f"{name}: {what}" for name in pages for what in broken(root, name, pages)]
    found += search_problems(root)
    for file in [*root.rglob("*.css"), *root.rglob("*.svg"), *(root / name for name in pages)]:
        found += [f"{file.relative_to(root)}: it loads {url[1]}" for url in IN_STYLES.finditer(file.read_text())]
    if "--width" in sys.argv[2:]:
        # The page of errors and the frame of contents are shown inside of others.
        names = [name for name in of_book if name not in ("404.html", "toc.html", "print.html")]
        found += [f"{name}: {what}" for name, what in wide(root, names)]
    if found:
        sys.exit("\n".join(found))
    print(f"book: {len(of_book)} pages and {len(pages) - len(of_book)} of rustdoc, all links lead somewhere")


if __name__ == "__main__":
    main()
