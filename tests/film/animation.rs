//! From pictures to an animation (APNG): one palette for all, and of each picture only the rectangle
//! that changed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use png::{BitDepth, ColorType, DeflateCompression, Encoder, EncodingError, Filter};

use crate::recording::{Picture, Shot};

/// Colours of the palette. More look smoother and cost more bytes.
const COLOURS: usize = 48;
/// How far they are from each other at least.
const APART: u32 = 24;

/// Makes the file's bytes. The film begins again when it ends.
pub fn encode(shots: &[Shot], length: Duration) -> Vec<u8> {
    let palette = Palette::of(shots);
    let changes = changes(shots, &palette);
    let size = [shots[0].picture.width, shots[0].picture.height];
    write(size, &changes, length, &palette.colours).expect("memory takes what it is given")
}

struct Palette {
    /// Red, green, blue of each entry.
    colours: Vec<[u8; 3]>,
    /// The entry next to each colour that is seen.
    entries: HashMap<[u8; 3], u8>,
}

impl Palette {
    /// Takes the commonest colours of what changes, each some way from all that are taken already: else the
    /// many shades of what is large would leave none for the white of a few letters.
    fn of(shots: &[Shot]) -> Self {
        let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
        let mut count = |colour: &[u8; 3]| *counts.entry(*colour).or_default() += 1;
        shots[0].picture.pixels.iter().for_each(&mut count);
        for pair in shots.windows(2) {
            let [old, new] = [&pair[0], &pair[1]].map(|shot| &shot.picture.pixels);
            let changed = new.iter().zip(old).filter(|(new, old)| new != old);
            changed.for_each(|(new, _)| count(new));
        }
        let mut commonest: Vec<_> = counts.into_iter().collect();
        commonest.sort_unstable_by_key(|&(colour, count)| (Reverse(count), colour));
        let mut colours: Vec<[u8; 3]> = Vec::new();
        for &(colour, _) in &commonest {
            let is_new = |&taken: &[u8; 3]| distance(taken, colour) >= APART * APART;
            if colours.len() < COLOURS && colours.iter().all(is_new) {
                colours.push(colour);
            }
        }
        let entry = |colour| {
            let entries = 0..colours.len();
            let nearest = entries.min_by_key(|&entry| distance(colours[entry], colour));
            nearest.expect("the first colour is always taken") as u8
        };
        let entries = commonest
            .iter()
            .map(|&(colour, _)| (colour, entry(colour)))
            .collect();
        Self { colours, entries }
    }

    fn reduce(&self, picture: &Picture) -> Vec<u8> {
        let pixels = picture.pixels.iter();
        pixels.map(|colour| self.entries[colour]).collect()
    }
}

/// The square of the distance of two colours.
fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    let differences = one
        .iter()
        .zip(other)
        .map(|(&one, other)| one.abs_diff(other));
    differences
        .map(|difference| u32::from(difference).pow(2))
        .sum()
}

/// What becomes different at a moment: a rectangle of the palette's entries.
struct Change {
    at: Duration,
    position: [usize; 2],
    size: [usize; 2],
    entries: Vec<u8>,
}

/// The first is the whole first picture. Pictures that the palette makes the same are left out.
fn changes(shots: &[Shot], palette: &Palette) -> Vec<Change> {
    let width = shots[0].picture.width;
    let mut before: Option<Vec<u8>> = None;
    let mut changes = Vec::new();
    for shot in shots {
        let now = palette.reduce(&shot.picture);
        let is_new = |&index: &usize| {
            before
                .as_ref()
                .is_none_or(|before| before[index] != now[index])
        };
        let places = (0..now.len()).filter(is_new);
        let (columns, rows): (Vec<_>, Vec<_>) =
            places.map(|index| (index % width, index / width)).unzip();
        let (Some(columns), Some(rows)) = (range(&columns), range(&rows)) else {
            continue;
        };
        let entries = rows.clone().flat_map(|row| {
            let left = row * width;
            &now[left + columns.start..left + columns.end]
        });
        changes.push(Change {
            at: shot.at,
            position: [columns.start, rows.start],
            size: [columns.len(), rows.len()],
            entries: entries.copied().collect(),
        });
        before = Some(now);
    }
    changes
}

fn range(places: &[usize]) -> Option<std::ops::Range<usize>> {
    Some(*places.iter().min()?..places.iter().max()? + 1)
}

fn write(
    size: [usize; 2],
    changes: &[Change],
    length: Duration,
    colours: &[[u8; 3]],
) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, size[0] as u32, size[1] as u32);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(colours.as_flattened());
    encoder.set_deflate_compression(DeflateCompression::Level(9));
    encoder.set_filter(Filter::NoFilter);
    encoder.set_animated(changes.len() as u32, 0)?;
    let mut writer = encoder.write_header()?;
    for (index, change) in changes.iter().enumerate() {
        let end = changes.get(index + 1).map_or(length, |next| next.at);
        // Rounded ends, not lengths: then the errors do not add up.
        let milliseconds = end.as_millis() - change.at.as_millis();
        writer.set_frame_delay(milliseconds as u16, 1000)?;
        writer.reset_frame_position()?;
        writer.set_frame_dimension(change.size[0] as u32, change.size[1] as u32)?;
        writer.set_frame_position(change.position[0] as u32, change.position[1] as u32)?;
        writer.write_image_data(&change.entries)?;
    }
    writer.finish()?;
    Ok(file)
}
