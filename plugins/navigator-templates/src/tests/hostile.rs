//! Malformed files, frames and messages.

use flowpipe_plugin::puzzle::message::FrameNote;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn no_bytes_of_a_file_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000), at in any::<prop::sample::Index>(), by in any::<u8>()) {
        let _ = snippet::decode(&bytes);
        let mut png = std::io::Cursor::new(Vec::new());
        noise(20, 20).write_to(&mut png, image::ImageFormat::Png).unwrap();
        let mut png = png.into_inner();
        let at = at.index(png.len());
        png[at] ^= by;
        let _ = snippet::decode(&png);
        let _ = snippet::decode(&png[..at]);
    }

    #[test]
    fn no_frame_panics(width in 1..80_u32, height in 1..80_u32, extra in 0..9_usize, short in 0..3_usize, level in any::<u8>(), format in 0..5_usize) {
        let format = [Format::Bgra8, Format::Rgba8, Format::Bgr8, Format::Rgb8, Format::Grey8][format];
        let info = PixelInfo::new(format, width, height);
        let info = info.with_stride(info.stride + extra);
        let bytes = vec![level; (info.stride * height as usize).saturating_sub(short)];
        let picture = Picture::new(&bytes, info);
        prop_assert_eq!(picture.is_ok(), short == 0);
        if let Ok(picture) = picture {
            let template = Template::new("noise", &noise(24, 18), &[0.25, 1.0, 4.0]).unwrap();
            // One colour is like nothing.
            prop_assert_eq!(picture.find(&template, 0.5, &Cancel::never()).unwrap(), None);
        }
    }
}

#[test]
fn a_small_file_that_declares_a_large_picture_allocates_nothing_of_it() {
    let mut png = std::io::Cursor::new(Vec::new());
    noise(20, 20)
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    let mut png = png.into_inner();
    // Width and height of the header, and the checksum of its type and data.
    png[16..24].copy_from_slice(&[0, 0, 0x7f, 0xff, 0, 0, 0x7f, 0xff]);
    let checksum = crc32fast::hash(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&checksum);
    let error = snippet::decode(&png).unwrap_err().to_string();
    assert!(error.contains("too many pixels"), "{error}");
}

#[test]
fn malformed_messages_are_refused() {
    let mut stage = harness(&json!({ "key": "Return" })).unwrap();
    for (port, schema) in [
        (SIGHTINGS, SIGHTING),
        (RESULTS, RESULT),
        (3, GESTURE_OUTCOME),
    ] {
        for body in [json!(null), json!([]), json!({ "frame": 5 })] {
            assert!(stage.send(port, schema, &body).is_err(), "{schema} {body}");
        }
    }
    let note = FrameNote::of("game");
    let nothing = Sighting::new(
        note.clone(),
        Reading::refused("find board", "there is none"),
    );
    assert!(
        stage
            .send(SIGHTINGS, SIGHTING, &nothing)
            .unwrap()
            .is_empty()
    );
    // A frame without pixels.
    assert!(stage.send(FRAMES, FRAME, &note).is_err());
}
