//! Cells, lines, pipes and terminals.

use flowpipe_puzzle::place::{centre, corners, direction, offset};
use flowpipe_puzzle::{Board, Cell, Colour, Flow, Point};

use super::canvas::{Canvas, Ink};
use super::lines::{self, Lines, from_centre, outline};
use super::{Layout, Scene, mark};

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    let board = scene.puzzle.board();
    let dim = Ink {
        paint: scene.theme.ground(),
        opacity: scene.theme.dimming(),
    };
    canvas.areas(board.cells().map(|cell| outline(board, layout, cell)), dim);
    let flows = scene.flows.iter().filter(|flow| is_on(board, flow));
    let flows: Vec<_> = flows.map(|flow| (flow, ends(flow))).collect();
    let stretches: Vec<_> = flows.iter().map(|(flow, ends)| whole(flow, ends)).collect();
    for flow in &stretches {
        let cells = flow.tinted.iter();
        let areas = cells.map(|&cell| inside(board, layout, cell, scene.theme.tinted()));
        tint(canvas, scene, flow, areas);
    }
    Lines::all(board, layout).draw(canvas, scene, layout);
    let is_over = covers_terminals(scene);
    let draw_pipes = |canvas: &mut Canvas| {
        for flow in &stretches {
            draw_pipe(canvas, scene, layout, flow);
        }
    };
    if !is_over {
        draw_pipes(canvas);
    }
    for terminal in scene.puzzle.terminals() {
        mark::draw(canvas, scene, layout, terminal.cell, terminal.colour);
    }
    if is_over {
        draw_pipes(canvas);
    }
}

fn covers_terminals(scene: &Scene) -> bool {
    scene
        .theme
        .pipe()
        .is_some_and(|pipe| pipe.is_over_terminals)
}

/// A stretch of a flow: cells one after the other.
pub(super) struct Stretch<'a> {
    pub(super) colour: Colour,
    /// All cells that the pipe is drawn through.
    pub(super) cells: &'a [Cell],
    /// Those of them that are tinted.
    pub(super) tinted: &'a [Cell],
    /// Those of them that are the flow's ends.
    pub(super) ends: &'a [Cell],
}

/// The first and the last cell of a flow.
pub(super) fn ends(flow: &Flow) -> Vec<Cell> {
    let ends = flow.cells.iter().take(1).chain(flow.cells.last());
    ends.copied().collect()
}

/// All of a flow with its [`ends`].
pub(super) fn whole<'a>(flow: &'a Flow, ends: &'a [Cell]) -> Stretch<'a> {
    Stretch {
        colour: flow.colour,
        cells: &flow.cells,
        tinted: &flow.cells,
        ends,
    }
}

/// Draws stretches of flows onto a board that was drawn without flows, which costs much less than
/// drawing it all. Only the edges of lines beside drawn cells differ from [`draw`]'s, by a shade. The
/// scene's own flows are not examined.
pub(super) fn draw_stretches(
    canvas: &mut Canvas,
    scene: &Scene,
    layout: &Layout,
    stretches: &[Stretch],
) {
    let board = scene.puzzle.board();
    // The lines are there already: the tint stays between the thin ones.
    let inner = 1.0 - lines::width(layout) / layout.cell_size();
    let inner = inner.min(scene.theme.tinted());
    let area = |&cell: &Cell| inside(board, layout, cell, inner);
    for flow in stretches {
        tint(canvas, scene, flow, flow.tinted.iter().map(area));
    }
    if scene.theme.tint() > 0.0 {
        let tinted = stretches.iter().flat_map(|flow| flow.tinted);
        let tinted: Vec<Cell> = tinted.copied().collect();
        Lines::thick_on(board, layout, &tinted).draw(canvas, scene, layout);
    }
    for flow in stretches {
        draw_pipe(canvas, scene, layout, flow);
        // Numbers are never covered, or stay so.
        let is_covered = scene
            .theme
            .pipe()
            .is_none_or(|pipe| pipe.clear == 0.0 && !pipe.is_over_terminals);
        let covered = flow.ends.iter().filter(|_| is_covered);
        for &cell in covered.filter(|&&cell| scene.puzzle.terminal_at(cell).is_some()) {
            mark::draw(canvas, scene, layout, cell, flow.colour);
        }
    }
}

