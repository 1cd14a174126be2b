//! The terminals of a board that was seen while nothing was drawn on it: what lines cover is known of them.
//!
//! A board is the same one if most of the ink of its terminals is seen in its place, none of it has given way to the
//! background, and nothing like a terminal is seen in another cell.

use flowpipe_plugin::puzzle::message::BoardState;
use flowpipe_plugin::puzzle::{Cell, Point};

use crate::find::grid::Grid;
use crate::picture::colour::{distance, median};
use crate::picture::{Picture, Rgb};
use crate::read::board::BoardReading;
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::colours::{PipeLook, TerminalColours};
use crate::read::contents::terminals::BoardColours;
use crate::read::shape::board_shape::BoardShape;

/// Samples of a cell in each direction, at most.
const MOST_SAMPLES: f64 = 32.0;
/// How far from the centre of a cell a terminal may reach, in spans.
const REACH: f64 = 0.42;
/// What differs from the background by this share of what the strongest sample does is ink.
const INK: f64 = 0.6;
/// A sample is what it was, or is background, where it differs by at most this share of the ink's contrast.
const SAME: f64 = 0.3;
/// This share of all ink is seen: a line may cover a number that is a stroke itself.
const SEEN: f64 = 0.5;
/// Another cell holds a terminal where it has this share of the ink of the smallest one.
const OTHER: f64 = 0.35;
/// No more than this share of it has given way to the background, or was added to it.
const CHANGED: f64 = 0.05;

/// The terminals of a board, and what they look like where nothing covers them.
#[derive(Clone, Debug)]
pub struct KnownTerminals {
    grid: Grid,
    shape: BoardShape,
    colours: TerminalColours,
    faintest: f64,
    marks: Vec<TerminalMarks>,
}

/// The ink of a terminal.
#[derive(Clone, Debug)]
struct TerminalMarks {
    cell: Cell,
    ink: Vec<(Point, Rgb)>,
    /// Where there is none around it.
    blank: Vec<Point>,
    /// The middle colour of it.
    colour: Rgb,
    /// How many levels it differs from the background at least.
    contrast: f64,
}

/// How many samples of ink are in their places, and how many have given way to the background.
#[derive(Default)]
struct InkCount {
    seen: usize,
    gone: f64,
}

impl KnownTerminals {
    /// Those of a board that was read in a picture. `None` where something is drawn on it.
    #[must_use]
    pub fn of(picture: &Picture<'_>, read: &BoardReading) -> Option<Self> {
        if read.board.state != BoardState::Empty {
            return None;
        }
        let places = CellLayout::new(&read.grid);
        let marks = read
            .terminals
            .terminals
            .iter()
            .map(|terminal| TerminalMarks::look(picture, &places, terminal.cell));
        Some(Self {
            marks: marks.collect::<Option<_>>()?,
            grid: read.grid.clone(),
            shape: read.shape.clone(),
            colours: read.terminals.clone(),
            faintest: read.faintest,
        })
    }

    /// Whether they are those of a board that was read.
    #[must_use]
    pub fn are_of(&self, read: &BoardReading) -> bool {
        // What is drawn on a board changes the colours a little.
        let is_alike =
            read.board.state != BoardState::Empty || self.colours.palette == read.terminals.palette;
        self.colours.terminals == read.terminals.terminals && self.grid == read.grid && is_alike
    }

    /// Notes the terminals in a picture of the same board. `None` where it may be another one.
    pub fn recognize(
        &self,
        picture: &Picture<'_>,
        grid: &Grid,
        shape: &BoardShape,
        looks: &mut BoardColours,
    ) -> Option<TerminalColours> {
        if *grid != self.grid || *shape != self.shape {
            return None;
        }
        let (mut all, mut seen) = (0, 0);
        for marks in &self.marks {
            let look = looks.cells[marks.cell].as_ref()?;
            let count = marks.count(picture, look.background)?;
            if count.gone > CHANGED * marks.ink.len() as f64
                || (self.is_inked() && marks.have_more(picture))
            {
                return None;
            }
            all += marks.ink.len();
            seen += count.seen;
        }
        if (seen as f64) < SEEN * all as f64 || self.others_are_seen(picture, grid, looks) {
            return None;
        }
        for marks in &self.marks {
            if let Some(look) = &mut looks.cells[marks.cell] {
                look.terminal = Some(marks.colour);
            }
        }
        looks.faintest = self.faintest;
        Some(self.colours.clone())
    }

