#!/usr/bin/env bash
# Tests of `./x install` and `./x uninstall`: what is installed runs, also elsewhere, and nothing is left of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Nothing of the user's own is used.
export XDG_DATA_HOME=$place/data XDG_CACHE_HOME=$place/cache
unset FLOWPIPE_PLUGIN_PATH FLOWPIPE_LOG
prefix="$place/a prefix"

fail() {
  printf '\n.ci/test_install.sh: %s\n' "$*" >&2
  exit 1
}

# Runs what must fail, with a message.
refused() {
  local message=$1
  shift
  if "$@" >"$place/output" 2>&1; then fail "did not fail: $*"; fi
  grep -qF -- "$message" "$place/output" || fail "no '$message' in: $(cat "$place/output")"
}

runs() {
  (cd "$1/share/flowpipe" && "$1/bin/flowpipe" run pipelines/replay.toml 2>&1) | grep -q '11 boards read, 11 solved, 11 played, 11 accepted' ||
    fail "the replay in $1 does not play all boards"
  printf 'A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n' | "$1/bin/flowpipe" solve - | grep -q 'solved by solver-search' ||
    fail "the program in $1 solves nothing"
}

# A file of somebody else is in the way.
mkdir -p "$prefix/bin"
echo precious >"$prefix/bin/flowpipe"
refused 'was not installed by ./x install' ./x install "$prefix"
[ "$(cd "$prefix" && find . -type f)" = ./bin/flowpipe ] || fail "files were written although one was in the way"
rm "$prefix/bin/flowpipe"
rmdir "$prefix/bin"

# A folder of the prefix is a link that leads elsewhere.
mkdir "$place/elsewhere"
ln -s ../elsewhere "$prefix/lib"
refused 'leads out of' ./x install "$prefix"
[ -z "$(ls "$place/elsewhere")" ] && [ "$(ls "$prefix")" = lib ] || fail "files were written through a link"
rm "$prefix/lib"
rmdir "$place/elsewhere" "$prefix"

./x install "$prefix"
runs "$prefix"
for file in share/man/man1/flowpipe.1 share/man/man1/flowpipe-run.1 share/man/man1/flowpipe-plugins-install.1 \
  share/bash-completion/completions/flowpipe share/zsh/site-functions/_flowpipe \
  share/fish/vendor_completions.d/flowpipe.fish share/systemd/user/flowpipe@.service share/doc/flowpipe/THIRD-PARTY-NOTICES.txt \
  share/doc/flowpipe/LICENSE-MIT share/doc/flowpipe/LICENSE-APACHE; do
  [ -s "$prefix/$file" ] || fail "$file is missing or empty"
done
# The manifest lists all files and no others.
diff <(cd "$prefix" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) \
  <(grep -v '/$' "$prefix/share/flowpipe/manifest.txt" | LC_ALL=C sort) || fail "the manifest differs from what is there"
# A prefix can be moved.
mv "$prefix" "$place/moved"
runs "$place/moved"
mv "$place/moved" "$prefix"

# An update removes what the version before had installed, and nothing else.
echo old >"$prefix/share/flowpipe/pipelines/old.toml"
echo share/flowpipe/pipelines/old.toml >>"$prefix/share/flowpipe/manifest.txt"
echo mine >"$prefix/share/flowpipe/pipelines/mine.toml"
./x install "$prefix"
[ ! -e "$prefix/share/flowpipe/pipelines/old.toml" ] || fail "a file of the version before is left"

# A manifest that leads elsewhere removes nothing.
echo outside >"$place/outside"
cp "$prefix/share/flowpipe/manifest.txt" "$place/manifest"
echo ../outside >>"$prefix/share/flowpipe/manifest.txt"
refused 'lead out of' ./x uninstall "$prefix"
[ -e "$place/outside" ] && [ -e "$prefix/bin/flowpipe" ] || fail "a forged manifest removed files"
cp "$place/manifest" "$prefix/share/flowpipe/manifest.txt"

for line in ' ../outside' '../outside ' 'link/outside'; do
  ln -sfn .. "$prefix/link"
  echo "$line" >>"$prefix/share/flowpipe/manifest.txt"
  refused 'lead' ./x uninstall "$prefix"
  [ -e "$place/outside" ] && [ -e "$prefix/bin/flowpipe" ] || fail "the forged line '$line' removed files"
  cp "$place/manifest" "$prefix/share/flowpipe/manifest.txt"
done

# So does its last line, without a line feed.
printf link/outside >>"$prefix/share/flowpipe/manifest.txt"
refused 'leads out of' ./x uninstall "$prefix"
[ -e "$place/outside" ] || fail "the forged last line removed a file"
cp "$place/manifest" "$prefix/share/flowpipe/manifest.txt"
rm "$prefix/link"

# One prefix at a time, and never the root by mistake.
refused 'there is one PREFIX' ./x uninstall "$prefix" "$place/other"
refused 'HOME' env --unset HOME ./x uninstall

./x uninstall "$prefix"
[ "$(cd "$prefix" && find . -type f)" = ./share/flowpipe/pipelines/mine.toml ] ||
  fail "uninstalled, there is: $(cd "$prefix" && find . -type f)"
refused 'has installed nothing' ./x uninstall "$prefix"
rm -r "$prefix"

./x install "$prefix"
./x uninstall "$prefix"
[ ! -e "$prefix" ] || fail "uninstalled, there is: $(find "$prefix")"
echo "installation: installed, ran, moved, updated, uninstalled; nothing is left"