/// The corners of a cell about its centre, with sides that are a share of its own, in frame pixels.
pub(super) fn inside(board: &Board, layout: &Layout, cell: Cell, share: f64) -> Vec<Point> {
    let corners = corners(board.description().lattice).iter();
    corners
        .map(|&[x, y]| from_centre(board, layout, cell, [x * share, y * share]))
        .collect()
}

/// Whether all cells of a flow are on the board.
pub(super) fn is_on(board: &Board, flow: &Flow) -> bool {
    flow.cells.iter().all(|&cell| board.exists(cell))
}

fn tint(
    canvas: &mut Canvas,
    scene: &Scene,
    flow: &Stretch,
    areas: impl Iterator<Item = Vec<Point>>,
) {
    let opacity = scene.theme.tint();
    if opacity > 0.0 {
        let paint = scene.theme.paint(scene.palette, flow.colour);
        canvas.areas(areas, Ink { paint, opacity });
    }
}

fn draw_pipe(canvas: &mut Canvas, scene: &Scene, layout: &Layout, flow: &Stretch) {
    let size = layout.cell_size();
    let ink = scene.theme.paint(scene.palette, flow.colour).into();
    let Some(look) = scene.theme.pipe() else {
        return;
    };
    let mut lines = pipe(scene.puzzle.board(), layout, flow.cells);
    let is_number = |cell: Option<&Cell>| {
        cell.is_some_and(|cell| {
            flow.ends.contains(cell) && scene.puzzle.terminal_at(*cell).is_some()
        })
    };
    let clear = look.clear * size;
    if clear > 0.0
        && let Some(first) = lines.first_mut().filter(|_| is_number(flow.cells.first()))
    {
        shorten(first, clear);
    }
    if clear > 0.0
        && let Some(last) = lines.last_mut().filter(|_| is_number(flow.cells.last()))
    {
        last.reverse();
        shorten(last, clear);
    }
    if look.is_flat {
        canvas.flat_lines(lines, look.width * size, ink);
    } else {
        canvas.lines(lines, look.width * size, ink);
    }
}

/// Takes a length off the beginning of a line, or its only point.
fn shorten(line: &mut Vec<Point>, length: f64) {
    let [[x, y], [to_x, to_y], ..] = line[..] else {
        line.clear();
        return;
    };
    let share = (length / (to_x - x).hypot(to_y - y)).min(1.0);
    line[0] = [x + (to_x - x) * share, y + (to_y - y) * share];
}

/// The lines of a pipe: one, or several where it goes over an edge of the board.
fn pipe(board: &Board, layout: &Layout, cells: &[Cell]) -> Vec<Vec<Point>> {
    let Some(&first) = cells.first() else {
        return Vec::new();
    };
    let middle = |cell| from_centre(board, layout, cell, [0.0, 0.0]);
    let mut lines = Vec::new();
    let mut line = vec![middle(first)];
    for pair in cells.windows(2) {
        let (from, to) = (centre(board, pair[0]), centre(board, pair[1]));
        // Cells that are no step apart are joined straight: the picture shows what it is given.
        if let Some(way) = direction(board, pair[0], pair[1]) {
            let [dx, dy] = offset(board.description().lattice, way);
            if [from[0] + dx, from[1] + dy] != to {
                line.push(layout.to_frame([from[0] + dx / 2.0, from[1] + dy / 2.0]));
                let entry = layout.to_frame([to[0] - dx / 2.0, to[1] - dy / 2.0]);
                lines.push(std::mem::replace(&mut line, vec![entry]));
            }
        }
        line.push(middle(pair[1]));
    }
    lines.push(line);
    lines
}
