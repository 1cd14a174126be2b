//! The stage through the ABI, on pictures in a temporary folder.

mod fuzz;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{Format, Result, abi, harness};
use image::{DynamicImage, GrayImage, Rgb, RgbImage, RgbaImage};
use serde_json::{Value, json};

use crate::play::CaptureFiles;

/// A folder of pictures that differ in their first pixel.
fn folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (index, name) in names.iter().enumerate() {
        let shade = u8::try_from(index).unwrap();
        let picture = RgbImage::from_pixel(4, 3, Rgb([shade, 100, 200]));
        picture.save(folder.path().join(name)).unwrap();
    }
    folder
}

fn stage(config: Value) -> Result<Harness> {
    harness!(CaptureFiles, config)
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// File names of what the next `ticks` ticks give.
fn names(stage: &mut Harness, ticks: usize) -> Vec<String> {
    let emitted = (0..ticks).flat_map(|_| stage.tick().unwrap());
    emitted.map(|message| name(&message)).collect()
}

fn name(emitted: &Emitted) -> String {
    let source = Path::new(emitted.body["source"].as_str().unwrap());
    source.file_name().unwrap().to_string_lossy().into_owned()
}

fn refusal(config: Value) -> (abi::Status, String) {
    let error = stage(config).err().expect("should be refused");
    (error.status(), error.to_string())
}

#[test]
fn folders_patterns_and_files_in_natural_order() {
    let folder = folder(&["10.png", "2.png", "1.jpg", "b.JPEG"]);
    std::fs::write(folder.path().join("notes.txt"), "no picture").unwrap();
    let root = folder.path();
    let mut all = stage(json!({ "paths": root })).unwrap();
    assert_eq!(names(&mut all, 9), ["1.jpg", "2.png", "10.png", "b.JPEG"]);
    let paths = [
        path(root, "b.JPEG"),
        path(root, "*.png"),
        path(root, "1.jpg"),
    ];
    let mut some = stage(json!({ "paths": paths })).unwrap();
    assert_eq!(names(&mut some, 9), ["b.JPEG", "2.png", "10.png", "1.jpg"]);
}

#[test]
fn plays_so_many_times_or_for_ever() {
    let folder = folder(&["1.png", "2.png"]);
    let mut twice = stage(json!({ "paths": folder.path(), "times": 2 })).unwrap();
    assert_eq!(names(&mut twice, 9), ["1.png", "2.png", "1.png", "2.png"]);
    let mut ever = stage(json!({ "paths": folder.path(), "repeat": true })).unwrap();
    assert_eq!(names(&mut ever, 9).len(), 9);
}

#[test]
fn another_in_its_place_goes_on_with_the_next_picture() {
    let folder = folder(&["1.png", "2.png", "3.png"]);
    let paths = json!({ "paths": path(folder.path(), "*.png") });
    let mut old = stage(paths.clone()).unwrap();
    names(&mut old, 2);
    let state = old.save().unwrap();
    let mut new = stage(paths).unwrap();
    assert!(new.load(&state).unwrap());
    assert_eq!(names(&mut new, 1), ["3.png"]);
    assert!(!new.load(&("other/1".into(), json!({}))).unwrap());
    assert!(new.load(&(state.0, json!({}))).is_err());
}

#[test]
fn a_loop_sends_the_same_pixels_without_decoding_again() {
    let folder = folder(&["1.png"]);
    let mut stage = stage(json!({ "paths": folder.path(), "repeat": true })).unwrap();
    let first = stage.tick().unwrap();
    std::fs::remove_file(folder.path().join("1.png")).unwrap();
    let second = stage.tick().unwrap();
    let pixels = |emitted: &[Emitted]| emitted[0].frame.as_ref().unwrap().pixels().as_ptr();
    assert_eq!(pixels(&first), pixels(&second));
}

#[test]
fn keeps_the_layout_of_8_bit_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let rgba = RgbaImage::from_pixel(5, 2, image::Rgba([1, 2, 3, 255]));
    let grey = GrayImage::from_pixel(5, 2, image::Luma([9]));
    let deep = DynamicImage::ImageRgb8(RgbImage::from_pixel(5, 2, Rgb([1, 2, 3]))).into_rgb16();
    rgba.save(folder.path().join("1.png")).unwrap();
    grey.save(folder.path().join("2.png")).unwrap();
    deep.save(folder.path().join("3.png")).unwrap();
    let mut stage = stage(json!({ "paths": folder.path() })).unwrap();
    for (format, pixel) in [
        (Format::Rgba8, &[1, 2, 3, 255][..]),
        (Format::Grey8, &[9]),
        (Format::Rgb8, &[1, 2, 3]),
    ] {
        let emitted = stage.tick().unwrap();
        let frame = emitted[0].frame.as_ref().unwrap();
        let info = frame.info().unwrap();
        assert_eq!((info.format, info.width, info.height), (format, 5, 2));
        assert_eq!(frame.pixels(), pixel.repeat(10));
    }
}

