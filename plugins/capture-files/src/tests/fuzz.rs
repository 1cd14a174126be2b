//! Pictures that are spoiled, also behind their checksums: no panic, no hang, and memory in proportion to the file.

#[path = "../../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../../../../tests/fuzz/spoil.rs"]
mod spoil;

use std::io::Cursor;

use bounds::{MIB, within};
use flowpipe_plugin::harness::Harness;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use proptest::prelude::*;
use serde_json::json;

use super::{checksum, stage};

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

const WORDS: &[&str] = &[
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "fcTL", "iCCP", "Exif", "MM", "\u{1}",
    "\u{10}", "\u{7f}",
];

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Small pictures of every layout.
fn good() -> Vec<Vec<u8>> {
    let picture = RgbImage::from_fn(19, 13, |x, y| Rgb([x as u8 * 9, y as u8 * 17, 40]));
    let picture = DynamicImage::ImageRgb8(picture);
    let layouts = [
        picture.clone(),
        picture.to_rgba8().into(),
        picture.to_luma8().into(),
        picture.to_luma_alpha8().into(),
        picture.to_rgb16().into(),
        picture.to_rgba16().into(),
    ];
    let mut good: Vec<_> = layouts
        .iter()
        .map(|it| encoded(it, ImageFormat::Png))
        .collect();
    good.push(encoded(&picture, ImageFormat::Jpeg));
    good.push(encoded(&layouts[2], ImageFormat::Jpeg));
    let exif =
        b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut turned = encoded(&picture, ImageFormat::Jpeg);
    turned.splice(2..2, exif.iter().copied());
    good.push(turned);
    good
}

/// A PNG whose chunks have the right checksums again, as far as there are chunks.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = SIGNATURE.len();
    while bytes.starts_with(SIGNATURE) && at + 12 <= bytes.len() {
        let length = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let end = at + 8 + length;
        if end + 4 > bytes.len() {
            break;
        }
        let sum = checksum(&bytes[at + 4..end]).to_be_bytes();
        bytes[end..end + 4].copy_from_slice(&sum);
        at = end + 4;
    }
    bytes
}

fn capture(folder: &tempfile::TempDir, bytes: &[u8]) -> Harness {
    let path = folder.path().join("1.png");
    std::fs::write(&path, bytes).unwrap();
    stage(json!({ "paths": path })).unwrap()
}

/// Decodes a file. What comes of it is a whole frame or an error in words.
fn try_picture(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = capture(&folder, bytes);
    within(32 * MIB + 150_000 * bytes.len(), bytes, || {
        let emitted = stage.tick().map_err(|error| error.to_string())?;
        let frame = emitted[0].frame.as_ref().unwrap();
        let info = frame.info().unwrap();
        let row = info.width as usize * info.format.bytes_per_pixel();
        assert!(row > 0 && frame.pixels().len() >= row * info.height as usize);
        Ok(())
    })
    .inspect_err(|error: &String| assert!(!error.contains("panicked"), "{error}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_files(bytes in spoil::spoiled(good(), WORDS)) {
        let _ = try_picture(&bytes);
        let _ = try_picture(&summed(bytes));
    }

    #[test]
    fn sizes_that_are_not_there(picture in 0..9_usize, width: u32, height: u32, bits in 0..33_u32) {
        let mut bytes = good().swap_remove(picture);
        let (width, height) = (width >> (bits % 32), height >> (31 - bits % 32));
        if bytes.starts_with(SIGNATURE) {
            bytes[16..20].copy_from_slice(&width.to_be_bytes());
            bytes[20..24].copy_from_slice(&height.to_be_bytes());
            bytes = summed(bytes);
        } else {
            set_jpeg_size(&mut bytes, width as u16, height as u16);
        }
        let _ = try_picture(&bytes);
    }
}

fn set_jpeg_size(bytes: &mut [u8], width: u16, height: u16) {
    // A frame's header: marker, length, bits, height, width.
    let header = bytes
        .windows(2)
        .position(|two| matches!(two, [0xff, 0xc0 | 0xc2]))
        .unwrap();
    bytes[header + 5..header + 7].copy_from_slice(&height.to_be_bytes());
    bytes[header + 7..header + 9].copy_from_slice(&width.to_be_bytes());
}

#[test]
fn the_good_ones_are_read() {
    for bytes in good() {
        assert_eq!(try_picture(&bytes), Ok(()));
        assert_eq!(summed(bytes.clone()), bytes);
    }
}

#[test]
fn a_small_file_that_claims_to_be_a_large_picture() {
    for mut bytes in good() {
        if bytes.starts_with(SIGNATURE) {
            for (at, side) in [(16, 8_000_u32), (20, 8_000)] {
                bytes[at..at + 4].copy_from_slice(&side.to_be_bytes());
            }
            bytes = summed(bytes);
        } else {
            set_jpeg_size(&mut bytes, 8_000, 8_000);
        }
        // Less than what the picture would take: 64 million pixels.
        let folder = tempfile::tempdir().unwrap();
        let mut stage = capture(&folder, &bytes);
        let error = within(32 * MIB, &bytes, || stage.tick().err().unwrap().to_string());
        assert!(error.contains("8000 by 8000 pixels can't be in"), "{error}");
    }
}

#[test]
fn what_is_packed_best_is_still_read() {
    // Nothing but zeros, as dense as Deflate gets.
    let blank = DynamicImage::ImageLuma8(image::GrayImage::new(6_000, 6_000));
    let bytes = encoded(&blank, ImageFormat::Png);
    assert_eq!(try_picture(&bytes), Ok(()), "{} bytes", bytes.len());
    let bytes = encoded(&blank, ImageFormat::Jpeg);
    assert_eq!(try_picture(&bytes), Ok(()), "{} bytes", bytes.len());
}
