//! Spoiled library files are refused, or loaded only by the scanner. This process is not affected.

use std::path::PathBuf;
use std::sync::OnceLock;

use flowpipe_config::reader::Plugins as _;
use flowpipe_host::catalogue::Catalogue;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use crate::bounds::{MIB, within};
use crate::common::compile;
use crate::manifests::scanner;

/// A plugin's bytes.
fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = compile("bad.c", folder.path(), "good", &[]);
        std::fs::read(path).unwrap()
    })
}

/// What is done to the bytes.
#[derive(Clone, Debug)]
enum Spoil {
    Byte(Index, u8),
    Number(Index, u64),
    /// In the headers, where it matters most.
    Head(usize, u8),
    Cut(Index),
    Long(usize),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let number = prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(1 << 63),
        Just(u64::from(u32::MAX)),
        Just(1 << 20),
        any::<u64>(),
    ];
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Spoil::Byte(at, byte)),
        4 => (any::<Index>(), number).prop_map(|(at, number)| Spoil::Number(at, number)),
        4 => (0..1024_usize, any::<u8>()).prop_map(|(at, byte)| Spoil::Head(at, byte)),
        1 => any::<Index>().prop_map(Spoil::Cut),
        1 => (0..4096_usize).prop_map(Spoil::Long),
    ]
}

fn apply(bytes: &mut Vec<u8>, spoil: &Spoil) {
    if bytes.is_empty() {
        return;
    }
    match spoil {
        Spoil::Byte(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Spoil::Number(at, number) => {
            // Numbers of headers and tables lie at multiples of their size.
            let at = at.index(bytes.len()) & !7;
            let number = number.to_le_bytes();
            let end = bytes.len().min(at + 8);
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
        Spoil::Head(at, byte) => {
            if let Some(place) = bytes.get_mut(*at) {
                *place = *byte;
            }
        }
        Spoil::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Spoil::Long(more) => bytes.extend(std::iter::repeat_n(0, *more)),
    }
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoiled.so");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_libraries_do_no_harm(spoils in prop::collection::vec(spoil(), 1..6)) {
        let mut bytes = good().to_vec();
        for spoil in &spoils {
            apply(&mut bytes, spoil);
        }
        let (_folder, path) = file(&bytes);
        let catalogue = within(160 * MIB, &bytes, || Catalogue::of_file(&path, &scanner()));
        let known = catalogue.stages().len() + catalogue.refused().len();
        prop_assert!(known > 0, "it is neither listed nor refused");
    }
}

#[test]
fn the_bytes_are_good_as_they_are() {
    let (_folder, path) = file(good());
    assert_eq!(Catalogue::of_file(&path, &scanner()).names(), ["fine"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_claims_to_be_huge_is_not_read_whole() {
    // A table of symbols of a tebibyte, in a file that is as long and has no bytes.
    let mut bytes = good().to_vec();
    let number =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let sections = usize::try_from(number(&bytes, 0x28)).unwrap();
    let count = usize::from(u16::from_le_bytes([bytes[0x3c], bytes[0x3d]]));
    let dynamic_symbols = (0..count)
        .map(|index| sections + index * 64)
        .find(|&at| bytes[at + 4] == 11)
        .unwrap();
    let size = 1_u64 << 40;
    bytes[dynamic_symbols + 0x20..dynamic_symbols + 0x28].copy_from_slice(&size.to_le_bytes());
    let (_folder, path) = file(&bytes);
    let made = std::fs::File::options().write(true).open(&path).unwrap();
    if made.set_len(size + (1 << 20)).is_err() {
        // Not every file system has so long files.
        return;
    }
    let catalogue = within(160 * MIB, &bytes, || Catalogue::of_file(&path, &scanner()));
    assert!(catalogue.stages().is_empty());
    assert!(
        !catalogue.refused()[0].was_loaded,
        "{:?}",
        catalogue.refused()
    );
}
