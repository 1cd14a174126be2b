//! Real pictures of the window of sgt-mines 20230122 on Debian 12 (`vision/frames`), from games that were loaded from
//! files, so that it is known what they show.

use std::path::Path;

use flowpipe_plugin::Format;
use flowpipe_plugin::harness::Harness;
use serde_json::{Value, json};

const NUMBERS: [&str; 9] = [
    "FF####2##",
    "#8####3##",
    "####4####",
    "#6#5#####",
    "###7####2",
    "########F",
    "#5#6####5",
    "#########",
    "1########",
];

/// A picture: size, and red, green, blue of each pixel.
struct Shot {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

fn shot(name: &str) -> Shot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("frames")
        .join(format!("{name}.png"));
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    Shot {
        width: info.width,
        height: info.height,
        rgb,
    }
}

fn vision(mines: usize) -> Harness {
    flowpipe_plugin::harness!(super::Vision, json!({ "mines": mines })).unwrap()
}

/// What vision emits for a picture of a field with 33 mines.
fn seen(shot: &Shot) -> Value {
    seen_as(Format::Rgb8, shot.width, shot.height, &shot.rgb, 33)
}

fn seen_as(format: Format, width: u32, height: u32, pixels: &[u8], mines: usize) -> Value {
    let layout = (format, width, height);
    let note = json!({ "source": "test" });
    let mut emitted = vision(mines)
        .send_picture("flowpipe.frame/1", &note, layout, pixels)
        .unwrap();
    assert_eq!(emitted[0].body["frame"], note);
    emitted.remove(0).body["reading"].take()
}

#[track_caller]
fn shows(reading: &Value, rows: &[&str], state: &str) {
    assert_eq!(reading["field"]["rows"], json!(rows), "{reading:#}");
    assert_eq!(reading["state"], state);
}

#[track_caller]
fn is_refused(reading: &Value, reason: &str) {
    assert_eq!(reading["status"], "refused", "{reading:#}");
    assert!(
        reading["reason"].as_str().unwrap().contains(reason),
        "{reading:#}"
    );
}

#[test]
fn every_number_and_flags_are_read_at_three_sizes() {
    for (name, side) in [("small", 15), ("numbers", 20), ("large", 48)] {
        let reading = seen(&shot(name));
        shows(&reading, &NUMBERS, "playing");
        assert_eq!(reading["grid"]["side"], side);
    }
    let reading = seen(&shot("numbers"));
    assert_eq!(
        reading["grid"],
        json!({ "left": 30, "top": 55, "side": 20 })
    );
}

#[test]
fn mines_and_wrong_flags_of_a_lost_game_are_read() {
    let exploded = ["FF####2##", "#8####3X#"];
    let exploded = [&exploded[..], &NUMBERS[2..]].concat();
    shows(&seen(&shot("exploded")), &exploded, "lost");
    let lost = [
        "FF*###2#W",
        "*8*##*3X#",
        "***#4*###",
        "#6*5**###",
        "*#*7*###2",
        "#****##*F",
        "*5*6*##*5",
        "#*##**#**",
        "1#*######",
    ];
    shows(&seen(&shot("lost")), &lost, "lost");
}

#[test]
fn a_won_game_is_read() {
    let won = [
        "FFF211211",
        "F8F32F3F1",
        "FFF44F411",
        "36F5FF200",
        "F5F7F4222",
        "3FFFF32FF",
        "F5F6F44F5",
        "2F34FF3FF",
        "12F222222",
    ];
    shows(&seen(&shot("won")), &won, "won");
}

#[test]
fn a_large_field_that_is_covered_is_read() {
    let row = "#".repeat(30);
    shows(&seen(&shot("covered")), &[row.as_str(); 16], "playing");
}

#[test]
fn the_format_of_pixels_does_not_matter() {
    let Shot { width, height, rgb } = shot("numbers");
    let bgra: Vec<u8> = rgb
        .chunks(3)
        .flat_map(|it| [it[2], it[1], it[0], 0])
        .collect();
    let rgba: Vec<u8> = rgb
        .chunks(3)
        .flat_map(|it| [it[0], it[1], it[2], 255])
        .collect();
    for (format, pixels) in [(Format::Bgra8, bgra), (Format::Rgba8, rgba)] {
        shows(
            &seen_as(format, width, height, &pixels, 33),
            &NUMBERS,
            "playing",
        );
    }
}

#[test]
fn a_cell_that_is_pressed_is_no_open_cell() {
    is_refused(
        &seen(&shot("pressed")),
        "the 0 in row 9, column 9 has 3 covered cells around",
    );
}

#[test]
fn what_is_no_field_is_refused() {
    let Shot { width, height, rgb } = shot("numbers");
    let black = vec![0; rgb.len()];
    is_refused(&seen_as(Format::Rgb8, width, height, &black, 33), "no grid");
    // The right half is hidden, as by another window.
    let hidden = |(index, &byte): (usize, &u8)| {
        if index / 3 % width as usize > 130 {
            90
        } else {
            byte
        }
    };
    let half: Vec<u8> = rgb.iter().enumerate().map(hidden).collect();
    is_refused(&seen_as(Format::Rgb8, width, height, &half, 33), "no grid");
    // Something small lies on a covered cell.
    let mut dotted = rgb.clone();
    let pixel = (65 * width as usize + 100) * 3;
    dotted[pixel..pixel + 3].copy_from_slice(&[0, 90, 90]);
    is_refused(
        &seen_as(Format::Rgb8, width, height, &dotted, 33),
        "row 1, column 4",
    );
}

#[test]
fn a_wrong_number_of_mines_is_found_where_it_can_be() {
    let Shot { width, height, rgb } = shot("numbers");
    is_refused(
        &seen_as(Format::Rgb8, width, height, &rgb, 81),
        "81 mines do not fit",
    );
    is_refused(&seen_as(Format::Rgb8, width, height, &rgb, 2), "3 flags");
}

#[test]
fn the_number_of_mines_is_needed() {
    let Err(error) = flowpipe_plugin::harness!(super::Vision, json!({})) else {
        panic!("it was created");
    };
    assert!(error.to_string().contains("mines"), "{error}");
}
