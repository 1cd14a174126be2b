//! Pictures of a session, one after the other.

use std::sync::Arc;

use flowpipe_puzzle::{Flow, Puzzle};

use super::canvas::Canvas;
use super::{Header, Layout, Pixels, Scene, SizeError, Style, backdrop, board, flip, header};
use crate::session::{Face, View};

/// Red, green, blue of the board's lines.
const LINE: [u8; 3] = [90, 90, 60];

/// Draws views. It keeps what stays the same from one to the next: the backdrop, and the two boards
/// of a flip without their flows.
pub struct Painter {
    lights: u64,
    backdrop: Option<Canvas>,
    boards: Vec<(Arc<Puzzle>, Canvas)>,
}

impl Painter {
    /// Nothing is drawn yet. `lights`: where the lights behind the board are, any number.
    #[must_use]
    pub fn new(lights: u64) -> Self {
        Self {
            lights,
            backdrop: None,
            boards: Vec::new(),
        }
    }

    /// Draws a view in [`Style::Window`].
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn paint(&mut self, view: &View, width: u32, height: u32) -> Result<Pixels, SizeError> {
        let size = (width, height);
        let Some(flip) = &view.flip else {
            let mut canvas = self.with_board(&view.face, &view.header, size)?;
            let scene = self.scene(&view.face.puzzle, &view.face.flows, &view.header);
            header::draw(&mut canvas, &scene, &layout(&view.face, size));
            return Ok(canvas.into_pixels());
        };
        let turn = flip::Turn::new(flip.share);
        let face = if turn.shows_back() {
            &view.face
        } else {
            &*flip.from
        };
        let flat = self.with_board(face, &view.header, size)?;
        let mut canvas = self.backdrop(&view.face, &view.header, size)?.clone();
        let scene = self.scene(&view.face.puzzle, &view.face.flows, &view.header);
        header::draw(&mut canvas, &scene, &layout(&view.face, size));
        turn.draw(&mut canvas, &flat, layout(face, size).board_xywh());
        Ok(canvas.into_pixels())
    }

    fn scene<'a>(&self, puzzle: &'a Puzzle, flows: &'a [Flow], header: &Header) -> Scene<'a> {
        Scene {
            puzzle,
            flows,
            style: Style::Window,
            palette: &[],
            line: LINE,
            lights: self.lights,
            header: header.clone(),
        }
    }

    /// The backdrop with a board and its flows.
    fn with_board(
        &mut self,
        face: &Face,
        header: &Header,
        size: (u32, u32),
    ) -> Result<Canvas, SizeError> {
        let layout = layout(face, size);
        let is_kept = |(puzzle, canvas): &(Arc<Puzzle>, Canvas)| {
            Arc::ptr_eq(puzzle, &face.puzzle) && has_size(canvas, size)
        };
        let mut canvas = match self.boards.iter().find(|kept| is_kept(kept)) {
            Some((_, kept)) => kept.clone(),
            None => {
                let mut canvas = self.backdrop(face, header, size)?.clone();
                let scene = self.scene(&face.puzzle, &[], header);
                board::draw(&mut canvas, &scene, &layout);
                self.boards.truncate(1);
                let kept = (Arc::clone(&face.puzzle), canvas.clone());
                self.boards.insert(0, kept);
                canvas
            }
        };
        let scene = self.scene(&face.puzzle, &face.flows, header);
        board::draw_flows(&mut canvas, &scene, &layout);
        Ok(canvas)
    }

    fn backdrop(
        &mut self,
        face: &Face,
        header: &Header,
        size: (u32, u32),
    ) -> Result<&Canvas, SizeError> {
        let kept = self.backdrop.take();
        let backdrop = match kept.filter(|kept| has_size(kept, size)) {
            Some(kept) => kept,
            None => {
                let mut fresh = Canvas::new(size.0, size.1)?;
                backdrop::draw(&mut fresh, &self.scene(&face.puzzle, &[], header));
                fresh
            }
        };
        Ok(self.backdrop.insert(backdrop))
    }
}

fn layout(face: &Face, (width, height): (u32, u32)) -> Layout {
    Layout::new(Style::Window, face.puzzle.board(), width, height)
}

fn has_size(canvas: &Canvas, (width, height): (u32, u32)) -> bool {
    (canvas.width(), canvas.height()) == (width as usize, height as usize)
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Board;

    use super::*;
    use crate::generate::generate;
    use crate::render::render;
    use crate::session::Flip;

    fn face(seed: u64, flows: usize) -> Face {
        let board = Board::rectangle(6, 5).expect("a board");
        let (puzzle, solution) = generate(&board, 5, seed).expect("a puzzle");
        let flows = solution.flows[..flows].to_vec();
        let puzzle = Arc::new(puzzle);
        Face { puzzle, flows }
    }

    fn view(face: Face, flip: Option<Flip>) -> View {
        View {
            header: Header::default(),
            face,
            flip,
        }
    }

    /// How many pixels differ by more than a shade, in thousandths.
    fn difference(a: &Pixels, b: &Pixels) -> usize {
        let pixels = a.rgba.chunks_exact(4).zip(b.rgba.chunks_exact(4));
        let differ = pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 12));
        differ.count() * 1000 / (a.rgba.len() / 4)
    }

    #[test]
    fn what_is_kept_changes_nothing() {
        let mut painter = Painter::new(3);
        let full = face(1, 5);
        for count in [0, 3, 1, 5] {
            let flows = full.flows[..count].to_vec();
            let puzzle = Arc::clone(&full.puzzle);
            let view = view(Face { puzzle, flows }, None);
            let painted = painter.paint(&view, 300, 600).expect("a picture");
            let mut fresh = Painter::new(3);
            assert_eq!(fresh.paint(&view, 300, 600).expect("a picture"), painted);
            let scene = painter.scene(&view.face.puzzle, &view.face.flows, &view.header);
            let whole = render(&scene, 300, 600).expect("a picture");
            // A line's edge shares a pixel with the tint beside it, of which a quarter is seen.
            let pairs = whole.rgba.iter().zip(&painted.rgba);
            let largest = pairs.map(|(a, b)| a.abs_diff(*b)).max();
            assert!(largest < Some(64), "{largest:?} at {count} flows");
            assert!(difference(&whole, &painted) < 5, "{count} flows");
        }
    }

    #[test]
    fn a_flip_goes_from_one_board_to_the_other() {
        let (from, to) = (face(1, 5), face(2, 0));
        let mut painter = Painter::new(3);
        let mut at = |face: &Face, share: Option<f64>| {
            let from = Arc::new(from.clone());
            let flip = share.map(|share| Flip { from, share });
            let view = view(face.clone(), flip);
            painter.paint(&view, 300, 600).expect("a picture")
        };
        let (first, last) = (at(&from, None), at(&to, None));
        assert!(difference(&first, &last) > 50);
        assert!(difference(&at(&to, Some(0.0)), &first) < 5);
        assert!(difference(&at(&to, Some(1.0)), &last) < 5);
        // On edge hardly anything of either is seen.
        let edge = at(&to, Some(0.5));
        let middle = edge.at(75, 300).expect("inside");
        assert!(middle.iter().all(|&value| value < 60), "{middle:?}");
    }
}
