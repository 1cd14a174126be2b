//! The timing of the steps of a reading.

use std::path::Path;

use flowpipe_plugin::harness::Harness;
use opencv::core::{CV_8UC1, Mat, Scalar};
use serde_json::json;

use crate::VisionOpencv;
use crate::config::Config;
use crate::steps::Steps;
use crate::steps::sketch::Sketch;

fn harness() -> Harness {
    flowpipe_plugin::harness!(VisionOpencv, json!({})).unwrap()
}

fn grey() -> opencv::Result<Sketch> {
    let mat = Mat::new_rows_cols_with_default(6, 8, CV_8UC1, Scalar::all(7.0))?;
    Sketch::of_grey(&mat, 1.0, [0.0; 2])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_noted_or_drawn_unless_asked_for() {
    let harness = harness();
    for mut steps in [
        Steps::default(),
        Steps::new(&Config::default(), &harness.host()).unwrap(),
    ] {
        steps.start();
        steps.done("thin");
        steps.picture("thin", || panic!("drawn"));
        assert_eq!(steps.take(), []);
    }
}

#[test]
fn a_step_has_the_sum_of_its_times_in_the_order_of_the_steps() {
    let harness = harness();
    let config = Config {
        timed: true,
        ..Config::default()
    };
    let mut steps = Steps::new(&config, &harness.host()).unwrap();
    steps.done("of an earlier look");
    steps.start();
    let began = harness.host().now_ns();
    for step in ["thin", "shapes", "thin"] {
        std::thread::sleep(std::time::Duration::from_millis(2));
        steps.done(step);
    }
    let all = (harness.host().now_ns() - began) as f64 / 1e6;
    let times = steps.take();
    let names: Vec<&str> = times.iter().map(|time| &*time.step).collect();
    assert_eq!(names, ["thin", "shapes"]);
    assert!(times[0].ms >= 4.0 && times[1].ms >= 2.0, "{times:?}");
    assert!(times[0].ms + times[1].ms <= all + 0.1, "{times:?} of {all}");
    assert_eq!(steps.take(), [], "reported once");
}

#[test]
fn pictures_are_of_the_last_capture_and_take_no_time() {
    let harness = harness();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("made/here");
    let config = Config {
        timed: true,
        steps: Some(inner.clone()),
        ..Config::default()
    };
    let mut steps = Steps::new(&config, &harness.host()).unwrap();
    steps.start();
    steps.picture("thin", grey);
    steps.picture("grid lines", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        grey()
    });
    steps.done("thin");
    assert!(steps.take()[0].ms < 150.0);
    std::fs::write(inner.join("notes.txt"), "not ours").unwrap();
    assert_eq!(
        names(&inner),
        ["01-thin.png", "02-grid-lines.png", "notes.txt"]
    );
    steps.start();
    assert_eq!(names(&inner).len(), 3, "nothing new to show yet");
    steps.picture("cells", grey);
    assert_eq!(names(&inner), ["01-cells.png", "notes.txt"]);
    let picture = image::open(inner.join("01-cells.png")).unwrap().into_rgb8();
    assert_eq!(picture.dimensions(), (8, 6));
    assert!(picture.pixels().all(|pixel| pixel.0 == [7; 3]));
}

#[test]
fn a_folder_that_cannot_be_is_an_error_that_names_it() {
    let harness = harness();
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = Config {
        steps: Some(file.path().join("folder")),
        ..Config::default()
    };
    let error = Steps::new(&config, &harness.host()).err().unwrap();
    let name = file.path().display().to_string();
    assert!(error.to_string().contains(&name), "{error}");
}
