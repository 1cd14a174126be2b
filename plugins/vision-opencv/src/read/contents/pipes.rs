//! Traces the drawn pipes: where they cross from cell to cell, and the flows that they make.

use flowpipe_plugin::puzzle::graph::{Graph, Link, Node};
use flowpipe_plugin::puzzle::message::BoardState;
use flowpipe_plugin::puzzle::{Board, Cell, Colour, Flow, Point};

use crate::find::grid::Grid;
use crate::picture::cache::{Area, CacheKey, Measurement};
use crate::picture::colour::{distance, median, square_distance};
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_contents::CellContent;
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::colours::{PipeLook, TerminalColours, painted};
use crate::read::contents::courses;
use crate::read::contents::terminals::BoardColours;
use crate::read::contents::tiles;
use crate::refuse::refusal::Refusal;

/// How far to both sides of a side of a cell a crossing pipe is examined, in spans.
const ALONG: f64 = 0.08;
/// How far from its middle: pipes may be as narrow as a fifth of a cell.
const ACROSS: f64 = 0.05;
/// Where a pipe leaves over an edge of the board nothing of it is beyond: it is examined from here on.
const BEFORE_EDGE: f64 = 0.1;
/// A pipe without a paint stands out by this share of what the faintest terminal does.
const STROKE: f64 = 0.4;

/// What is strange about a pipe that no terminal is at an end of.
pub const FROM_NOWHERE: &str = "comes from no terminal";

/// What is drawn on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnPipes {
    /// Each from a terminal.
    pub flows: Vec<Flow>,
    /// How far the board is played.
    pub state: BoardState,
}

/// A pipe that crosses a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crossing {
    to: Node,
    /// `None` where pipes have no paint of their own.
    colour: Option<Colour>,
}

/// The colours before, on and behind the middle of a side.
struct CrossingColours;

impl Measurement for CrossingColours {
    type Value = Option<[Rgb; 3]>;
}

/// Where pipes are looked for.
pub struct Scene<'a> {
    /// The picture.
    pub picture: &'a Picture<'a>,
    /// Where in cells to look.
    pub places: &'a CellLayout<'a>,
    /// The cells' colours.
    pub looks: &'a BoardColours,
    /// The paints of terminals.
    pub paints: &'a TerminalColours,
}

