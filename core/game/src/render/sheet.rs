//! A board that lies flat, drawn again only where something has changed.

use std::sync::Arc;

use flowpipe_puzzle::{Cell, Colour, Flow, Lattice, Puzzle};

use super::board::{self, Stretch, ends, whole};
use super::canvas::Canvas;
use super::header;
use super::writing::Writing;
use super::{Appearance, Area, Header, Layout};

/// A board, its flows, the writing above it and the buttons below.
///
/// Each cell is a picture of its own, cut off at the cell's borders: what is seen in it depends on
/// nothing but the pieces of flows in it, and not on what was drawn before.
pub(super) struct Sheet {
    look: Appearance,
    puzzle: Arc<Puzzle>,
    layout: Layout,
    size: (u32, u32),
    /// Without flows and writing.
    empty: Canvas,
    canvas: Canvas,
    flows: Vec<Flow>,
    /// The pieces of the flows, by cell.
    pieces: Vec<Vec<Piece>>,
    writing: Writing,
}

/// What a flow has in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    colour: Colour,
    before: Option<Cell>,
    after: Option<Cell>,
}

impl Sheet {
    /// An empty board on a backdrop, which may be of any look.
    pub(super) fn new(
        backdrop: &Canvas,
        look: Appearance,
        puzzle: Arc<Puzzle>,
        layout: Layout,
    ) -> Self {
        let mut empty = backdrop.clone();
        let scene = look.scene(&puzzle, &[], &Header::default());
        board::draw(&mut empty, &scene, &layout);
        header::draw_window_buttons(&mut empty, look.theme, &layout);
        Self {
            look,
            canvas: empty.clone(),
            size: backdrop.size(),
            empty,
            flows: Vec::new(),
            pieces: vec![Vec::new(); puzzle.board().len()],
            puzzle,
            layout,
            writing: Writing::default(),
        }
    }

    pub(super) fn is_of(&self, puzzle: &Arc<Puzzle>) -> bool {
        Arc::ptr_eq(&self.puzzle, puzzle)
    }

    pub(super) fn canvas(&self) -> &Canvas {
        &self.canvas
    }

    /// All that is drawn on the backdrop, except for the buttons.
    pub(super) fn covers(&self) -> impl Iterator<Item = Area> {
        let [left, top, width, height] = self.layout.extent;
        // Lines stand out over the edge.
        let around = self.layout.cell_size() * 0.2 + 4.0;
        let board = Area::between(
            [left - around, top - around],
            [left + width + around, top + height + around],
            self.size,
        );
        self.writing.covers(self.size).chain(board)
    }

    /// The board with these flows and no others, and without writing: a turned board shows a little
    /// of what lies beside it.
    pub(super) fn unwritten(&mut self, flows: &[Flow]) -> &Canvas {
        self.show(flows, &mut Vec::new());
        self.writing.wipe(&mut self.canvas, &self.empty);
        &self.canvas
    }

    /// Shows these flows and no others; what has changed is added to `changed`.
    pub(super) fn show(&mut self, flows: &[Flow], changed: &mut Vec<Area>) {
        if self.flows == flows {
            return;
        }
        self.flows = flows.to_vec();
        self.flows
            .retain(|flow| board::is_on(self.puzzle.board(), flow));
        let pieces = pieces(self.puzzle.board().len(), &self.flows);
        let was = std::mem::replace(&mut self.pieces, pieces);
        let description = self.puzzle.board().description();
        if description.lattice != Lattice::Square || description.warps {
            // Pipes leave the cells' squares.
            self.show_all(changed);
            return;
        }
        for (cell, was) in was.iter().enumerate() {
            if self.pieces[cell] != *was {
                self.show_cell(cell, changed);
            }
        }
    }

    fn show_all(&mut self, changed: &mut Vec<Area>) {
        let all = Area::whole(self.size);
        self.canvas.copy(&self.empty, all);
        let ends: Vec<_> = self.flows.iter().map(ends).collect();
        let flows = self.flows.iter().zip(&ends);
        let stretches: Vec<_> = flows.map(|(flow, ends)| whole(flow, ends)).collect();
        let scene = self.look.scene(&self.puzzle, &[], &Header::default());
        board::draw_stretches(&mut self.canvas, &scene, &self.layout, &stretches);
        self.writing = Writing::default();
        changed.push(all);
    }

    fn show_cell(&mut self, cell: Cell, changed: &mut Vec<Area>) {
        let (row, col) = self.puzzle.board().row_col(cell);
        let corner = |row: usize, col: usize| self.layout.to_frame([col as f64, row as f64]);
        let area = Area::between(corner(row, col), corner(row + 1, col + 1), self.size);
        // In a tiny window a cell may have no pixel of its own.
        let Some((area, mut part)) = area.and_then(|area| Some((area, self.empty.part(area)?)))
        else {
            return;
        };
        let (own, pieces) = ([cell], self.pieces[cell].iter());
        let cells: Vec<Vec<Cell>> = pieces
            .map(|piece| [piece.before, Some(cell), piece.after])
            .map(|cells| cells.into_iter().flatten().collect())
            .collect();
        let pieces = self.pieces[cell].iter().zip(&cells);
        let stretches: Vec<_> = pieces
            .map(|(piece, cells)| Stretch {
                colour: piece.colour,
                cells,
                tinted: &own,
                ends: if cells.len() < 3 { &own } else { &[] },
            })
            .collect();
        let scene = self.look.scene(&self.puzzle, &[], &Header::default());
        board::draw_stretches(&mut part, &scene, &self.layout, &stretches);
        self.canvas.paste(&part);
        changed.push(area);
    }

    /// Writes above the board; what has changed is added to `changed`.
    pub(super) fn write(&mut self, look: Appearance, header: &Header, changed: &mut Vec<Area>) {
        let (canvas, clean) = (&mut self.canvas, &self.empty);
        let scene = look.scene(&self.puzzle, &[], header);
        self.writing
            .update(canvas, clean, &scene, &self.layout, changed);
    }
}

fn pieces(cells: usize, flows: &[Flow]) -> Vec<Vec<Piece>> {
    let mut pieces = vec![Vec::new(); cells];
    for flow in flows {
        for (index, &cell) in flow.cells.iter().enumerate() {
            pieces[cell].push(Piece {
                colour: flow.colour,
                before: index.checked_sub(1).map(|before| flow.cells[before]),
                after: flow.cells.get(index + 1).copied(),
            });
        }
    }
    pieces
}
