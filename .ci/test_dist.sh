#!/usr/bin/env bash
# Tests of the packages: builds them, and checks which libraries they are linked with (.ci/linked_libraries.py). Then, in
# a fresh Debian 12 without a toolchain, installs each as docs/install.md describes, runs the packaged pipeline `replay`,
# solves a puzzle, creates a solver in Python and compares it, removes the package, and checks that nothing is left. Needs
# root, debootstrap and a network.
#
# FLOWPIPE_DEBIAN_MIRROR: where Debian's packages come from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf '\n.ci/test_dist.sh: %s\n' "$*" >&2
  exit 1
}

[ "$(id -u)" -eq 0 ] ||
  fail "this is not root, which debootstrap and chroot need. Run it as root, in a container or a virtual machine."
command -v debootstrap >/dev/null ||
  fail "debootstrap is missing, which makes a fresh Debian: apt-get install debootstrap"
# What is mounted here is gone when this ends.
if [ -z "${FLOWPIPE_TEST_DIST_INSIDE:-}" ]; then
  FLOWPIPE_TEST_DIST_INSIDE=1 exec unshare --mount --propagation private "$PWD/.ci/test_dist.sh"
fi

./x dist
dist=$(cd "${CARGO_TARGET_DIR:-target}/dist" && pwd)
deb=$(echo "$dist"/*.deb)
tarball=$(echo "$dist"/*.tar.gz)
(cd "$dist" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not fit the packages"
# Both packages have the same programs and plugins.
unpacked_here=$(mktemp -d)
tar --extract --file "$tarball" --directory "$unpacked_here"
python3 .ci/linked_libraries.py "$unpacked_here" ||
  fail "a packaged file is linked with another library (above): a system without it can't load it"
rm -r "$unpacked_here"

root=$(mktemp -d)
clean() {
  local folder
  for folder in proc dev tmp run; do
    ! mountpoint --quiet "$root/$folder" || umount --recursive --lazy "$root/$folder"
  done
  rm -rf --one-file-system "$root"
}
trap clean EXIT
chmod 755 "$root"
mirror=${FLOWPIPE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
printf '\n== a fresh Debian 12 from %s\n' "$mirror" >&2
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log" >&2; fail "debootstrap failed (its last lines stand above)."; }
rm "$root.log"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
# The packages are downloaded from there too.
cp /etc/resolv.conf "$root/etc/resolv.conf"

inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp/home LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} chroot "$root" "$@"
}
# A user without rights.
as_user() { inside setpriv --reuid=1000 --regid=1000 --clear-groups sh -euc "$1"; }

# All files, but those that say which packages there are and were.
listing() {
  (cd "$root" && find bin etc home lib* opt root sbin srv usr var -xdev \
    \( -path var/log -o -path var/cache -o -path var/lib/apt -o -path var/lib/dpkg -o -path etc/ld.so.cache \) -prune \
    -o -print | LC_ALL=C sort)
}

# Runs commands as a user, and prints their output if they fail.
run() {
  local what=$1
  as_user "$2" >"$root/tmp/output" 2>&1 || { cat "$root/tmp/output" >&2; fail "$what failed in a fresh Debian"; }
}
# What the last commands printed.
printed() { grep -qF -- "$1" "$root/tmp/output" || { cat "$root/tmp/output" >&2; fail "there is no '$1' in the output"; }; }

# Follows the documentation with the program in PATH.
try() {
  local path=$1
  local commands="PATH=$path:\$PATH; cd /tmp/home"
  rm -rf "$root/tmp/home"
  mkdir -m 777 "$root/tmp/home"
  run "the pipeline replay" "$commands; flowpipe run replay"
  printed '11 boards read, 11 solved, 11 played, 11 accepted'
  run "solving" "$commands; printf 'A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n' | flowpipe solve -"
  printed 'solved by solver-search'
  # Every plugin loads, not only those of the pipeline. There is no display, which is a warning.
  run "flowpipe doctor" "$commands; flowpipe doctor"
  run "flowpipe plugins" "$commands; flowpipe plugins --json"
  # Beside the program, in /usr/bin, are libraries that are no plugins.
  ! grep -q '"plugin": true' "$root/tmp/output" || { cat "$root/tmp/output" >&2; fail "plugins are refused in a fresh Debian"; }
  # A solver in Python: what the command prints as the next steps is followed word for word.
  run "flowpipe new" "$commands; flowpipe new solver solver-mine --lang python"
  local next
  next=$(sed '1,/^next:$/d' "$root/tmp/output")
  [ -n "$next" ] || { cat "$root/tmp/output" >&2; fail "flowpipe new prints no next steps"; }
  run "a solver in Python" "$commands; $next"
  printed '4 boards read, 4 solved, 4 played, 4 accepted'
  run "comparing with solver-search" "$commands; $(compare_commands)"
  printed '4 boards: the same answers'
}

# The commands by which docs/stages-in-any-language.md compares a solver in Python.
compare_commands() {
  python3 - docs/stages-in-any-language.md <<'END'
import pathlib, re, sys
blocks = re.findall(r"^```sh\n(.*?)^```$", pathlib.Path(sys.argv[1]).read_text(), re.DOTALL | re.MULTILINE)
found = [block for block in blocks if "flowpipe compare" in block]
if len(found) != 1:
    sys.exit(f"{sys.argv[1]}: {len(found)} blocks compare solvers, and one should")
print(found[0])
END
}

install_packages() {
  inside apt-get install -qq -y --no-install-recommends "$@" >"$root/tmp/apt.log" 2>&1 ||
    { tail -n 20 "$root/tmp/apt.log" >&2; fail "these packages can't be installed: $*"; }
}
remove_packages() {
  inside apt-get autoremove -qq -y --purge "$@" >"$root/tmp/apt.log" 2>&1 ||
    { tail -n 20 "$root/tmp/apt.log" >&2; fail "these packages can't be removed: $*"; }
}
nothing_is_left() {
  listing >"$root/tmp/after"
  diff "$root/tmp/before" "$root/tmp/after" || fail "these files are left or missing (above)"
}

! inside sh -c 'command -v cc || command -v cargo' || fail "the fresh Debian has a toolchain"
inside apt-get update -qq
listing >"$root/tmp/before"

printf '\n== the Debian package\n' >&2
cp "$deb" "$root/tmp/flowpipe.deb"
install_packages /tmp/flowpipe.deb python3 man-db
try /usr/bin
run "man" "man --pager=cat flowpipe && man --pager=cat flowpipe-run"
printed 'flowpipe-run(1)'
for file in bash-completion/completions/flowpipe zsh/vendor-completions/_flowpipe fish/vendor_completions.d/flowpipe.fish \
  systemd/user/flowpipe@.service doc/flowpipe/copyright doc/flowpipe/changelog.gz doc/flowpipe/THIRD-PARTY-NOTICES.txt.gz; do
  [ -s "$root/usr/share/$file" ] || fail "the Debian package has no /usr/share/$file"
done
python3 .ci/packaged_links.py "$root/usr/share/doc/flowpipe" --check
inside dpkg --verify flowpipe
remove_packages flowpipe
[ -z "$(find "$root/usr" "$root/etc" "$root/opt" -iname '*flowpipe*')" ] ||
  fail "removed, there is: $(find "$root/usr" "$root/etc" "$root/opt" -iname '*flowpipe*')"

printf '\n== the tarball\n' >&2
# Not with what the Debian package depends on, but with what the documentation names.
# apt keeps bsdextrautils, which man-db brought, since a package of the base system recommends it.
remove_packages python3 man-db bsdextrautils
nothing_is_left
read -ra libraries < <(sed -n 's/^ *`apt-get install \(libopencv[^`]*\)`.*/\1/p' docs/install.md)
[ ${#libraries[@]} -gt 0 ] || fail "docs/install.md does not name the libraries that the tarball needs"
install_packages "${libraries[@]}" python3
tar --extract --file "$tarball" --directory "$root/opt"
unpacked=/opt/$(basename "$tarball" .tar.gz)
try "$unpacked/bin"
python3 .ci/packaged_links.py "$root$unpacked/share/doc/flowpipe" --check
rm -r "${root:?}$unpacked"
remove_packages "${libraries[@]}" python3

printf '\n== nothing is left\n' >&2
nothing_is_left
echo "packages: installed in a fresh Debian 12, played, solved, compared, removed; nothing is left"