/// Traces the pipes.
///
/// # Errors
/// [`Refusal::StrangePipe`] where what is drawn cannot have come from the game.
pub fn trace(
    scene: &Scene<'_>,
    grid: &Grid,
    board: &Board,
    contents: &[CellContent],
) -> Result<DrawnPipes, Refusal> {
    let (graph, paints) = (board.graph(), scene.paints);
    if paints.pipes == PipeLook::Filled {
        return courses::trace(&scene.filled(contents), paints, grid, board);
    }
    let strange = |cell: Cell, what| Refusal::StrangePipe {
        row: cell / grid.cols() + 1,
        col: cell % grid.cols() + 1,
        what,
    };
    let mut crossings: Vec<Vec<Crossing>> = vec![Vec::new(); graph.len()];
    for node in 0..graph.len() {
        // Each link is there from both of its ends.
        for link in graph.links(node).iter().filter(|link| link.node > node) {
            if let Some(colour) = scene.crossing(graph, board, node, link) {
                let to = |to| Crossing { to, colour };
                crossings[node].push(to(link.node));
                crossings[link.node].push(to(node));
            }
        }
    }
    let mut terminal_at = vec![None; graph.len()];
    for terminal in &paints.terminals {
        for &node in graph.nodes_of(terminal.cell) {
            terminal_at[node] = Some(terminal.colour);
        }
    }
    for (node, crossings) in crossings.iter().enumerate() {
        let cell = graph.cell_of(node);
        if crossings
            .windows(2)
            .any(|pair| pair[0].colour != pair[1].colour)
        {
            return Err(strange(cell, "changes its colour"));
        }
        let most = match contents[cell] {
            CellContent::Terminal => 1,
            CellContent::Pipe | CellContent::Bridge => 2,
            CellContent::Empty => 0,
        };
        if crossings.len() > most {
            return Err(strange(cell, "branches or passes through what is no pipe"));
        }
        if let (Some(own), Some(first)) = (terminal_at[node], crossings.first())
            && first.colour.is_some_and(|colour| colour != own)
        {
            return Err(strange(cell, "ends at a terminal of another colour"));
        }
    }
    let mut reached = vec![false; graph.len()];
    let flows = follow(paints, graph, &crossings, &mut reached);
    let joins = |flow: &Flow| {
        let last = flow
            .cells
            .last()
            .and_then(|&last| graph.nodes_of(last).first());
        last.and_then(|&last| terminal_at[last])
    };
    // The game takes a pipe away when its colour is drawn from the other terminal.
    let mut drawn = vec![false; paints.palette.len()];
    for flow in &flows {
        if std::mem::replace(&mut drawn[usize::from(flow.colour)], true) {
            return Err(strange(
                flow.cells[0],
                "begins at both terminals and is broken",
            ));
        }
        if joins(flow).is_some_and(|colour| colour != flow.colour) {
            return Err(strange(flow.cells[0], "joins two colours"));
        }
    }
    let stray = |&node: &Node| {
        let drawn =
            contents[graph.cell_of(node)] == CellContent::Pipe || !crossings[node].is_empty();
        drawn && !reached[node]
    };
    if let Some(node) = (0..graph.len()).find(stray) {
        return Err(strange(graph.cell_of(node), FROM_NOWHERE));
    }
    let is_joined = |flow: &&Flow| flow.cells.len() > 1 && joins(flow).is_some();
    let solved = reached.iter().all(|&reached| reached)
        && flows.iter().filter(is_joined).count() == paints.palette.len();
    let state = match (flows.is_empty(), solved) {
        (true, _) => BoardState::Empty,
        (_, true) => BoardState::Solved,
        _ => BoardState::Partial,
    };
    Ok(DrawnPipes { flows, state })
}

/// Follows the crossings from each terminal, a joined flow from its first terminal only.
fn follow(
    paints: &TerminalColours,
    graph: &Graph,
    crossings: &[Vec<Crossing>],
    reached: &mut [bool],
) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for terminal in &paints.terminals {
        let Some(&start) = graph.nodes_of(terminal.cell).first() else {
            continue;
        };
        if reached[start] || crossings[start].is_empty() {
            continue;
        }
        let mut cells = vec![terminal.cell];
        reached[start] = true;
        let mut current = start;
        while let Some(next) = crossings[current].iter().find(|next| !reached[next.to]) {
            current = next.to;
            reached[current] = true;
            cells.push(graph.cell_of(current));
        }
        flows.push(Flow {
            colour: terminal.colour,
            cells,
        });
    }
    flows
}

