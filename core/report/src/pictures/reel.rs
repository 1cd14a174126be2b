//! The frames for the scrubber: each different picture once, a key picture or the tiles by which it differs from one.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowpipe_recording::{Recording, Topic};
use serde::Serialize;

use super::pack::{Kind, pack};
use super::shrink::{Area, Picture, shrink};
use super::tiles::Tiles;
use super::{Encoded, evenly};
use crate::frames::Frames;

/// The pictures of all frames.
#[derive(Debug, Default, Serialize)]
pub struct Reel {
    /// Encoded pictures.
    data: Vec<Encoded>,
    /// How each picture is put together.
    shots: Vec<Shot>,
    /// By frame: its shot, or -1 where none is known. Of a picture that is left out, the shot before.
    of: Vec<i64>,
    /// By frame: whether the shot is its own picture.
    own: Vec<bool>,
    /// Different pictures in the recording.
    #[serde(skip)]
    pub distinct: usize,
    /// How many of them are here.
    #[serde(skip)]
    pub kept: usize,
    /// Pictures that the recording lacks, or that can't be read.
    #[serde(skip)]
    pub missing: usize,
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Shot {
    /// Index of the key picture.
    key: usize,
    /// The tiles that lie over it: the index of their picture, and which they are.
    over: Option<(usize, Tiles)>,
    /// Width and height of the key picture.
    size: (u32, u32),
    /// Width and height of the frame.
    frame: (u32, u32),
}

/// How small pictures are made: the longer side in pixels, and the quality. The next one is taken where with the one
/// before more than half of the pictures do not fit.
const STEPS: [(u32, u8); 3] = [(800, 75), (640, 72), (480, 65)];

/// When more of a picture differs from the key picture, it is one itself.
const OVER: f64 = 0.6;

/// Characters around a picture in the page.
const AROUND: usize = 70;

/// Pictures beyond this multiple of the limit are not encoded, only to be left out again.
const TOO_MUCH: usize = 3;

/// A message with pixels.
type Place = (Topic, u64);

impl Reel {
    /// Returns the pictures of a recording's frames in at most `limit` characters.
    pub fn of(recording: &Recording, frames: &Frames, limit: usize) -> Self {
        let mut reel = Self::default();
        let mut places: Vec<Place> = Vec::new();
        let mut known: HashMap<Place, usize> = HashMap::new();
        let mut pictures = Vec::new();
        for frame in &frames.all {
            let has = recording.has_pixels(&frame.topic, frame.sequence);
            let place = recording.picture_of(&frame.topic, frame.sequence);
            reel.missing += usize::from(has && place.is_none());
            pictures.push(place.map(|place| {
                *known.entry(place.clone()).or_insert_with(|| {
                    places.push(place);
                    places.len() - 1
                })
            }));
        }
        reel.distinct = places.len();
        let reels = Packed::within(recording, &places, limit);
        reel.take(reels, &pictures);
        reel
    }

    /// `pictures`: by frame, which of the different pictures it shows.
    fn take(&mut self, packed: Packed, pictures: &[Option<usize>]) {
        let mut shots = HashMap::new();
        for (picture, shot) in packed.shots {
            self.shots.push(shot);
            shots.insert(picture, self.shots.len() - 1);
        }
        self.data = packed.data;
        self.kept = shots.len();
        self.missing += packed.unreadable;
        let mut last = -1;
        for picture in pictures {
            let own = picture.and_then(|picture| shots.get(&picture));
            if let Some(&shot) = own {
                last = shot as i64;
            }
            self.own.push(own.is_some());
            self.of.push(if picture.is_some() { last } else { -1 });
        }
    }

    /// How many characters the pictures take.
    #[cfg(test)]
    fn characters(&self) -> usize {
        self.data.iter().map(Encoded::characters).sum()
    }
}

/// Encoded pictures, and which shot is which picture.
#[derive(Debug, Default)]
struct Packed {
    data: Vec<Encoded>,
    shots: Vec<(usize, Shot)>,
    unreadable: usize,
    /// Pictures that were read before the room was used up.
    done: usize,
}

impl Packed {
    /// As many pictures, as large, as there is room for.
    fn within(recording: &Recording, places: &[Place], limit: usize) -> Self {
        let mut count = places.len();
        let mut steps = STEPS.into_iter().peekable();
        while let Some(&(longest, quality)) = steps.peek() {
            let chosen = evenly(places.len(), count);
            let used = AtomicUsize::new(0);
            let job = Job {
                recording,
                places,
                longest,
                quality,
                limit: limit.saturating_mul(TOO_MUCH),
                used: &used,
            };
            let packed = job.all(&chosen);
            let done = packed.done;
            let last = steps.len() == 1;
            if done == chosen.len() {
                let packed = packed.evenly_within(limit);
                if last || packed.shots.len() * 2 >= chosen.len() {
                    return packed;
                }
            }
            if !last {
                steps.next();
            } else {
                count = done.min(count - 1);
            }
        }
        Self::default()
    }

