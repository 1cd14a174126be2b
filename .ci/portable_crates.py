"""Crates that can be checked for another system: reads `cargo metadata --filter-platform TARGET`, prints their names.

`portable_crates.py` leaves out crates that need OpenCV, whose headers only the system itself has. With `--without-c`
it also leaves out crates with C code, which needs a compiler for that system.
"""

import json
import sys

# Build dependencies that compile C.
COMPILERS = {"cc", "cmake"}


def linked(node, nodes, packages):
    """The crates that are linked into one, itself among them: no build scripts, macros or tests."""
    found, left = set(), [node]
    while left:
        crate = left.pop()
        if crate in found:
            continue
        found.add(crate)
        for edge in nodes[crate]["deps"]:
            is_macro = any("proc-macro" in target["kind"] for target in packages[edge["pkg"]]["targets"])
            if not is_macro and any(kind["kind"] is None for kind in edge["dep_kinds"]):
                left.append(edge["pkg"])
    return found


def has_c(crate, nodes, packages):
    return any(
        packages[edge["pkg"]]["name"] in COMPILERS and any(kind["kind"] == "build" for kind in edge["dep_kinds"])
        for edge in nodes[crate]["deps"]
    )


def main():
    # Also on Windows, for the shell that reads them.
    sys.stdout.reconfigure(newline="\n")
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    names, left_out = [], []
    for member in metadata["workspace_members"]:
        crates = linked(member, nodes, packages)
        reasons = [packages[crate]["name"] for crate in crates if packages[crate]["name"] == "opencv"]
        if "--without-c" in sys.argv[1:]:
            reasons += [packages[crate]["name"] for crate in crates if has_c(crate, nodes, packages)]
        name = packages[member]["name"]
        if reasons:
            left_out.append(f"{name} ({', '.join(sorted(set(reasons)))})")
        else:
            names.append(name)
    if not names:
        sys.exit("portable_crates: no crate can be checked")
    print("\n".join(sorted(names)))
    print(f"left out: {', '.join(sorted(left_out)) or 'none'}", file=sys.stderr)


if __name__ == "__main__":
    main()
