//! What an ELF library is linked with, and where the system's loader looks for it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::FileHeader as _;

use super::part::{Part, Source};
use crate::library::pinned_file::PinnedFile;

/// The dynamic section of a library, as far as it names other libraries. Folders are absolute; others are left out, for they
/// depend on where the program was started.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// The libraries (DT_NEEDED): names, or absolute paths.
    pub needed: Vec<PathBuf>,
    /// Folders in which these and what they need themselves are looked for (DT_RPATH).
    pub rpath: Vec<PathBuf>,
    /// Folders in which these are looked for (DT_RUNPATH). Where there are any, `rpath` is ignored.
    pub runpath: Vec<PathBuf>,
}

/// The header of libraries that can be loaded into this process.
#[cfg(target_pointer_width = "64")]
type Header = elf::FileHeader64<object::Endianness>;
#[cfg(not(target_pointer_width = "64"))]
type Header = elf::FileHeader32<object::Endianness>;

/// Libraries of one library, and entries of one list of folders.
const MOST: usize = 256;

impl Linking {
    /// That of the library at an absolute path. `None`: it is no ELF file for this processor's width, or it is damaged.
    pub fn of(path: &Path) -> Option<Self> {
        let file = open(path)?;
        let length = file.file().metadata().ok()?.len();
        let source = Source::of(file.file());
        Self::read(source.whole(length), path.parent()?)
    }

    fn read(part: Part<'_>, origin: &Path) -> Option<Self> {
        let header = Header::parse(part).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, part).ok()?;
        let dynamic = sections.dynamic_table(endian, part).ok()?;
        let mut linking = Self::default();
        for entry in &dynamic {
            let text = || dynamic.string(entry).ok();
            match entry.tag {
                elf::DT_NEEDED if linking.needed.len() < MOST => {
                    linking
                        .needed
                        .extend(text().and_then(|it| needed(it, origin)));
                }
                elf::DT_RPATH => linking.rpath = folders(text().unwrap_or_default(), origin),
                elf::DT_RUNPATH => linking.runpath = folders(text().unwrap_or_default(), origin),
                _ => {}
            }
        }
        Some(linking)
    }
}

/// Whether a path leads to an ELF file that can be loaded into a program. A core dump can't.
pub fn is_elf_library(path: &Path) -> bool {
    use std::io::Read as _;
    /// The identification's length, and where in it the byte order is.
    const IDENTIFICATION: usize = 16;
    const EI_DATA: usize = 5;
    /// The magic number, the rest of the identification, and the type.
    const LENGTH: usize = IDENTIFICATION + 2;
    let mut first = [0; LENGTH];
    let read = open(path).map(|it| {
        let mut file: &File = it.file();
        file.read_exact(&mut first)
    });
    let kind = [first[LENGTH - 2], first[LENGTH - 1]];
    let is_big_endian = first[EI_DATA] == elf::ELFDATA2MSB.0;
    let kind = match is_big_endian {
        true => u16::from_be_bytes(kind),
        false => u16::from_le_bytes(kind),
    };
    matches!(read, Some(Ok(()))) && first.starts_with(&elf::ELFMAG) && kind == elf::ET_DYN.0
}

/// Nothing but a regular file is opened.
fn open(path: &Path) -> Option<PinnedFile> {
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    is_file.then(|| PinnedFile::open(path).ok())?
}

/// A name that is looked for, or a path that is opened as it is.
fn needed(text: &[u8], origin: &Path) -> Option<PathBuf> {
    match text {
        b"" | b"." | b".." => None,
        name if !name.contains(&b'/') => Some(OsStr::from_bytes(name).into()),
        path => absolute(path, origin),
    }
}

/// The folders of a list that are absolute.
fn folders(list: &[u8], origin: &Path) -> Vec<PathBuf> {
    let entries = list.split(|&byte| byte == b':');
    let folders = entries.filter_map(|entry| absolute(entry, origin));
    folders.take(MOST).collect()
}

/// A path with `$ORIGIN`, the library's own folder, put in. `None`: it is relative, or has other variables.
fn absolute(text: &[u8], origin: &Path) -> Option<PathBuf> {
    let rest = [&b"$ORIGIN"[..], b"${ORIGIN}"];
    let rest = rest.iter().find_map(|name| text.strip_prefix(*name));
    let plain = rest.unwrap_or(text);
    let is_whole = plain.is_empty() || plain.starts_with(b"/");
    if plain.contains(&b'$') || rest.is_some() && !is_whole {
        return None;
    }
    let path = match rest {
        Some(rest) => [origin.as_os_str().as_bytes(), rest].concat(),
        None => text.to_vec(),
    };
    let path = Path::new(OsStr::from_bytes(&path)).to_owned();
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_absolute() {
        let of = |list: &str| -> Vec<String> {
            let folders = folders(list.as_bytes(), Path::new("/a/$b"));
            folders.iter().map(|it| it.display().to_string()).collect()
        };
        assert_eq!(of("/x:/y/../z"), ["/x", "/y/../z"]);
        assert_eq!(
            of("$ORIGIN:${ORIGIN}/../c:$ORIGIN/d"),
            ["/a/$b", "/a/$b/../c", "/a/$b/d"]
        );
        let none: [&str; 0] = [];
        for hostile in [
            "",
            ":",
            ".",
            "..",
            "x/y",
            "./$ORIGIN",
            "$ORIGINAL/x",
            "${ORIGIN}x",
            "$ORIGIN/$LIB",
            "/x/$PLATFORM",
            "${ORIGIN",
            "\u{0}",
        ] {
            assert_eq!(of(hostile), none, "{hostile:?}");
        }
        assert_eq!(of(&"/x:".repeat(10_000)).len(), MOST);
    }

    #[test]
    fn names_are_not_paths() {
        let of = |text: &str| needed(text.as_bytes(), Path::new("/a"));
        assert_eq!(of("libb.so.1"), Some("libb.so.1".into()));
        assert_eq!(of("$ORIGIN/libb.so"), Some("/a/libb.so".into()));
        assert_eq!(of("../libb.so"), None);
        assert_eq!(of(".."), None);
    }

    #[test]
    fn this_program_is_linked_with_others() {
        let itself = std::env::current_exe().unwrap();
        assert!(is_elf_library(&itself));
        let linking = Linking::of(&itself).unwrap();
        let has_c = |it: &PathBuf| it.to_string_lossy().starts_with("libc.");
        assert!(linking.needed.iter().any(has_c), "{linking:?}");
        assert_eq!(Linking::of(Path::new(file!())), None);
        assert_eq!(Linking::of(Path::new("/dev/null")), None);
        assert!(!is_elf_library(Path::new("/")) && !is_elf_library(Path::new("/nowhere")));
        // As a core dump is, which holds whatever a process had in its memory.
        let folder = tempfile::tempdir().unwrap();
        let core = folder.path().join("core");
        let mut bytes = std::fs::read(&itself).unwrap()[..64].to_vec();
        bytes[16..18].copy_from_slice(&elf::ET_CORE.0.to_ne_bytes());
        std::fs::write(&core, bytes).unwrap();
        assert!(!is_elf_library(&core));
    }
}
