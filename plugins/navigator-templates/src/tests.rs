//! Snippets in pictures of the practice game. The stage in a pipeline is tested with the whole program: it takes frames
//! that descend from each other.

mod hostile;

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Button, Header, Layout, Pixels, Scene, Style, Theme, render};
use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::message::{Gestures, Rectangle};
use flowpipe_plugin::puzzle::Board;
use flowpipe_plugin::{Cancel, Format, PixelInfo};
use image::{RgbImage, imageops};
use serde_json::json;

use super::*;
use crate::config::Place;
use crate::search::Match;

const SIZE: [u32; 2] = [600, 1067];
const THRESHOLD: f64 = 0.9;

/// A picture of the game, and where its button for the next board is.
fn game([width, height]: [u32; 2], seed: u64) -> (Pixels, Rectangle) {
    let (puzzle, solution) = generate(&Board::rectangle(6, 6).unwrap(), 6, seed).unwrap();
    let scene = Scene {
        puzzle: &puzzle,
        flows: &solution.flows,
        style: Style::Window,
        theme: Theme::default(),
        palette: &[],
        line: [80, 110, 75],
        lights: seed,
        header: Header::default(),
    };
    let layout = Layout::new(Style::Window, puzzle.board(), width, height);
    let ([x, y], half) = layout.button(Button::Next);
    let side = (2.0 * half).floor();
    let place = Rectangle::new((x - half).floor(), (y - half).floor(), side, side);
    (render(&scene, width, height).unwrap(), place)
}

fn cut(pixels: &Pixels, place: Rectangle) -> RgbImage {
    let Rectangle {
        x,
        y,
        width,
        height,
    } = place;
    RgbImage::from_fn(width as u32, height as u32, |column, row| {
        image::Rgb(pixels.at(x as u32 + column, y as u32 + row).unwrap())
    })
}

fn picture(pixels: &Pixels) -> Picture {
    let info = PixelInfo::new(Format::Rgba8, pixels.width, pixels.height);
    Picture::new(&pixels.rgba, info).unwrap()
}

fn find(pixels: &Pixels, snippet: &RgbImage, scales: &[f64]) -> Option<Match> {
    let template = Template::new("next.png", snippet, scales).unwrap();
    let found = picture(pixels).find(&template, THRESHOLD, &Cancel::never());
    found.unwrap()
}

#[test]
fn a_button_is_found_where_it_is() {
    let (first, place) = game(SIZE, 1);
    let snippet = cut(&first, place);
    for seed in 1..6 {
        // Another board, and other lights behind it.
        let (pixels, _) = game(SIZE, seed);
        let found = find(&pixels, &snippet, &[1.0]).unwrap();
        assert_eq!(found.place, place, "{seed}: {found:?}");
        assert!(found.score > 0.95, "{found:?}");
    }
}

#[test]
fn a_button_of_another_size_is_found_at_its_scale() {
    let (large, place) = game([900, 1600], 1);
    let snippet = cut(&large, place);
    let (pixels, expected) = game(SIZE, 2);
    assert_eq!(find(&pixels, &snippet, &[1.0]), None);
    let found = find(&pixels, &snippet, &[1.0, 0.8, 2.0 / 3.0]).unwrap();
    let middle = |it: Rectangle| [it.x + it.width / 2.0, it.y + it.height / 2.0];
    let ([x, y], [at_x, at_y]) = (middle(expected), middle(found.place));
    assert!((x - at_x).hypot(y - at_y) < 3.0, "{found:?}");
}

#[test]
fn what_is_not_there_is_not_found() {
    let (pixels, place) = game(SIZE, 1);
    let (snippet, picture_of_noise) = (cut(&pixels, place), noise(60, 60));
    assert_eq!(find(&pixels, &picture_of_noise, &[1.0, 0.5, 2.0]), None);
    // The same button, greyed out: correlation alone takes no notice.
    let mut dimmed = pixels.clone();
    for pixel in dimmed.rgba.chunks_exact_mut(4) {
        pixel[..3].iter_mut().for_each(|level| *level /= 4);
    }
    let bright = RgbImage::from_fn(40, 40, |x, y| {
        image::Rgb([if (x / 8 + y / 8) % 2 == 0 { 250 } else { 150 }; 3])
    });
    assert_eq!(find(&dimmed, &bright, &[1.0]), None);
    let mut with = pixels.clone();
    paste(&mut with, &bright, [100, 700]);
    let expected = Rectangle::new(100.0, 700.0, 40.0, 40.0);
    assert_eq!(find(&with, &bright, &[1.0]).unwrap().place, expected);
    for pixel in with.rgba.chunks_exact_mut(4) {
        pixel[..3].iter_mut().for_each(|level| *level /= 4);
    }
    assert_eq!(find(&with, &bright, &[1.0]), None);
    assert!(find(&pixels, &snippet, &[1.0]).is_some());
}

fn paste(pixels: &mut Pixels, part: &RgbImage, [left, top]: [u32; 2]) {
    for (x, y, colour) in part.enumerate_pixels() {
        let at = (((top + y) * pixels.width + left + x) * 4) as usize;
        pixels.rgba[at..at + 3].copy_from_slice(&colour.0);
    }
}

fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgb([24, 16, 8].map(|by| (state >> by) as u8))
    })
}

