//! The stage through the ABI, in a temporary folder.

use std::path::Path;

use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::{Format, Result, abi, harness};
use serde_json::{Value, json};

use crate::sink::SinkImage;

fn sink(config: Value) -> Result<Harness> {
    harness!(SinkImage, config)
}

/// A config with its folder.
fn with_folder(folder: &Path, mut config: Value) -> Value {
    config["folder"] = json!(folder.join("pictures"));
    config
}

/// Sends a grey pixel.
fn send(stage: &mut Harness, grey: u8) {
    stage
        .send_picture("x.a/1", &json!({}), (Format::Grey8, 1, 1), &[grey])
        .unwrap();
}

/// The pictures in the folder: their names, and their first pixels as red, green, blue.
fn pictures(folder: &Path) -> Vec<(String, [u8; 3])> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.join("pictures")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with('.') {
            let picture = image::open(&path).unwrap().into_rgb8();
            found.push((name, picture.get_pixel(0, 0).0));
        }
    }
    found.sort();
    found
}

/// The names of the pictures, and their greys.
fn greys(folder: &Path) -> Vec<(String, u8)> {
    let greys = pictures(folder).into_iter();
    greys.map(|(name, pixel)| (name, pixel[0])).collect()
}

fn refusal(stage: Result<Harness>) -> (abi::Status, String) {
    let error = stage.err().expect("should be refused");
    (error.status(), error.to_string())
}

fn named(names: &[(&str, u8)]) -> Vec<(String, u8)> {
    let names = names.iter();
    names
        .map(|(name, grey)| ((*name).to_owned(), *grey))
        .collect()
}

#[test]
fn each_frame_is_a_numbered_picture() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = sink(with_folder(folder.path(), json!({}))).unwrap();
    send(&mut stage, 10);
    send(&mut stage, 20);
    let all = named(&[("000001.png", 10), ("000002.png", 20)]);
    assert_eq!(greys(folder.path()), all);
}

#[test]
fn every_format_keeps_its_colours() {
    for kind in ["png", "jpg"] {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({ "name": format!("{{number}}.{kind}"), "quality": 100 });
        let mut stage = sink(with_folder(folder.path(), config)).unwrap();
        for (format, pixel) in [
            (Format::Rgb8, &[250, 120, 20][..]),
            (Format::Bgr8, &[20, 120, 250]),
            (Format::Rgba8, &[250, 120, 20, 0]),
            (Format::Bgra8, &[20, 120, 250, 0]),
        ] {
            let pixels = pixel.repeat(4);
            stage
                .send_picture("x.a/1", &json!({}), (format, 2, 2), &pixels)
                .unwrap();
        }
        let found = pictures(folder.path());
        assert_eq!(found.len(), 4);
        for (name, pixel) in found {
            let near = |is: u8, should: u8| is.abs_diff(should) <= 4;
            let all = near(pixel[0], 250) && near(pixel[1], 120) && near(pixel[2], 20);
            assert!(all, "{kind} {name} {pixel:?}");
        }
    }
}

#[test]
fn the_oldest_picture_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_folder(folder.path(), json!({ "most": 2 }));
    let mut stage = sink(config).unwrap();
    for grey in [1, 2, 3] {
        send(&mut stage, grey);
    }
    let last = named(&[("000002.png", 2), ("000003.png", 3)]);
    assert_eq!(greys(folder.path()), last);
    // Who took it away has what is wanted.
    std::fs::remove_file(folder.path().join("pictures/000002.png")).unwrap();
    send(&mut stage, 4);
    let last = named(&[("000003.png", 3), ("000004.png", 4)]);
    assert_eq!(greys(folder.path()), last);
}

#[test]
fn a_full_folder_gets_no_further_picture() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({ "most": 2, "when_full": "drop-newest" });
    let mut stage = sink(with_folder(folder.path(), config)).unwrap();
    for grey in [1, 2, 3, 4] {
        send(&mut stage, grey);
    }
    let first = named(&[("000001.png", 1), ("000002.png", 2)]);
    assert_eq!(greys(folder.path()), first);
}

#[test]
fn a_later_run_continues_with_the_numbers_and_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_folder(folder.path(), json!({ "most": 3 }));
    let mut stage = sink(config.clone()).unwrap();
    send(&mut stage, 1);
    send(&mut stage, 2);
    drop(stage);
    let mut stage = sink(config).unwrap();
    send(&mut stage, 3);
    send(&mut stage, 4);
    let last = named(&[("000002.png", 2), ("000003.png", 3), ("000004.png", 4)]);
    assert_eq!(greys(folder.path()), last);
}

