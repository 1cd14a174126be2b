//! Inspects a library's file before the system loads it: loading runs its constructors, and a truncated ELF file kills the
//! process instead of failing. A file that does not export the entry symbol is no plugin.
//!
//! # Layout
//! - `part`: a file that is read within bounds. `linking`: what an ELF library is linked with.

#[cfg(target_os = "linux")]
pub mod linking;
mod part;

use std::fs::File;

use flowpipe_abi as abi;
use object::read::NameOrOrdinal;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader as _};
use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};
use object::{Architecture, BinaryFormat, FileKind, Object as _, ObjectKind};
use part::{Part, Source};

/// Why a file is not loaded, in words that fit behind its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unloadable {
    /// Nothing is wrong with it: it is no plugin.
    #[error("{0}")]
    NotAPlugin(String),
    /// It looks like a plugin, and can't be loaded.
    #[error("{0}")]
    Damaged(String),
}

use Unloadable::{Damaged, NotAPlugin};

/// Checks that a file is a dynamic library for this program which exports the entry symbol, and that it is whole.
///
/// # Errors
/// Why it must not be loaded.
pub fn inspect(file: &File) -> Result<(), Unloadable> {
    let length = match file.metadata() {
        Ok(metadata) if !metadata.is_file() => return Err(NotAPlugin("not a file".into())),
        Ok(metadata) => metadata.len(),
        Err(error) => return Err(Damaged(format!("can't be read: {error}"))),
    };
    if length == 0 {
        return Err(NotAPlugin("the file is empty".into()));
    }
    let source = Source::of(file);
    inspect_part(source.whole(length), BinaryFormat::native_object(), true)
}

/// `native`: what the system loads.
fn inspect_part(part: Part<'_>, native: BinaryFormat, may_be_fat: bool) -> Result<(), Unloadable> {
    let foreign = |format: &str| NotAPlugin(format!("a file of another system ({format})"));
    let kind = FileKind::parse(part).map_err(|_| not_a_library())?;
    match (kind, native) {
        (FileKind::Elf64, BinaryFormat::Elf) => {
            let elf = ElfFile::<object::elf::FileHeader64<object::Endianness>, _>::parse(part);
            is_whole(elf, part.length)?;
        }
        (FileKind::Elf32, BinaryFormat::Elf) => {
            let elf = ElfFile::<object::elf::FileHeader32<object::Endianness>, _>::parse(part);
            is_whole(elf, part.length)?;
        }
        (FileKind::MachO64 | FileKind::MachO32, BinaryFormat::MachO) => {}
        (FileKind::Pe64 | FileKind::Pe32, BinaryFormat::Coff) => {}
        (FileKind::MachOFat32, BinaryFormat::MachO) if may_be_fat => {
            let fat = MachOFatFile32::parse(part).map_err(damaged)?;
            return inspect_part(of_this_machine(part, fat.arches())?, native, false);
        }
        (FileKind::MachOFat64, BinaryFormat::MachO) if may_be_fat => {
            let fat = MachOFatFile64::parse(part).map_err(damaged)?;
            return inspect_part(of_this_machine(part, fat.arches())?, native, false);
        }
        (FileKind::Elf64 | FileKind::Elf32, _) => return Err(foreign("ELF")),
        (FileKind::Pe64 | FileKind::Pe32, _) => return Err(foreign("PE")),
        (FileKind::MachO64 | FileKind::MachO32, _) => return Err(foreign("Mach-O")),
        (FileKind::MachOFat32 | FileKind::MachOFat64, _) => return Err(foreign("Mach-O")),
        _ => return Err(not_a_library()),
    }
    let object = object::File::parse(part).map_err(damaged)?;
    if object.kind() != ObjectKind::Dynamic {
        let text = "an object file, but not a dynamic library";
        return Err(NotAPlugin(text.into()));
    }
    if !exports_entry(&object)? {
        let text = "not a flowpipe plugin: it exports no `flowpipe_entry`";
        return Err(NotAPlugin(text.into()));
    }
    match is_of_this_machine(object.architecture()) {
        true => Ok(()),
        false => Err(Damaged(format!(
            "made for another processor ({:?})",
            object.architecture()
        ))),
    }
}

