#!/usr/bin/env bash
# Tests of the packages: builds them, and in a fresh Debian 12 without a toolchain installs each, runs the packaged
# replay pipeline, solves a puzzle, removes it, and checks that nothing is left. Needs root, debootstrap and a network.
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

try() {
  local program=$1 share=$2
  mkdir -p "$root/tmp/home"
  chmod 777 "$root/tmp/home"
  as_user "cd $share && $program run pipelines/replay.toml 2>&1" >"$root/tmp/replayed" ||
    { cat "$root/tmp/replayed" >&2; fail "the replay pipeline failed in a fresh Debian"; }
  grep -q '11 boards read, 11 solved, 11 played, 11 accepted' "$root/tmp/replayed" ||
    { cat "$root/tmp/replayed" >&2; fail "the replay pipeline does not play all boards in a fresh Debian"; }
  as_user "printf 'A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n' | $program solve -" | grep 'solved by solver-search' ||
    fail "the puzzle was not solved in a fresh Debian"
  # Every plugin loads, not only those of the pipeline. There is no display, which is a warning.
  as_user "cd /tmp/home && $program doctor" || fail "flowpipe doctor finds a problem in a fresh Debian"
  as_user "cd /tmp/home && $program plugins --json" >"$root/tmp/plugins"
  # Beside the program, in /usr/bin, are libraries that are no plugins.
  ! grep -q '"plugin": true' "$root/tmp/plugins" || { cat "$root/tmp/plugins" >&2; fail "plugins are refused in a fresh Debian"; }
}

! inside sh -c 'command -v cc || command -v cargo' || fail "the fresh Debian has a toolchain"
inside apt-get update -qq
listing >"$root/tmp/before"

printf '\n== the Debian package\n' >&2
cp "$deb" "$root/tmp/flowpipe.deb"
inside apt-get install -qq -y --no-install-recommends /tmp/flowpipe.deb >"$root/tmp/apt.log" 2>&1 ||
  { tail -n 20 "$root/tmp/apt.log" >&2; fail "the Debian package can't be installed"; }
try flowpipe /usr/share/flowpipe
for file in man/man1/flowpipe.1.gz bash-completion/completions/flowpipe doc/flowpipe/copyright; do
  [ -s "$root/usr/share/$file" ] || fail "the Debian package has no /usr/share/$file"
done

printf '\n== the tarball, with the libraries of the Debian package\n' >&2
inside apt-get remove -qq -y flowpipe >/dev/null
[ -z "$(find "$root/usr" "$root/etc" "$root/opt" -iname '*flowpipe*')" ] ||
  fail "removed, there is: $(find "$root/usr" "$root/etc" "$root/opt" -iname '*flowpipe*')"
tar --extract --file "$tarball" --directory "$root/opt"
unpacked=/opt/$(basename "$tarball" .tar.gz)
try "$unpacked/bin/flowpipe" "$unpacked/share/flowpipe"
rm -r "${root:?}$unpacked"

printf '\n== nothing is left\n' >&2
inside apt-get autoremove -qq -y --purge >/dev/null
listing >"$root/tmp/after"
diff "$root/tmp/before" "$root/tmp/after" || fail "these files are left or missing (above)"
echo "packages: installed in a fresh Debian 12, played, solved, removed; nothing is left"
