//! Tracks: the boards that were seen at rest, where is looked first.
//!
//! Several are kept, because boards of several sizes alternate in a window.

use opencv::core::Rect;

use crate::find::grid::Grid;
use crate::find::perspective::rest_pose::RestPose;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::board::BoardReading;
use crate::read::contents::known_terminals::KnownTerminals;
use crate::track::hex_positions::HexPositions;
use crate::track::line_positions::LinePositions;

/// Boards kept: more than there are sizes in a game. To look whether one is there costs next to nothing.
const MOST: usize = 32;
/// What is examined around a board, in cells: how far lines are followed beyond the border.
const AROUND: f64 = 0.35;

/// The place of a board that was at rest.
#[derive(Clone, Debug)]
pub struct Track {
    /// What to read it by.
    pub grid: Grid,
    /// Whether they are bright or dark.
    pub polarity: Polarity,
    /// For one that turns at the same place; hexagons are not read then.
    pub rest: Option<RestPose>,
    /// The terminals of the board that was seen there last, if it was seen with nothing drawn on it.
    pub known: Option<KnownTerminals>,
    places: Lines,
    /// Width and height of the frame.
    frame: (usize, usize),
}

impl Track {
    /// Of a board of squares that was read. `strength`: how much its lines stand out in the top-hat.
    #[must_use]
    pub fn of_squares(
        picture: &Picture<'_>,
        read: &BoardReading,
        strength: f64,
        places: LinePositions,
    ) -> Self {
        let [left, top, width, height] = read.grid.bounds();
        let rest = RestPose {
            middle: [left + width / 2.0, top + height / 2.0],
            size: [width, height],
            thickness: read.lines.thickness,
            strength,
        };
        Self::new(picture, read, Some(rest), Lines::Squares(places))
    }

    /// Of a board of hexagons that was read.
    #[must_use]
    pub fn of_hexes(picture: &Picture<'_>, read: &BoardReading, places: HexPositions) -> Self {
        Self::new(picture, read, None, Lines::Hexes(places))
    }

    fn new(
        picture: &Picture<'_>,
        read: &BoardReading,
        rest: Option<RestPose>,
        places: Lines,
    ) -> Self {
        Self {
            grid: read.home.clone(),
            polarity: read.lines.polarity,
            rest,
            known: KnownTerminals::of(picture, read),
            places,
            frame: size(picture),
        }
    }

    /// Whether a board with these lines lies in the picture.
    #[must_use]
    pub fn holds(&self, picture: &Picture<'_>) -> bool {
        self.has_size_of(picture)
            && match &self.places {
                Lines::Squares(places) => places.hold(picture),
                Lines::Hexes(places) => places.hold(picture),
            }
    }

    /// Whether the picture is as large as the one that it was seen in.
    #[must_use]
    pub fn has_size_of(&self, picture: &Picture<'_>) -> bool {
        self.frame == size(picture)
    }

    /// All that reading the board looks at, in frame pixels.
    #[must_use]
    pub fn part(&self, picture: &Picture<'_>) -> Rect {
        let around = AROUND * self.grid.cell + 4.0;
        let [left, top, width, height] = self.grid.bounds();
        let (width, height) = (width + 2.0 * around, height + 2.0 * around);
        picture.region([left - around, top - around, width, height])
    }
}

/// Where a board's lines lie.
#[derive(Clone, Debug)]
enum Lines {
    Squares(LinePositions),
    Hexes(HexPositions),
}

fn size(picture: &Picture<'_>) -> (usize, usize) {
    (picture.width(), picture.height())
}

/// Those seen last, the last one first.
#[derive(Default)]
pub struct Tracks {
    tracks: Vec<Track>,
}

impl Tracks {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Track] {
        &self.tracks
    }

    /// Keeps one, and drops the one that was seen longest ago.
    pub fn insert(&mut self, track: Track) {
        let is_same = |old: &Track| {
            let near = |a: f64, b: f64| (a - b).abs() < 1.0;
            let bounds = old.grid.bounds().into_iter().zip(track.grid.bounds());
            let size = |grid: &Grid| (grid.rows(), grid.cols());
            old.frame == track.frame
                && old.grid.lattice == track.grid.lattice
                && size(&old.grid) == size(&track.grid)
                && bounds.into_iter().all(|(a, b)| near(a, b))
        };
        self.tracks.retain(|old| !is_same(old));
        self.tracks.insert(0, track);
        self.tracks.truncate(MOST);
    }

    /// Notes the board that was read at one of them.
    pub fn learn(&mut self, index: usize, picture: &Picture<'_>, read: &BoardReading) {
        if let Some(track) = self.tracks.get_mut(index)
            && !track.known.as_ref().is_some_and(|known| known.are_of(read))
        {
            track.known = KnownTerminals::of(picture, read);
        }
    }

    /// Puts one first.
    pub fn touch(&mut self, index: usize) {
        if let Some(until) = self.tracks.get_mut(..=index) {
            until.rotate_right(1);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.tracks.clear();
    }
}
