//! From flows to strokes.

use flowpipe_puzzle::message::{Profile, Stops, Stroke};
use flowpipe_puzzle::{Board, Cell, Colour, Flow, Lattice, Point, Puzzle};

use crate::config::{Config, Warps};
use crate::corners::corners;
use crate::corridor::{Corridor, Inner};
use crate::every_cell::every_cell;
use crate::grid;
use crate::leg::{End, Leg, legs};
use crate::minlink::Minlink;
use crate::order::{Choice, Ends, Visit, distance, order};

/// How ways are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Through the centre of every cell.
    Cells,
    /// Through the centres of the cells where the pipe turns.
    Turns,
    /// In the fewest segments by way of corners and centres.
    Corners,
    /// In the fewest segments that there are.
    FewestSegments,
}

impl Method {
    /// All of them, from many segments to few.
    pub const ALL: [Self; 4] = [
        Self::Cells,
        Self::Turns,
        Self::Corners,
        Self::FewestSegments,
    ];

    /// The method itself, or the one that does as much as a game of a profile needs.
    #[must_use]
    pub fn for_profile(self, profile: Profile) -> Self {
        match (profile.stops(), self) {
            (Stops::Cells, _) | (_, Self::Cells) => Self::Cells,
            (Stops::Turns, _) | (_, Self::Turns) => Self::Turns,
            _ => self,
        }
    }

    /// Whether the ways go from centre to centre.
    #[must_use]
    pub fn is_grid(self) -> bool {
        matches!(self, Self::Cells | Self::Turns)
    }
}

/// Strokes that draw flows, in the order of play, for a game of a profile.
///
/// A flow is drawn from the end that needs fewer segments; where both need as many, and for ways along
/// the grid where an order is asked for, from the end that suits the order. On boards that warp a flow
/// may take several strokes, which follow each other.
#[must_use]
pub fn plan(
    puzzle: &Puzzle,
    flows: &[Flow],
    method: Method,
    config: &Config,
    profile: Profile,
) -> Vec<Stroke> {
    let planned = method.for_profile(profile);
    let mut planning = Planning {
        puzzle,
        config,
        method: planned,
        // A game that needs such stops may not join pipes by itself either.
        skip_last_terminal: config.skip_last_terminal && method.is_grid() == planned.is_grid(),
        needs_every_cell: profile.needs_every_cell(),
        minlink: Minlink::default(),
    };
    let mut drafts: Vec<[Option<Draft>; 2]> =
        flows.iter().map(|flow| planning.drafts(flow)).collect();
    let mut strokes = Vec::with_capacity(flows.len());
    for visit in planning.visits(&drafts) {
        if let Some(draft) = drafts[visit.flow][usize::from(visit.turned)].take() {
            planning.draw(flows[visit.flow].colour, draft, &mut strokes);
        }
    }
    strokes
}

struct Planning<'a> {
    puzzle: &'a Puzzle,
    config: &'a Config,
    method: Method,
    skip_last_terminal: bool,
    needs_every_cell: bool,
    minlink: Minlink,
}

/// One way to draw a flow.
struct Draft {
    legs: Vec<Leg>,
    /// Where the legs have to stay; nothing for ways along the grid.
    corridors: Vec<Corridor>,
    /// The legs' ways, where they are found by counting their segments.
    ways: Vec<Vec<Point>>,
    /// The fewest segments of each leg, where they are counted alone.
    counts: Vec<usize>,
    segments: usize,
}