    /// Whether lines have an ink of their own, so that none of them is taken for a terminal's.
    fn is_inked(&self) -> bool {
        self.colours.pipes == PipeLook::Inked
    }

    /// Whether something that looks like a terminal is seen in another cell.
    fn others_are_seen(&self, picture: &Picture<'_>, grid: &Grid, looks: &BoardColours) -> bool {
        let is_known = |cell: Cell| self.marks.iter().any(|marks| marks.cell == cell);
        let places = CellLayout::new(grid);
        if !self.is_inked() {
            let mut found = looks.clone();
            // What is refused here is refused for what is seen, be it known or not.
            let _ = found.find_terminals(picture, &places, grid);
            let terminals = found.terminals();
            return terminals.iter().any(|(cell, _)| !is_known(*cell));
        }
        let least = self.marks.iter().map(|marks| marks.ink.len()).min();
        let least = OTHER * least.unwrap_or(0) as f64;
        let mut others = looks.there().filter(|(cell, _)| !is_known(*cell));
        others.any(|(cell, _)| {
            let samples = samples(&places, cell).filter_map(|[x, y]| picture.at(x, y));
            let samples: Vec<Rgb> = samples.collect();
            self.marks.iter().any(|marks| {
                let near = samples.iter().filter(|&&colour| marks.is_ink(colour));
                near.count() as f64 > least
            })
        })
    }
}

impl TerminalMarks {
    fn look(picture: &Picture<'_>, places: &CellLayout<'_>, cell: Cell) -> Option<Self> {
        let samples = samples(places, cell);
        let samples: Option<Vec<(Point, Rgb)>> = samples
            .map(|point| Some((point, picture.at(point[0], point[1])?)))
            .collect();
        let samples = samples?;
        // A terminal leaves the corners of its cell free.
        let corners = samples.iter().filter(|([x, y], _)| {
            let [middle_x, middle_y] = places.centre(cell);
            (x - middle_x).abs().min((y - middle_y).abs()) > 0.36 * places.span
        });
        let corners: Vec<Rgb> = corners.map(|(_, colour)| *colour).collect();
        let background = median(&corners);
        let off = |colour: Rgb| distance(colour, background);
        let most = samples.iter().map(|(_, colour)| off(*colour));
        let most = most.fold(0.0, f64::max);
        let (ink, others): (Vec<(Point, Rgb)>, Vec<_>) = samples
            .into_iter()
            .partition(|(_, colour)| off(*colour) >= INK * most);
        let blank = others
            .into_iter()
            .filter(|(_, colour)| off(*colour) <= (1.0 - INK) * most);
        let colours: Vec<Rgb> = ink.iter().map(|(_, colour)| *colour).collect();
        (most > 0.0).then(|| Self {
            cell,
            ink,
            blank: blank.map(|(point, _)| point).collect(),
            colour: median(&colours),
            contrast: INK * most,
        })
    }

    /// Whether a colour is that of the ink.
    fn is_ink(&self, colour: Rgb) -> bool {
        distance(colour, self.colour) < SAME * self.contrast
    }

    /// Whether there is ink where there was none.
    fn have_more(&self, picture: &Picture<'_>) -> bool {
        let new = self.blank.iter().filter(|[x, y]| {
            let colour = picture.at(*x, *y);
            colour.is_some_and(|colour| self.is_ink(colour))
        });
        new.count() as f64 > CHANGED * self.ink.len() as f64
    }

    /// How much of the ink is in its place. `background`: of its cell, as it is now.
    fn count(&self, picture: &Picture<'_>, background: Rgb) -> Option<InkCount> {
        let mut count = InkCount::default();
        for &([x, y], old) in &self.ink {
            let new = picture.at(x, y)?;
            if distance(new, old) < SAME * self.contrast {
                count.seen += 1;
            } else if distance(new, background) < SAME * self.contrast {
                count.gone += 1.0;
            }
        }
        Some(count)
    }
}

/// Where a cell is sampled, in frame pixels.
fn samples(places: &CellLayout<'_>, cell: Cell) -> impl Iterator<Item = Point> {
    let [x, y] = places.centre(cell).map(f64::floor);
    let reach = REACH * places.span;
    let step = (2.0 * reach / MOST_SAMPLES).ceil().max(1.0);
    let count = (reach / step) as i32;
    let offs = move || (-count..=count).map(move |index| f64::from(index) * step + 0.5);
    offs().flat_map(move |down| offs().map(move |right| [x + right, y + down]))
}