#[test]
fn every_layout_of_pixels_is_searched() {
    let (pixels, place) = game(SIZE, 1);
    let template = Template::new("next.png", &cut(&pixels, place), &[1.0]).unwrap();
    let [width, height] = SIZE;
    let padded: Vec<u8> = pixels
        .rgba
        .chunks_exact(4 * width as usize)
        .flat_map(|row| row.iter().copied().chain([255; 12]))
        .collect();
    let stride = 4 * width as usize + 12;
    let bgra = pixels.clone().into_bgra();
    for (bytes, info) in [
        (&bgra, PixelInfo::new(Format::Bgra8, width, height)),
        (
            &padded,
            PixelInfo::new(Format::Rgba8, width, height).with_stride(stride),
        ),
    ] {
        let picture = Picture::new(bytes, info).unwrap();
        let found = picture
            .find(&template, THRESHOLD, &Cancel::never())
            .unwrap();
        assert_eq!(found.unwrap().place, place, "{info:?}");
    }
}

#[test]
fn gestures_stay_inside_of_what_was_found() {
    let note = || flowpipe_plugin::message::FrameNote::of("game").with_window(7);
    let size = SIZE.map(f64::from);
    let mut all: Vec<Gestures> = Vec::new();
    for place in [[0.0, 0.0], [0.5, 0.5], [0.999, 0.999]] {
        let [x, y] = place;
        let bounds = target::around(Place { x, y }, size);
        let inside = Rectangle::new(0.0, 0.0, size[0], size[1]);
        assert!(inside.contains([bounds.x, bounds.y]), "{bounds:?}");
        assert!(bounds.x + bounds.width <= size[0] && bounds.y + bounds.height <= size[1]);
        all.push(target::click("test", "the place", note(), bounds));
    }
    let odd = Rectangle::new(3.0, 5.0, 13.0, 12.0);
    all.push(target::click("test", "next.png", note(), odd));
    all.push(target::key("test", "Return", note(), size));
    for gestures in all {
        assert_eq!(gestures.check(), Ok(()), "{gestures:?}");
        assert_eq!(gestures.frame, note());
    }
}

#[test]
fn configs_that_can_t_be_meant_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, picture: &RgbImage| {
        let path = folder.path().join(name).display().to_string();
        picture.save(&path).unwrap();
        path
    };
    let (good, flat) = (
        file("good.png", &noise(30, 30)),
        file("flat.png", &RgbImage::new(30, 30)),
    );
    let (small, large) = (
        file("small.png", &noise(11, 30)),
        file("large.png", &noise(1025, 30)),
    );
    let missing = folder.path().join("missing.png").display().to_string();
    for (config, words) in [
        (json!({}), "nothing to press"),
        (json!({ "next": [] }), "nothing to press"),
        (json!({ "next": [missing] }), "missing.png: "),
        (json!({ "next": [flat] }), "it shows one colour"),
        (json!({ "next": [small] }), "11 by 30 pixels"),
        (
            json!({ "close": [large] }),
            "large.png: it has too many pixels",
        ),
        (json!({ "close": [folder.path()] }), "this is a folder"),
        (
            json!({ "next": vec![good.clone(); 9], "close": vec![good.clone(); 8] }),
            "the most are 16",
        ),
        (json!({ "key": "" }), "key is empty"),
        (
            json!({ "key": "a", "place": { "x": 1.0, "y": 0.5 } }),
            "shares from 0",
        ),
        (json!({ "key": "a", "threshold": 0.2 }), "threshold"),
        (json!({ "key": "a", "scales": [] }), "scales"),
        (json!({ "key": "a", "scales": [1e9] }), "scales"),
        (json!({ "key": "a", "patience": 0.0 }), "patience"),
        (json!({ "key": "a", "presses": 0 }), "presses"),
        (json!({ "key": "a", "react_ms": u32::MAX }), "react_ms"),
    ] {
        let error = harness(&config).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{config}: {error}");
    }
    harness(&json!({ "next": vec![good.clone(); 8], "close": vec![good; 8] })).unwrap();
}

#[test]
fn a_run_in_which_no_frame_could_be_searched_says_so() {
    let mut stage = harness(&json!({ "key": "Return", "settle_ms": 0, "patience": 0.05 })).unwrap();
    let note = flowpipe_plugin::message::FrameNote::of("game");
    // The harness sends no frame that it descends from.
    let nothing = Sighting::new(note, Reading::refused("find board", "there is none"));
    let error = loop {
        match stage.send(SIGHTINGS, SIGHTING, &nothing) {
            Ok(emitted) => assert!(emitted.is_empty()),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("lower `rate` of capture-screen"), "{error}");
}

fn harness(config: &serde_json::Value) -> Result<Harness> {
    flowpipe_plugin::harness!(Templates, config)
}

#[test]
fn a_jpeg_is_a_snippet_too() {
    let (pixels, place) = game(SIZE, 1);
    let mut bytes = std::io::Cursor::new(Vec::new());
    let snippet = imageops::crop_imm(&cut(&pixels, place), 0, 0, 60, 60).to_image();
    snippet
        .write_to(&mut bytes, image::ImageFormat::Jpeg)
        .unwrap();
    let snippet = snippet::decode(bytes.get_ref()).unwrap();
    let found = find(&pixels, &snippet, &[1.0]).unwrap();
    assert_eq!([found.place.x, found.place.y], [place.x, place.y]);
}