    /// Leaves out as few pictures as it takes to stay within a limit, evenly. Key pictures of others stay.
    fn evenly_within(mut self, limit: usize) -> Self {
        let (mut least, mut most) = (0, self.shots.len());
        // The greatest number of pictures that fits.
        while least < most {
            let middle = (least + most).div_ceil(2);
            if self.characters(&evenly(self.shots.len(), middle)) <= limit {
                least = middle;
            } else {
                most = middle - 1;
            }
        }
        let kept = evenly(self.shots.len(), least);
        let mut data: Vec<Option<Encoded>> = std::mem::take(&mut self.data)
            .into_iter()
            .map(Some)
            .collect();
        let mut moved: HashMap<usize, usize> = HashMap::new();
        let mut place = |from: usize, to: &mut Vec<Encoded>| {
            if let Some(encoded) = data.get_mut(from).and_then(Option::take) {
                to.push(encoded);
                moved.insert(from, to.len() - 1);
            }
            moved.get(&from).copied().unwrap_or(0)
        };
        let mut shots = Vec::new();
        for shot in kept {
            let (picture, mut shot) = self.shots[shot].clone();
            shot.key = place(shot.key, &mut self.data);
            if let Some((over, _)) = &mut shot.over {
                *over = place(*over, &mut self.data);
            }
            shots.push((picture, shot));
        }
        self.shots = shots;
        self
    }

    /// How many characters these shots take in the page.
    fn characters(&self, shots: &[usize]) -> usize {
        let mut key = None;
        let size = |data: usize| self.data.get(data).map_or(0, Encoded::characters);
        let mut sum = 0;
        for (_, shot) in shots.iter().filter_map(|&shot| self.shots.get(shot)) {
            sum += AROUND;
            if let Some((over, tiles)) = &shot.over {
                sum += size(*over) + tiles.characters();
            }
            // Shots of one key picture follow each other.
            if key != Some(shot.key) {
                sum += size(shot.key);
                key = Some(shot.key);
            }
        }
        sum
    }

    /// Takes what was made of later pictures.
    fn append(&mut self, other: Self) {
        let offset = self.data.len();
        self.data.extend(other.data);
        self.shots
            .extend(other.shots.into_iter().map(|(picture, mut shot)| {
                shot.key += offset;
                if let Some((over, _)) = &mut shot.over {
                    *over += offset;
                }
                (picture, shot)
            }));
        self.unreadable += other.unreadable;
        self.done += other.done;
    }
}

/// Encoding of many pictures, by several threads.
#[derive(Clone, Copy)]
struct Job<'a> {
    recording: &'a Recording,
    places: &'a [Place],
    longest: u32,
    quality: u8,
    limit: usize,
    /// Characters used up.
    used: &'a AtomicUsize,
}

impl Job<'_> {
    /// Each thread has a stretch of neighbours, since these are alike.
    fn all(self, chosen: &[usize]) -> Packed {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let stretch = chosen.len().div_ceil(threads).max(1);
        let mut packed = Packed::default();
        std::thread::scope(|scope| {
            let stretches = chosen.chunks(stretch);
            let threads: Vec<_> = stretches
                .map(|stretch| scope.spawn(move || self.stretch(stretch)))
                .collect();
            for thread in threads {
                // A thread that panics takes its pictures with it; the page states how many there are.
                packed.append(thread.join().unwrap_or_default());
            }
        });
        packed
    }

    fn stretch(self, chosen: &[usize]) -> Packed {
        let mut packed = Packed::default();
        let mut key: Option<Key> = None;
        for &picture in chosen {
            if self.used.load(Ordering::Relaxed) > self.limit {
                break;
            }
            packed.done += 1;
            let Some((frame, small)) = self.small(picture) else {
                packed.unreadable += 1;
                continue;
            };
            let over = key.as_ref().map(|key| (key.over(frame, &small), key));
            let shot = match over {
                Some((Over::Nothing, key)) => Some(key.shot.clone()),
                Some((Over::Tiles(tiles), key)) => {
                    let cut = pack(&tiles.cut(&small), Kind::Tiles, self.quality);
                    cut.map(|cut| Shot {
                        over: Some((self.keep(&mut packed, cut), tiles)),
                        ..key.shot.clone()
                    })
                }
                Some((Over::Everything, _)) | None => None,
            };
            let shot = shot.or_else(|| {
                let encoded = pack(&small, Kind::Whole, self.quality)?;
                let shot = Shot {
                    key: self.keep(&mut packed, encoded),
                    over: None,
                    size: (small.width, small.height),
                    frame,
                };
                key = Some(Key {
                    picture: small,
                    shot: shot.clone(),
                });
                Some(shot)
            });
            match shot {
                Some(shot) => packed.shots.push((picture, shot)),
                None => packed.unreadable += 1,
            }
        }
        packed
    }

    /// A picture made small, and the frame's width and height.
    fn small(self, picture: usize) -> Option<((u32, u32), Picture)> {
        let (topic, sequence) = self.places.get(picture)?;
        let read = self.recording.pixels(topic, *sequence, |pixels| {
            let whole = Area {
                x: 0,
                y: 0,
                width: pixels.width,
                height: pixels.height,
            };
            let small = shrink(pixels, whole, self.longest)?;
            Some(((pixels.width, pixels.height), small))
        });
        read.ok().flatten().flatten()
    }

    fn keep(self, packed: &mut Packed, encoded: Encoded) -> usize {
        let characters = encoded.characters() + AROUND;
        self.used.fetch_add(characters, Ordering::Relaxed);
        packed.data.push(encoded);
        packed.data.len() - 1
    }
}

/// The key picture of a stretch.
struct Key {
    picture: Picture,
    shot: Shot,
}

/// What lies over a key picture to make another one.
enum Over {
    Nothing,
    Tiles(Tiles),
    /// They are too different.
    Everything,
}

impl Key {
    fn over(&self, frame: (u32, u32), small: &Picture) -> Over {
        if self.shot.frame != frame {
            return Over::Everything;
        }
        let tiles = Tiles::that_differ(&self.picture, small);
        let share = tiles.share();
        if share == 0.0 {
            Over::Nothing
        } else if share <= OVER {
            Over::Tiles(tiles)
        } else {
            Over::Everything
        }
    }
}

#[cfg(test)]
mod tests;