impl Planning<'_> {
    /// A flow as given and from its other end, or only one of them where that needs fewer segments.
    fn drafts(&mut self, flow: &Flow) -> [Option<Draft>; 2] {
        let board = self.puzzle.board();
        let given = self.draft(legs(board, &flow.cells, self.end(&flow.cells)));
        if self.method.is_grid() && !self.config.order {
            return [Some(given), None];
        }
        let turned = self.draft(self.legs_turned(flow, &given.legs));
        match given.segments.cmp(&turned.segments) {
            std::cmp::Ordering::Less => [Some(given), None],
            std::cmp::Ordering::Equal => [Some(given), Some(turned)],
            std::cmp::Ordering::Greater => [None, Some(turned)],
        }
    }

    fn legs_turned(&self, flow: &Flow, given: &[Leg]) -> Vec<Leg> {
        let board = self.puzzle.board();
        let cells: Vec<Cell> = flow.cells.iter().rev().copied().collect();
        let end = self.end(&cells);
        match given {
            // Without warps it is the same leg, which is found sooner this way.
            [leg] if !board.description().warps && leg.cells.len() == cells.len() => {
                let centres = leg.centres.iter().rev().copied().collect();
                vec![Leg {
                    cells,
                    centres,
                    end,
                }]
            }
            _ => legs(board, &cells, end),
        }
    }

    fn draft(&mut self, legs: Vec<Leg>) -> Draft {
        let board = self.puzzle.board();
        let mut corridors: Vec<Corridor> = Vec::new();
        if !self.method.is_grid() {
            let inner = inner_of(board, self.config.inner);
            corridors.extend(legs.iter().map(|leg| Corridor::of(board, leg, inner)));
        }
        let mut ways: Vec<Vec<Point>> = Vec::new();
        let mut counts: Vec<usize> = Vec::new();
        let segments = match self.method {
            Method::Cells => legs.iter().map(|leg| leg.dragged().len() - 1).sum(),
            Method::Turns => {
                let turns = |leg| grid::turning_places(leg).count() + 1;
                legs.iter().map(turns).sum()
            }
            Method::Corners => {
                ways.extend(corridors.iter().map(corners));
                ways.iter().map(|way| way.len() - 1).sum()
            }
            Method::FewestSegments => {
                counts.extend(corridors.iter().map(|it| self.minlink.count(it)));
                counts.iter().sum()
            }
        };
        Draft {
            legs,
            corridors,
            ways,
            counts,
            segments,
        }
    }

    /// Where a flow's way ends. Beside its terminal only where no other terminal of its colour is near,
    /// to which the game might join it.
    fn end(&self, cells: &[Cell]) -> End {
        let &[first, .., beside, last] = cells else {
            return End::InLast;
        };
        let board = self.puzzle.board();
        let colour = self.puzzle.terminal_at(last);
        let another =
            |cell: Cell| cell != first && cell != last && self.puzzle.terminal_at(cell) == colour;
        let near = self.puzzle.terminals().iter().map(|terminal| terminal.cell);
        let mut near = near.filter(|&cell| another(cell) && board.touch(beside, cell));
        if self.skip_last_terminal && near.next().is_none() {
            End::BesideTerminal
        } else {
            End::InLast
        }
    }

    /// The flows' turns. Their ends are taken for the centres of cells, which the ways are near to.
    fn visits(&self, drafts: &[[Option<Draft>; 2]]) -> Vec<Visit> {
        let choice = |pair: &[Option<Draft>; 2]| {
            let [given, turned] = pair.each_ref().map(|it| it.as_ref().map(Draft::ends));
            match (given, turned) {
                (Some(given), turned) => Choice { given, turned },
                (None, given) => Choice {
                    given: given.unwrap_or_default(),
                    turned: None,
                },
            }
        };
        let mut visits: Vec<Visit> = if self.config.order {
            let choices: Vec<Choice> = drafts.iter().map(choice).collect();
            order(&choices)
        } else {
            (0..drafts.len()).map(Visit::as_given).collect()
        };
        for visit in &mut visits {
            visit.turned |= drafts[visit.flow][0].is_none();
        }
        visits
    }

    fn draw(&mut self, colour: Colour, draft: Draft, strokes: &mut Vec<Stroke>) {
        let board = self.puzzle.board();
        let last = draft.legs.len().saturating_sub(1);
        let mut ways = draft.ways.into_iter();
        let mut counted = draft.corridors.iter().zip(draft.counts);
        for (index, leg) in draft.legs.iter().enumerate() {
            let mut points = match (self.method, counted.next()) {
                (Method::Corners, _) => ways.next().unwrap_or_default(),
                (Method::FewestSegments, Some((corridor, count))) => {
                    self.minlink.fewest_of(corridor, count).points
                }
                (Method::Cells, _) => grid::cells(leg),
                _ => grid::turns(leg),
            };
            if self.needs_every_cell {
                let inner = inner_of(board, self.config.inner).share();
                points = every_cell(board.description().lattice, inner, leg, &points);
            }
            let mut stroke = Stroke::new(colour, leg.dragged().to_vec(), points);
            stroke.held = index < last && self.config.warps == Warps::GoOn;
            strokes.push(stroke);
        }
    }
}

/// How much of a cell is used on a board. On hexes three quarters of what is asked for: a hexagon is a third
/// wider than the unit square in which a pointer is taken to be in its cell (see
/// [`place`](flowpipe_puzzle::place)), and its tips are to keep as far from that square's border.
#[must_use]
pub fn inner_of(board: &Board, asked: Inner) -> Inner {
    match board.description().lattice {
        Lattice::Square => asked,
        Lattice::Hex => Inner::try_from(asked.share() * 0.75).unwrap_or(asked),
    }
}

impl Draft {
    fn ends(&self) -> Ends {
        let press = |leg: &Leg| leg.centres[0];
        let release = |leg: &Leg| leg.centres[leg.dragged().len() - 1];
        let over = |pair: &[Leg]| distance(release(&pair[0]), press(&pair[1]));
        Ends {
            press: self.legs.first().map(press).unwrap_or_default(),
            release: self.legs.last().map(release).unwrap_or_default(),
            between: self.legs.windows(2).map(over).sum(),
        }
    }
}

#[cfg(test)]
mod tests;