#[test]
fn the_content_decides_what_a_file_is() {
    let folder = folder(&["1.png"]);
    let at = |name: &str| folder.path().join(name);
    std::fs::rename(at("1.png"), at("1.jpg")).unwrap();
    assert_eq!(
        names(&mut stage(json!({ "paths": at("1.jpg") })).unwrap(), 1),
        ["1.jpg"]
    );
    std::fs::write(at("2.png"), "no picture").unwrap();
    let refused = stage(json!({ "paths": at("2.png") })).unwrap().tick();
    let error = refused.err().unwrap().to_string();
    assert!(
        error.ends_with("2.png: this is no PNG or JPEG picture"),
        "{error}"
    );
}

#[test]
fn a_photograph_is_turned_by_its_orientation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.jpg");
    let picture = RgbImage::from_fn(32, 16, |x, _| Rgb([if x < 16 { 200 } else { 20 }; 3]));
    picture.save(&path).unwrap();
    // After the two bytes that every JPEG begins with: EXIF with one entry, orientation 6.
    let exif =
        b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.splice(2..2, exif.iter().copied());
    std::fs::write(&path, bytes).unwrap();
    let emitted = stage(json!({ "paths": path })).unwrap().tick().unwrap();
    let frame = emitted[0].frame.as_ref().unwrap();
    let info = frame.info().unwrap();
    assert_eq!((info.width, info.height), (16, 32), "on its side");
    assert!(frame.pixels()[0] > 150, "what was on the left is above");
}

#[test]
fn a_picture_too_large_to_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.png");
    RgbImage::new(4, 3).save(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The header declares 100,000 by 100,000 pixels; its checksum goes with that.
    bytes[16..24].copy_from_slice(&[0, 1, 0x86, 0xA0, 0, 1, 0x86, 0xA0]);
    let sum = checksum(&bytes[12..29]).to_be_bytes();
    bytes[29..33].copy_from_slice(&sum);
    std::fs::write(&path, bytes).unwrap();
    let refused = stage(json!({ "paths": path })).unwrap().tick();
    let error = refused.err().unwrap().to_string();
    assert!(
        error.contains("100000 by 100000 pixels is too large"),
        "{error}"
    );
}

/// The checksum of PNG (CRC-32).
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1));
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), step)
    })
}

#[test]
fn a_broken_picture_fails_or_is_skipped() {
    let folder = folder(&["1.png", "2.png", "3.png"]);
    let broken = folder.path().join("2.png");
    let whole = std::fs::read(&broken).unwrap();
    std::fs::write(&broken, &whole[..whole.len() / 2]).unwrap();
    let mut fails = stage(json!({ "paths": folder.path() })).unwrap();
    assert_eq!(names(&mut fails, 1), ["1.png"]);
    let error = fails.tick().err().unwrap().to_string();
    assert!(error.contains("2.png: "), "{error}");
    // A pipeline that goes on after errors gets the others.
    assert_eq!(names(&mut fails, 1), ["3.png"]);

    let mut skips = stage(json!({ "paths": folder.path(), "on_broken": "skip", "times": 2 }));
    let skips = skips.as_mut().unwrap();
    assert_eq!(names(skips, 9), ["1.png", "3.png", "1.png", "3.png"]);

    let config = json!({ "paths": broken, "on_broken": "skip", "repeat": true });
    let error = stage(config).unwrap().tick().err().unwrap().to_string();
    assert!(error.starts_with("no picture can be read"), "{error}");
}

#[test]
fn reports_what_is_wrong_with_the_config() {
    let folder = folder(&["1.png"]);
    let here = folder.path();
    for (config, words) in [
        (
            json!({ "paths": path(here, "no.png") }),
            "no file or folder",
        ),
        (json!({ "paths": path(here, "*.jpg") }), "no file matches"),
        (json!({ "paths": path(here, "[.png") }), "pattern"),
        (json!({ "paths": [] }), "paths is empty"),
        (json!({ "paths": here, "fps": 0.0 }), "fps is 0"),
        (json!({ "paths": here, "times": 0 }), "times is 0"),
        (
            json!({ "paths": here, "times": 2, "repeat": true }),
            "only one of them",
        ),
    ] {
        let (status, text) = refusal(config);
        assert!(status < abi::OK && text.contains(words), "{text}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(
        refusal(json!({ "paths": empty.path() }))
            .1
            .contains("no PNG or JPEG")
    );
}

#[test]
fn gives_up_waiting_when_cancelled() {
    let folder = folder(&["1.png"]);
    // The second picture would be due in an hour and more.
    let config = json!({ "paths": folder.path(), "repeat": true, "fps": 0.0001 });
    let mut stage = stage(config).unwrap();
    assert_eq!(names(&mut stage, 1), ["1.png"]);
    let asked = Arc::new(AtomicUsize::new(0));
    stage.cancel_when(move || asked.fetch_add(1, Ordering::Relaxed) > 3);
    assert_eq!(stage.tick().err().unwrap().status(), abi::CANCELLED);
}