fn exports_entry<'data>(object: &object::File<'data, Part<'data>>) -> Result<bool, Unloadable> {
    let symbol = abi::ENTRY_SYMBOL.to_bytes();
    for export in object.exports().map_err(damaged)? {
        // What has no name that can be read is not ours.
        let Ok(export) = export else { continue };
        let NameOrOrdinal::Name(name) = export.name() else {
            continue;
        };
        // Mach-O puts an underscore before the names of C.
        let name = match object.format() {
            BinaryFormat::MachO => name.strip_prefix(b"_").unwrap_or(name),
            _ => name,
        };
        if name == symbol {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The system's loader maps what the headers promise, without a look at the file's length.
fn is_whole<'data, Header: FileHeader>(
    elf: object::Result<ElfFile<'data, Header, Part<'data>>>,
    length: u64,
) -> Result<(), Unloadable> {
    let elf = elf.map_err(|error| Damaged(format!("truncated or damaged: {error}")))?;
    let header = elf.elf_header();
    let endian = elf.endian();
    let sections = u64::from(header.e_shentsize(endian)) * u64::from(header.e_shnum(endian));
    let sections_end = header.e_shoff(endian).into().checked_add(sections);
    let segments = elf.elf_program_headers().iter().map(|segment| {
        let (offset, size) = segment.file_range(endian);
        offset.checked_add(size)
    });
    for end in segments.chain([sections_end]) {
        match end {
            Some(end) if end <= length => {}
            Some(end) => {
                return Err(Damaged(format!(
                    "truncated: {length} bytes, but its parts reach to byte {end}"
                )));
            }
            None => {
                return Err(Damaged("damaged: its parts lie outside any file".into()));
            }
        }
    }
    Ok(())
}

fn not_a_library() -> Unloadable {
    NotAPlugin("not a dynamic library".into())
}

fn damaged(error: object::Error) -> Unloadable {
    Damaged(format!("truncated or damaged: {error}"))
}

/// Whether the system would load code of this processor into this program.
fn is_of_this_machine(architecture: Architecture) -> bool {
    let name = match architecture {
        Architecture::X86_64 | Architecture::X86_64_X32 => "x86_64",
        Architecture::I386 => "x86",
        Architecture::Aarch64 | Architecture::Aarch64_Ilp32 => "aarch64",
        Architecture::Arm => "arm",
        Architecture::Riscv64 => "riscv64",
        // Others the system itself refuses.
        _ => return true,
    };
    let known = ["x86_64", "x86", "aarch64", "arm", "riscv64"];
    name == std::env::consts::ARCH || !known.contains(&std::env::consts::ARCH)
}

/// The part of a Mach-O file for several processors that is for this one.
fn of_this_machine<'data, Arch: FatArch>(
    part: Part<'data>,
    all: &[Arch],
) -> Result<Part<'data>, Unloadable> {
    let fits = |arch: &&Arch| is_of_this_machine(arch.architecture());
    let Some(arch) = all.iter().find(fits) else {
        return Err(Damaged("made for other processors".into()));
    };
    let (offset, length) = arch.file_range();
    part.within(offset, length)
        .ok_or_else(|| Damaged("truncated or damaged: a part of it is missing".into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// As what the system has that loads such files.
    fn inspect_as(native: BinaryFormat, bytes: &[u8]) -> Result<(), Unloadable> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let source = Source::of(&file);
        inspect_part(source.whole(bytes.len() as u64), native, true)
    }

    /// Libraries that export a number as `flowpipe_entry`, for x86-64: linked by lld out of an object file that has nothing else.
    const LIBRARIES: [(BinaryFormat, &str, &[u8]); 2] = [
        (
            BinaryFormat::Coff,
            "PE",
            include_bytes!("../../../tests/fixtures/foreign/entry.dll"),
        ),
        (
            BinaryFormat::MachO,
            "Mach-O",
            include_bytes!("../../../tests/fixtures/foreign/entry.dylib"),
        ),
    ];

    /// What is found in a file that is whole and exports the entry.
    fn found(result: Result<(), Unloadable>) {
        match cfg!(target_arch = "x86_64") {
            true => assert_eq!(result, Ok(())),
            false => assert!(result.unwrap_err().to_string().contains("processor")),
        }
    }

    /// The bytes with the entry named otherwise.
    fn without_entry(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let name = b"flowpipe_entry";
        for at in 0..bytes.len() - name.len() {
            if bytes[at..].starts_with(name) {
                bytes[at] = b'x';
            }
        }
        bytes
    }

    #[test]
    fn the_entry_is_found_in_libraries_of_all_systems() {
        for (native, _, bytes) in LIBRARIES {
            found(inspect_as(native, bytes));
            let none = inspect_as(native, &without_entry(bytes)).unwrap_err();
            assert!(
                matches!(&none, NotAPlugin(text) if text.contains("exports no")),
                "{none}"
            );
        }
    }

    #[test]
    fn libraries_of_another_system_are_no_plugins() {
        for (_, name, bytes) in LIBRARIES {
            let reason = inspect_as(BinaryFormat::Elf, bytes).unwrap_err();
            let text = format!("a file of another system ({name})");
            assert_eq!(reason, NotAPlugin(text));
        }
    }

    #[test]
    fn of_a_file_for_several_processors_the_part_for_this_one_counts() {
        let (native, _, dylib) = LIBRARIES[1];
        // A header and two entries, big-endian: processor, its kind, offset, size, alignment.
        let numbers = |numbers: [u32; 12]| numbers.map(u32::to_be_bytes).concat();
        let (arm, x86_64, start) = (0x0100_000c, 0x0100_0007, 4096);
        let fat = |first: u32, size: u32| {
            let mut bytes = numbers([
                0xcafe_babe,
                2,
                first,
                0,
                0,
                1,
                0,
                x86_64,
                3,
                start,
                size,
                12,
            ]);
            bytes.resize(start as usize, 0);
            [bytes, dylib.to_vec()].concat()
        };
        let size = dylib.len() as u32;
        let result = inspect_as(native, &fat(arm, size));
        if cfg!(target_arch = "x86_64") {
            assert_eq!(result, Ok(()));
            let reason = inspect_as(native, &fat(arm, size + 1)).unwrap_err();
            assert!(
                matches!(&reason, Damaged(text) if text.contains("missing")),
                "{reason}"
            );
        } else {
            result.unwrap_err();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_shorter_file_is_refused() {
        // Tests are position-independent programs, which ELF cannot distinguish from libraries.
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = |bytes: &[u8]| inspect_as(BinaryFormat::Elf, bytes).unwrap_err();
        let whole = elf(&bytes);
        assert!(
            matches!(&whole, NotAPlugin(text) if text.contains("exports no")),
            "{whole}"
        );
        for keep in [63, 64, 500, bytes.len() / 2, bytes.len() - 1] {
            let reason = elf(&bytes[..keep]);
            assert!(
                matches!(reason, Damaged(_)),
                "{keep} of {} bytes: {reason}",
                bytes.len()
            );
        }
    }
}
