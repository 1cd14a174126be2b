"""Linked libraries: fails when a program or plugin in a folder is linked with a library that is not listed here.

    .ci/linked_libraries.py FOLDER

A package runs only where all of them are installed. docs/install.md names their packages for the tarball. Needs readelf.
"""
import pathlib, re, subprocess, sys

# Of each Debian 12.
BASE = {"ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libm.so.6", "libstdc++.so.6"}
# libopencv-core406 and libopencv-imgproc406.
OPENCV = {"libopencv_core.so.406", "libopencv_imgproc.so.406"}
# Only vision and what finds pictures in pictures needs OpenCV: everything else runs without it.
WITH_OPENCV = {"libnavigator_templates.so", "libvision_contours.so", "libvision_opencv.so"}
NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")


def is_program_or_library(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def linked(path):
    """The libraries that a file is linked with."""
    printed = subprocess.run(["readelf", "--dynamic", "--wide", path], check=True, capture_output=True, text=True)
    return set(NEEDED.findall(printed.stdout))


def main(folder):
    files = [path for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in files if is_program_or_library(path)]
    if not files:
        sys.exit(f"{folder} has no program and no library")
    errors = []
    for path in files:
        known = BASE | (OPENCV if path.name in WITH_OPENCV else set())
        errors += [f"{path}: linked with {name}, which .ci/linked_libraries.py does not list" for name in sorted(linked(path) - known)]
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        sys.exit(1)
    print(f"linked libraries: all of {len(files)} files are listed")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