impl Scene<'_> {
    /// Whether each pipe has the paint of its terminals.
    fn is_painted(&self) -> bool {
        self.paints.pipes != PipeLook::Inked
    }

    /// The cells that pipes fill, with their colours.
    fn filled(&self, contents: &[CellContent]) -> Vec<(Cell, Colour)> {
        let pipes = self
            .looks
            .there()
            .filter(|(cell, _)| contents[*cell] == CellContent::Pipe);
        let filled = pipes.filter_map(|(cell, look)| {
            Some((cell, tiles::filled(look, self.paints, self.looks.faintest)?))
        });
        filled.collect()
    }

    /// The pipe that crosses from a node to another, if one does, by its colour.
    fn crossing(
        &self,
        graph: &Graph,
        board: &Board,
        node: Node,
        link: &Link,
    ) -> Option<Option<Colour>> {
        let cells = [graph.cell_of(node), graph.cell_of(link.node)];
        let opposite = link.direction.opposite(board.description().lattice);
        let [here, there] =
            [(cells[0], link.direction), (cells[1], opposite)].map(|(cell, direction)| {
                let (centre, side) = (self.places.centre(cell), self.places.side(direction));
                ([centre[0] + side[0], centre[1] + side[1]], side)
            });
        let (point, side) = here;
        let apart = (point[0] - there.0[0]).hypot(point[1] - there.0[1]);
        if apart < 0.25 * self.places.span {
            let middle = [0, 1].map(|axis| f64::midpoint(point[axis], there.0[axis]));
            return self.covered(cells, middle, side, [-ALONG, 0.0, ALONG]);
        }
        // Over the edge: it must be seen at both ends.
        let inside = [-BEFORE_EDGE - ALONG, -BEFORE_EDGE, -BEFORE_EDGE / 2.0];
        // No pipe goes over a number: beside one there is nothing to be seen of it.
        let is_number = |cell: Cell| {
            let look = self.looks.cells[cell].as_ref();
            !self.is_painted() && look.is_some_and(|look| look.terminal.is_some())
        };
        match cells.map(is_number) {
            [true, true] => None,
            [true, false] => self.covered([cells[1]; 2], there.0, there.1, inside),
            [false, true] => self.covered([cells[0]; 2], point, side, inside),
            [false, false] => {
                let colour = self.covered([cells[0]; 2], point, side, inside)?;
                let other = self.covered([cells[1]; 2], there.0, there.1, inside)?;
                (colour == other).then_some(colour)
            }
        }
    }

    /// The colours before, on and behind the middle of a side. `None` where that lies outside of the picture.
    fn patch(&self, [x, y]: Point, side: Point, along: [f64; 3]) -> Option<[Rgb; 3]> {
        let length = side[0].hypot(side[1]).max(1.0);
        let out = side.map(|side| side / length * self.places.span);
        // Across the pipe each is a mean, so that noise is less.
        let mut patch = [Rgb::default(); 3];
        for (colour, along) in patch.iter_mut().zip(along) {
            let mut sum = [0; 3];
            for across in [-ACROSS, 0.0, ACROSS] {
                let point = [
                    x + along * out[0] - across * out[1],
                    y + along * out[1] + across * out[0],
                ];
                let seen = self.places.soft(self.picture, point)?;
                for (sum, value) in sum.iter_mut().zip(seen) {
                    *sum += u16::from(value);
                }
            }
            *colour = sum.map(|sum| (sum / 3) as u8);
        }
        Some(patch)
    }

    /// The pipe that covers the middle of a side: before, on and behind it the picture must be nearer to
    /// one paint than to the background, the grid line included. `side`: the middle from its cell's centre.
    fn covered(
        &self,
        cells: [Cell; 2],
        [x, y]: Point,
        side: Point,
        along: [f64; 3],
    ) -> Option<Option<Colour>> {
        let most = along
            .iter()
            .fold(0.0, |most: f64, along| most.max(along.abs()));
        let reach = (most + ACROSS) * self.places.span + 3.0;
        let patch = self.picture.recall::<CrossingColours>(
            || {
                let key = CacheKey::new([x, y, side[0], side[1], along[0]]);
                (key, Area::around([x, y], [reach; 2]))
            },
            || self.patch([x, y], side, along),
        )?;
        let backgrounds = cells.map(|cell| self.looks.cells[cell].as_ref().map(|it| it.background));
        let [Some(a), Some(b)] = backgrounds else {
            return None;
        };
        let colour = median(&patch);
        if !self.is_painted() {
            let least = STROKE * self.looks.faintest;
            let stands_out = |&point: &Rgb| distance(point, a).min(distance(point, b)) > least;
            return patch.iter().all(stands_out).then_some(None);
        }
        let paints = self.paints.palette.iter().enumerate();
        let (number, &paint) = paints.min_by_key(|(_, paint)| square_distance(**paint, colour))?;
        let on_paint = |&point: &Rgb| painted(point, paint, a) && painted(point, paint, b);
        patch.iter().all(on_paint).then_some(Some(number as Colour))
    }
}
