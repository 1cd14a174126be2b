"""Third-party notices: the licences, in full, of all that is built into the program and its plugins.

Reads what `cargo metadata` prints and writes the notices: for each crate its version, licence and address, and under it
every licence text in its folder; texts that are the same stand once, with the crates that they are of.
"""
import json, pathlib, re, sys

OWN = """Third-party notices
===================

flowpipe itself is MIT or Apache-2.0. What follows is of others, and is built into the program or its plugins.

Beside it, each of the vision plugins is linked dynamically with OpenCV (Apache-2.0, https://opencv.org), and the program
and plugins with the libraries of the system; they are not part of what is shipped.
"""
MPL = """{name} is under the Mozilla Public License 2.0, and is built into {into} unchanged. Its source:
https://crates.io/api/v1/crates/{name}/{version}/download and {repository}
"""
# What is under that licence, and where it is built into.
OF_MPL = {"splr": "the plugin solver-splr", "option-ext": "libflowpipe_zenoh"}
NAMES = re.compile(r"^(un)?(licen[cs]e|copying|copyright|notice)", re.IGNORECASE)
# No licence is longer, in bytes.
LONGEST = 200_000
# Where a crate carries sources of others that are no part of what is built.
ASIDE = {"tests", "test", "benches", "examples", "fuzz", "doc", "docs", "target"}


def shipped(metadata):
    """The crates that are linked into the program and the plugins: no tests, nothing that only builds or expands."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    roots = [
        id
        for id in metadata["workspace_members"]
        if any({"bin", "cdylib"} & set(target["kind"]) for target in packages[id]["targets"])
        and packages[id]["name"] != "flowpipe-tests"
    ]
    if not roots:
        sys.exit("no program and no plugin among the workspace's members")
    found, todo = set(), roots
    while todo:
        id = todo.pop()
        if id in found or any("proc-macro" in target["kind"] for target in packages[id]["targets"]):
            continue
        found.add(id)
        for dependency in nodes[id]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    # Also those whose changed sources are here.
    members = {*metadata["workspace_members"]}
    foreign = [packages[id] for id in found if id not in members]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence texts in a crate's folder, also those of sources in C that are built with it."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = {file for file in folder.rglob("*") if NAMES.match(file.name) and file.suffix != ".rs"}
    if package.get("license_file"):
        files.add(folder / package["license_file"])
    for file in sorted(files):
        aside = ASIDE & set(file.relative_to(folder).parts[:-1]) if file.is_relative_to(folder) else ()
        if not aside and file.is_file() and file.stat().st_size < LONGEST:
            yield file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()


def main():
    packages = shipped(json.load(sys.stdin))
    print(OWN)
    bare, by_text = [], {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        address = package.get("repository") or f"https://crates.io/crates/{package['name']}"
        print(f"{name}: {package.get('license') or 'see its text'}, {address}")
        if "MPL" in (package.get("license") or ""):
            into = OF_MPL.get(package["name"], "flowpipe")
            text = MPL.format(name=package["name"], into=into, version=package["version"], repository=address)
            print("  " + text.replace("\n", "\n  ").rstrip())
        found = list(texts(package))
        for text in found:
            by_text.setdefault(text, []).append(name)
        if not found:
            authors = ", ".join(package.get("authors") or ["its authors"])
            bare.append(f"{name}: {package.get('license')}, copyright {authors}")
    if bare:
        print("\nThese come without a text of their licence. The texts of these licences are among those below:\n")
        print("\n".join(bare))
    for text, names in by_text.items():
        print(f"\n\n{'-' * 80}\n{', '.join(names)}\n{'-' * 80}\n\n{text}")


main()
