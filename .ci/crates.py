"""Crates: fails when a crate depends on a crate of the project that it must not know.

`ARROWS` has for each crate of core the crates of the project that it depends on: the layers of ARCHITECTURE.md. It is
compared with the manifests in both directions, so that it stays true. Dependencies of tests are free, except that they
are no plugins, and that the tests of a plugin know no runtime. `examples/mines`, a workspace of its own, reaches only what is
published and belongs to no game, and is built with the same versions of other crates.
"""
import json, pathlib, subprocess, sys, tomllib

RUNTIME = ["config", "host", "isolation", "engine", "machines", "recorder"]
ARROWS = {
    # The plugin boundary.
    "abi": [],
    "message": [],
    "plugin": ["abi", "message", "puzzle", "sync"],
    # The runtime. It moves messages and does not read them: no crate of it reaches `puzzle`.
    "sync": [],
    "process": [],
    "confinement": [],
    "link": [],
    "zenoh": ["link"],
    "config": ["abi", "terminal"],
    "host": ["abi", "config", "sync"],
    "isolation": ["abi", "config", "confinement", "host", "process", "sync"],
    "engine": ["abi", "config", "host", "isolation", "process", "recording", "sync"],
    "machines": ["abi", "config", "engine", "host", "link", "sync"],
    "recorder": ["abi", "config", "engine", "host", "output", "recording", "sync"],
    # Files and pages.
    "output": [],
    "terminal": [],
    "recording": ["abi", "output"],
    "report": ["message", "puzzle", "recording", "terminal"],
    # Puzzles and algorithms.
    "puzzle": ["message"],
    "search": ["puzzle"],
    "sat": ["puzzle", "testing"],
    "path": ["puzzle"],
    "jq": [],
    "generate": ["puzzle", "search"],
    "game": ["generate", "message", "puzzle", "terminal"],
    # What plugins need of the system.
    "desktop": ["guardian", "output", "process", "wayland"],
    "guardian": ["process", "wayland"],
    "wayland": ["process"],
    # The program, and what tests share.
    "cli": ["abi", "config", "desktop", "engine", "game", "generate", "host", "isolation", "jq", "link", "machines", "message", "output", "process",
            "puzzle", "recorder", "recording", "report", "search", "sync", "terminal", "wayland"],
    "testing": [],
}
# What a plugin may depend on. It reaches `puzzle` and `abi` through `plugin`.
FOR_PLUGINS = {"plugin", "search", "sat", "path", "jq", "game", "recording", "output", "process", "confinement", "desktop",
               "guardian"}
# What only the whole-program tests and the program know.
NOT_FOR_TESTS_OF_PLUGINS = {*RUNTIME, "cli"}
# A domain of its own, and what it may reach of the project: crates that are published, and nothing of Flow Free.
DOMAIN = "examples/mines"
FOR_DOMAINS = {"abi", "message", "plugin", "sync"}


def crates():
    """For each crate of the workspace its folder, and what it depends on: by kind, folders of crates of the project."""
    command = ["cargo", "metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    root = pathlib.Path(metadata["workspace_root"])
    folders = {package["name"]: pathlib.Path(package["manifest_path"]).parent.relative_to(root)
               for package in metadata["packages"]}
    for package in metadata["packages"]:
        kinds = {False: set(), True: set()}
        for dependency in package["dependencies"]:
            if dependency["name"] in folders:
                kinds[dependency["kind"] == "dev"].add(folders[dependency["name"]])
        yield folders[package["name"]], kinds[False], kinds[True]


def reached(crate):
    """All crates that a crate depends on, directly or not."""
    direct = ARROWS[crate]
    return set(direct).union(*map(reached, direct))


def wrong(folder, normal, tests):
    """What is wrong with the dependencies of a crate."""
    kind, name = folder.parts[0], folder.name
    plugins = sorted(crate.name for crate in normal | tests if crate.parts[0] == "plugins")
    yield from (f"it depends on {plugin}, a plugin" for plugin in plugins)
    names = {crate.name for crate in normal}
    if kind == "core":
        if name not in ARROWS:
            yield "it has no entry in ARROWS (.ci/crates.py): add it to its layer, there and in ARCHITECTURE.md"
            return
        yield from (f"it must not depend on {other}: see ARCHITECTURE.md" for other in sorted(names - {*ARROWS[name]}))
        yield from (f"it does not depend on {other}: remove it from ARROWS" for other in sorted({*ARROWS[name]} - names))
    elif kind == "plugins":
        yield from (f"a plugin must not depend on {other}" for other in sorted(names - FOR_PLUGINS))
        runtime = {crate.name for crate in tests} & NOT_FOR_TESTS_OF_PLUGINS
        yield from (f"a plugin's tests must not depend on {other}" for other in sorted(runtime))


def locked(folder):
    """What a workspace is built with: names and versions of its Cargo.lock."""
    lock = tomllib.loads(pathlib.Path(folder, "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): "source" in package for package in lock["package"]}


def wrong_in_domain():
    """What is wrong with what the domain of its own is built with."""
    ours = locked(".")
    for (name, version), is_foreign in locked(DOMAIN).items():
        if is_foreign and (name, version) not in ours:
            # The licences of those in the main file are checked, and both share what is built.
            yield f"{name} {version} is not in the Cargo.lock of the project: run cargo update -p {name} there or here"
        elif not is_foreign and (name, version) in ours and name.removeprefix("flowpipe-") not in FOR_DOMAINS:
            yield f"it reaches {name}, which no domain of its own may know"


def main():
    found = [f"{crate}: it reaches puzzle; the runtime must not read messages"
             for crate in RUNTIME if "puzzle" in reached(crate)]
    folders = set()
    for folder, normal, tests in crates():
        folders.add(str(folder))
        found += [f"{folder}: {what}" for what in wrong(folder, normal, tests)]
    found += [f"{DOMAIN}: {what}" for what in wrong_in_domain()]
    found += [f"ARROWS names {name}, which is no crate" for name in ARROWS if f"core/{name}" not in folders]
    if found:
        sys.exit("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