/// Behind the largest number there is no other one.
#[test]
fn a_number_that_no_run_reaches_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_folder(folder.path(), json!({}));
    let mut stage = sink(config.clone()).unwrap();
    let picture = |number: u64| folder.path().join(format!("pictures/{number:06}.png"));
    std::fs::write(picture(u64::MAX), "planted").unwrap();
    std::fs::write(picture(1_000_000_000_001), "planted").unwrap();
    send(&mut stage, 1);
    drop(stage);
    let mut stage = sink(config).unwrap();
    send(&mut stage, 2);
    for number in [1, 2] {
        assert!(picture(number).exists(), "{number}");
    }
    // One that a run may have reached is.
    drop(stage);
    std::fs::write(picture(1_000_000_000_000), "planted").unwrap();
    let mut stage = sink(with_folder(folder.path(), json!({ "most": 9 }))).unwrap();
    send(&mut stage, 3);
    assert!(!picture(3).exists());
}

/// The stage that replaces another one is active before that one stops.
#[test]
fn no_numbered_picture_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_folder(folder.path(), json!({ "most": 4 }));
    let mut old = sink(config.clone()).unwrap();
    send(&mut old, 1);
    let mut new = sink(config).unwrap();
    send(&mut old, 2);
    send(&mut new, 3);
    let first = [("000001.png", 1), ("000002.png", 2), ("000003.png", 3)];
    assert_eq!(greys(folder.path()), named(&first));
    // Nor one that another stage or worker writes at the same time.
    send(&mut old, 4);
    let all = [&first[..], &[("000004.png", 4)]].concat();
    assert_eq!(greys(folder.path()), named(&all));
}

#[test]
fn a_name_without_a_number_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({ "name": "last.png", "most": 1, "when_full": "drop-newest" });
    let mut stage = sink(with_folder(folder.path(), config)).unwrap();
    send(&mut stage, 1);
    send(&mut stage, 2);
    assert_eq!(greys(folder.path()), named(&[("last.png", 2)]));
}

#[test]
fn a_name_can_have_the_number_of_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_folder(folder.path(), json!({ "name": "frame-{frame}.png" }));
    let mut stage = sink(config).unwrap();
    // The harness gives each message the next number.
    stage.send(0, "x.a/1", &json!({})).err().unwrap();
    send(&mut stage, 7);
    assert_eq!(greys(folder.path()), named(&[("frame-000002.png", 7)]));
}

#[test]
fn files_of_others_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("pictures");
    std::fs::create_dir(&pictures).unwrap();
    std::fs::write(pictures.join("000001.png"), "mine").unwrap();
    let (status, text) = refusal(sink(with_folder(folder.path(), json!({}))));
    assert_eq!(status, abi::BAD_CONFIG);
    assert!(text.contains("new or empty folder"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_folder_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = sink(with_folder(folder.path(), json!({}))).unwrap();
    let mine = folder.path().join("mine.txt");
    std::fs::write(&mine, "mine").unwrap();
    let link = folder.path().join("pictures/000001.png");
    std::os::unix::fs::symlink(&mine, link).unwrap();
    let sent = stage.send_picture("x.a/1", &json!({}), (Format::Grey8, 1, 1), &[1]);
    let text = sent.err().unwrap().to_string();
    assert!(
        text.contains("can't write") && text.contains("link"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(mine).unwrap(), "mine");
}

#[test]
fn a_message_without_a_frame_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = sink(with_folder(folder.path(), json!({}))).unwrap();
    let error = stage.send(0, "x.a/1", &json!({})).err().unwrap();
    assert_eq!(error.status(), abi::BAD_MESSAGE);
    assert!(error.to_string().starts_with("the x.a/1 has no frame"));
    let error = stage.send(1, "x.a/1", &json!({})).err().unwrap();
    assert!(error.to_string().contains("set choose = true"), "{error}");
}

#[test]
fn configs_that_can_not_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for config in [
        json!({ "name": "../{number}.png" }),
        json!({ "name": "{number}.gif" }),
        json!({ "name": "{number}\u{202e}gpj.png" }),
        json!({ "most": 0 }),
        json!({ "waiting": 0 }),
        json!({ "draw": true }),
    ] {
        let (status, text) = refusal(sink(with_folder(folder.path(), config.clone())));
        assert_eq!(status, abi::BAD_CONFIG, "{config}: {text}");
        assert!(!folder.path().join("pictures").exists());
    }
}
