# Installation and packages, sourced by ./x: `install_to`, `uninstall_from`, `dist`.
#
# All of them have one layout, below a prefix: bin, lib/flowpipe (plugins, and the library that connects machines),
# share/flowpipe/pipelines (with frames), completions, man pages, the unit of systemd, licences. The program finds its
# plugins relative to itself, so that a prefix can be moved.

# release, or dev: what ./x test has built (for tests of this file).
package_profile=${FLOWPIPE_PACKAGE_PROFILE:-release}
# The list of what is installed, below the prefix. A line that ends in / is a folder that the installation created.
manifest=share/flowpipe/manifest.txt

package_version() { sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml; }

# Builds what is packaged.
build_package() {
  say "building flowpipe ($package_profile)"
  case $package_profile in
    release) cargo build --release --locked --workspace ;;
    dev) cargo build --locked --workspace --lib --bins --tests --examples ;;
    *) fail "FLOWPIPE_PACKAGE_PROFILE=$package_profile: it is release or dev" ;;
  esac
  notices
}

# Writes all files into a folder, as below a prefix.
stage() {
  local to=$1 target=${CARGO_TARGET_DIR:-target} built program plugin file
  case $package_profile in
    release) built=$target/release ;;
    *) built=$target/debug ;;
  esac
  rm -rf "$to"
  umask 022
  mkdir -p "$to/bin" "$to/lib/flowpipe" "$to/share/flowpipe/pipelines/frames" "$to/share/doc/flowpipe" \
    "$to/share/bash-completion/completions" "$to/share/zsh/site-functions" "$to/share/fish/vendor_completions.d" "$to/share/systemd/user"
  program=$to/bin/flowpipe
  install -m 755 "$built/flowpipe" "$program"
  for plugin in plugins/*/; do
    plugin=$(basename "$plugin")
    file=lib${plugin//-/_}.so
    [ -e "$built/$file" ] || fail "the plugin $plugin was not built: there is no $built/$file"
    install -m 644 "$built/$file" "$to/lib/flowpipe/$file"
  done
  # What connects machines, loaded when a pipeline has several.
  install -m 644 "$built/libflowpipe_zenoh.so" "$to/lib/flowpipe/libflowpipe_zenoh.so"
  # Release builds are stripped already.
  [ "$package_profile" = release ] || strip --strip-unneeded "$program" "$to"/lib/flowpipe/*.so
  install -m 644 pipelines/*.toml "$to/share/flowpipe/pipelines"
  install -m 644 pipelines/*.png "$to/share/flowpipe/pipelines"
  install -m 644 pipelines/frames/* "$to/share/flowpipe/pipelines/frames"
  "$program" completions bash >"$to/share/bash-completion/completions/flowpipe"
  "$program" completions zsh >"$to/share/zsh/site-functions/_flowpipe"
  "$program" completions fish >"$to/share/fish/vendor_completions.d/flowpipe.fish"
  "$program" man "$to/share/man/man1"
  install -m 644 core/cli/systemd/flowpipe@.service "$to/share/systemd/user"
  chmod 644 "$to"/share/man/man1/*
  install -m 644 LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$target/THIRD-PARTY-NOTICES.txt" \
    "$to/share/doc/flowpipe"
  # The book, where `./x book` has built it.
  [ ! -d "$target/book" ] || cp -r "$target/book" "$to/share/doc/flowpipe/book"
  python3 .ci/packaged_links.py "$to/share/doc/flowpipe"
}

# The prefix of the command line, as a path from the root.
prefix_of() {
  local prefix=${1:-}
  [ $# -le 1 ] || fail "there is one PREFIX: $*"
  if [ -z "$prefix" ]; then prefix=${HOME:?HOME is not set: name a PREFIX}/.local; fi
  realpath --canonicalize-missing -- "$prefix"
}

# The files of a folder, relative to it, sorted.
files_of() { (cd "$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort); }

# Fails if a file below a prefix would be outside of it, because a folder on its path is a link.
stays_in() {
  local prefix=$1 file=$2 folder root
  root=$(realpath --canonicalize-missing -- "$prefix")
  folder=$(realpath --canonicalize-missing -- "$prefix/$(dirname -- "$file")")
  [ "$folder" = "$root" ] || [[ $folder == "${root%/}"/* ]] ||
    fail "$file leads out of $prefix through a link, to $folder: nothing was changed. Remove the link, or choose another prefix."
}

# The lines of an installation's manifest. Nothing that leads out of the prefix is a line of one, by itself or by a link.
installed_in() {
  local line
  [ -n "$1" ] || fail "there is no prefix"
  [ -f "$1/$manifest" ] || return 0
  ! grep -nE '^/|(^|/)\.\.(/|$)|^$|^[[:space:]]|[[:space:]]$' "$1/$manifest" >&2 ||
    fail "$1/$manifest has lines that lead out of $1 (above): it is not of flowpipe's making, and nothing was changed"
  # The last line may lack its end.
  while IFS= read -r line || [ -n "$line" ]; do
    stays_in "$1" "$line"
    printf '%s\n' "$line"
  done <"$1/$manifest"
}

# Renames a copy of a file to its place: what has the file open keeps it, and no link there is followed.
place_file() {
  local from=$1 to=$2 new
  [ ! -d "$to" ] || fail "$to is a folder, and a file belongs there: remove it"
  new=$(mktemp -- "$(dirname -- "$to")/.flowpipe-new.XXXXXX")
  cp -p -- "$from" "$new"
  mv -fT -- "$new" "$to"
}

# Creates a folder below a prefix, and notes each that did not exist.
make_folder() {
  local prefix=$1 folder=$2 list=$3
  [ ! -d "$prefix/$folder" ] || return 0
  if [ "$folder" = . ]; then
    mkdir -p "$prefix"
  else
    make_folder "$prefix" "$(dirname "$folder")" "$list"
    mkdir "$prefix/$folder"
  fi
  printf '%s/\n' "$folder" >>"$list"
}

install_to() {
  local prefix=$1 target=${CARGO_TARGET_DIR:-target} staged list old file
  build_package
  staged=$target/package/prefix
  stage "$staged"
  list=$(mktemp)
  old=$(mktemp)
  installed_in "$prefix" >"$old"
  # Files of others are not replaced. All are looked at before anything is written.
  files_of "$staged" | while IFS= read -r file; do
    stays_in "$prefix" "$file"
    if { [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; } && ! grep -qxF -- "$file" "$old"; then
      fail "$prefix/$file exists, and was not installed by ./x install: nothing was changed. Remove it, or choose another prefix."
    fi
  done
  say "installing into $prefix"
  umask 022
  grep '/$' "$old" >"$list" || true
  make_folder "$prefix" "$(dirname "$manifest")" "$list"
  while IFS= read -r file; do
    make_folder "$prefix" "$(dirname "$file")" "$list"
    place_file "$staged/$file" "$prefix/$file"
    printf '%s\n' "$file" >>"$list"
    # Written now, so that a failure in the middle can be uninstalled too.
    install_manifest "$prefix" "$list" "$old"
  done < <(files_of "$staged")
  # What an older version had installed.
  while IFS= read -r file; do
    [ "$file" = "$manifest" ] || grep -qxF -- "$file" "$list" || rm -f "$prefix/$file"
  done < <(grep -v '/$' "$old")
  install_manifest "$prefix" "$list" /dev/null
  rm -f "$list" "$old"
  "$prefix/bin/flowpipe" plugins show vision-opencv >/dev/null ||
    fail "the program is installed, but does not find or load its plugins: see '$prefix/bin/flowpipe doctor'"
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not in PATH: add it, or run $prefix/bin/flowpipe" ;;
  esac
  say "installed; try: flowpipe run replay"
}

# Writes the manifest: what is installed now, and what was before.
install_manifest() {
  local sorted
  sorted=$(mktemp)
  { cat "$2" "$3"; printf '%s\n' "$manifest"; } | LC_ALL=C sort -u >"$sorted"
  chmod 644 "$sorted"
  place_file "$sorted" "$1/$manifest"
  rm -f "$sorted"
}

uninstall_from() {
  local prefix=$1 list line
  [ -f "$prefix/$manifest" ] ||
    fail "$prefix/$manifest does not exist: ./x install has installed nothing in $prefix. Name the prefix that it was given."
  list=$(mktemp)
  installed_in "$prefix" >"$list"
  while IFS= read -r line; do
    rm -f "$prefix/$line"
  done < <(grep -v '/$' "$list")
  # The innermost first. Folders in which something of others lies stay.
  while IFS= read -r line; do
    [ "$line" = ./ ] || [ ! -d "$prefix/$line" ] || rmdir --ignore-fail-on-non-empty "$prefix/$line"
  done < <(grep '/$' "$list" | LC_ALL=C sort -r)
  if grep -qxF ./ "$list"; then rmdir --ignore-fail-on-non-empty "$prefix"; fi
  rm -f "$list"
  say "uninstalled from $prefix"
}

# The release of cargo-deb that builds the Debian package.
deb_version=3.8.0

# The system that the packages are for: OpenCV is linked dynamically, so that they run on no other.
package_system() { (. /etc/os-release && printf '%s%s' "$ID" "$VERSION_ID"); }

# Builds the tarball and the Debian package, into target/dist.
dist() {
  local target=${CARGO_TARGET_DIR:-target} version name system epoch to
  system=$(package_system)
  [ "$system" = debian12 ] ||
    fail "this is $system. The packages are for Debian 12, with its OpenCV: build them there (a container or chroot will do)."
  command -v dpkg-shlibdeps >/dev/null ||
    fail "dpkg-shlibdeps is missing, which finds what the package depends on: apt-get install dpkg-dev"
  # Without its own compression, which C code of an unoptimized build does: it runs xz.
  need_tool cargo-deb "$deb_version" --no-default-features
  build_package
  version=$(package_version)
  name=flowpipe-$version-$system-$(uname -m)
  epoch=$(git log -1 --format=%ct 2>/dev/null || date +%s)
  to=$target/dist
  rm -rf "$to" "$target/package"
  mkdir -p "$to" "$target/package"
  say "tarball"
  stage "$target/package/$name"
  tar --create --gzip --file "$to/$name.tar.gz" --directory "$target/package" \
    --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" "$name"
  say "Debian package"
  debian_package "$target/package/$name" "$version" "$epoch" "$to"
  (cd "$to" && sha256sum -- *.tar.gz *.deb >SHA256SUMS)
  say "wrote $to: $(cd "$to" && echo *)"
}

# Builds a Debian package of a staged prefix, as core/cli/Cargo.toml describes it.
debian_package() {
  local staged=$1 version=$2 epoch=$3 to=$4 target root doc
  target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
  # Whatever the profile, assets are searched here.
  root=$target/release/package/usr
  rm -rf "$target/release/package"
  mkdir -p "$root"
  cp -a "$staged/." "$root"
  # Debian's places and forms.
  doc=$root/share/doc/flowpipe
  mv "$root/share/zsh/site-functions" "$root/share/zsh/vendor-completions"
  {
    printf 'Upstream: https://github.com/flowpipe/flowpipe\nLicence: MIT or Apache-2.0\n\n'
    cat LICENSE-MIT
    printf '\nThe Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n\n'
    printf 'The licences of all that is built in are in /usr/share/doc/flowpipe/THIRD-PARTY-NOTICES.txt.gz.\n'
  } >"$target/release/package/copyright"
  rm "$doc/LICENSE-MIT" "$doc/LICENSE-APACHE"
  mv "$doc/CHANGELOG.md" "$doc/changelog"
  python3 .ci/packaged_links.py "$doc"
  gzip -9 --no-name "$doc/changelog" "$doc/THIRD-PARTY-NOTICES.txt" "$root"/share/man/man1/*.1
  # The build is stripped already.
  SOURCE_DATE_EPOCH=$epoch "$target/tools/bin/cargo-deb" deb --no-build --no-strip --locked --compress-system \
    --package flowpipe --output "$to/flowpipe_${version}_$(dpkg --print-architecture).deb" >&2
}
