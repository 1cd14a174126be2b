//! Pictures of a session, one after the other.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use flowpipe_puzzle::{Flow, Puzzle};

use super::canvas::Canvas;
use super::flip::Turn;
use super::sheet::Sheet;
use super::writing::Writing;
use super::{
    Area, Header, Layout, Pixels, Scene, SizeError, Style, Theme, backdrop, cover, header,
};
use crate::cover::Cover;
use crate::session::{Flip, View};

/// Red, green, blue of the board's lines.
const LINE: [u8; 3] = [90, 90, 60];

/// Pictures whose shorter side has fewer pixels are drawn from scratch each time.
const SMALL: u32 = 250;

/// Draws views. Each picture is the one before with what has changed redrawn: a few cells and the
/// writing while a board is played.
pub struct Painter {
    look: Appearance,
    size: (u32, u32),
    backdrop: Option<Canvas>,
    /// The last two boards, the newer one first.
    sheets: Vec<Sheet>,
    turning: Option<Turning>,
    last: Option<Last>,
    /// A board with what covers it.
    covered: Option<Canvas>,
}

/// A view, drawn.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Red, green, blue and alpha (always 255) of each pixel, rows from the top, without padding.
    pub rgba: &'a [u8],
    /// All pixels that differ from the picture before lie in these.
    pub changed: Vec<Area>,
}

/// What all pictures of a painter share.
#[derive(Clone, Copy)]
pub(super) struct Appearance {
    pub(super) lights: u64,
    pub(super) theme: Theme,
    pub(super) style: Style,
}

/// What the last picture showed.
enum Last {
    Flat(Arc<Puzzle>),
    Turning,
    Covered,
}

/// The picture of a flip.
struct Turning {
    /// Whose writing and buttons are behind the board.
    puzzle: Arc<Puzzle>,
    behind: Canvas,
    writing: Writing,
    canvas: Canvas,
    /// Where the board is.
    board: Option<Area>,
}

impl Painter {
    /// Nothing is drawn yet. `lights`: where the lights behind the board are, any number.
    #[must_use]
    pub fn new(lights: u64) -> Self {
        Self {
            look: Appearance {
                lights,
                theme: Theme::default(),
                style: Style::Window,
            },
            size: (0, 0),
            backdrop: None,
            sheets: Vec::new(),
            turning: None,
            last: None,
            covered: None,
        }
    }

    /// The same in a theme. What was drawn is forgotten.
    #[must_use]
    pub fn with_theme(self, theme: Theme) -> Self {
        self.with_look(Appearance { theme, ..self.look })
    }

    /// The same in a style: [`Style::Window`] unless it is set. What was drawn is forgotten.
    #[must_use]
    pub fn with_style(self, style: Style) -> Self {
        self.with_look(Appearance { style, ..self.look })
    }

    fn with_look(&self, look: Appearance) -> Self {
        Self {
            look,
            ..Self::new(look.lights)
        }
    }

    /// Draws a view.
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn paint(&mut self, view: &View, width: u32, height: u32) -> Result<Pixels, SizeError> {
        let picture = self.update(view, width, height)?;
        Ok(Pixels {
            width,
            height,
            rgba: picture.rgba.to_vec(),
        })
    }

    /// Draws a view over the one before, and returns what has changed.
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn update(
        &mut self,
        view: &View,
        width: u32,
        height: u32,
    ) -> Result<Picture<'_>, SizeError> {
        // In a tiny picture the writing runs into the board: nothing is kept of it.
        if self.size != (width, height) || width.min(height) < SMALL {
            *self = self.with_look(self.look);
            self.size = (width, height);
        }
        let (rgba, changed) = match (&view.flip, view.cover) {
            (None, None) => self.flat(view)?,
            (None, Some(cover)) => self.covered(view, cover)?,
            (Some(flip), _) => self.turning(view, flip)?,
        };
        Ok(Picture {
            width,
            height,
            rgba,
            changed,
        })
    }

    /// Draws ahead what the views after this one will need: the board that a flip is about to show.
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn prepare(&mut self, view: &View) -> Result<(), SizeError> {
        if view.flip.is_some() {
            self.sheet(&view.face.puzzle)?;
        }
        Ok(())
    }

    fn flat(&mut self, view: &View) -> Result<(&[u8], Vec<Area>), SizeError> {
        let (look, size) = (self.look, self.size);
        let puzzle = &view.face.puzzle;
        let was = self.last.replace(Last::Flat(Arc::clone(puzzle)));
        // A board that lands lies where the picture of its flip was made for.
        let turning = self.turning.as_ref();
        let landed = turning.filter(|turning| Arc::ptr_eq(&turning.puzzle, puzzle));
        let covered = landed.map(|turning| turning.covers().collect::<Vec<_>>());
        let sheet = self.sheet(puzzle)?;
        let mut changed = Vec::new();
        sheet.show(&view.face.flows, &mut changed);
        sheet.write(look, &view.header, &mut changed);
        match (was, covered) {
            (Some(Last::Flat(was)), _) if Arc::ptr_eq(&was, puzzle) => {}
            (Some(Last::Turning), Some(covered)) => {
                changed = covered;
                changed.extend(sheet.covers());
            }
            _ => changed = vec![Area::whole(size)],
        }
        Ok((sheet.canvas().rgba(), changed))
    }

    fn covered(&mut self, view: &View, cover: &Cover) -> Result<(&[u8], Vec<Area>), SizeError> {
        self.flat(view)?;
        self.last = Some(Last::Covered);
        let (look, size) = (self.look, self.size);
        let puzzle = &view.face.puzzle;
        let mut canvas = self.sheet(puzzle)?.canvas().clone();
        let layout = look.layout(puzzle, size);
        cover::draw(&mut canvas, look.theme, &layout, puzzle.board(), cover);
        let rgba = self.covered.insert(canvas).rgba();
        Ok((rgba, vec![Area::whole(size)]))
    }

    fn turning(&mut self, view: &View, flip: &Flip) -> Result<(&[u8], Vec<Area>), SizeError> {
        let (look, size) = (self.look, self.size);
        let was = self.last.replace(Last::Turning);
        let turn = Turn::new(flip.share);
        let face = if turn.shows_back() {
            &view.face
        } else {
            &*flip.from
        };
        let turned = turn.see(look.layout(&face.puzzle, size).extent, size);

        let kept = self.turning.take();
        let mut turning = match kept.filter(|kept| Arc::ptr_eq(&kept.puzzle, &view.face.puzzle)) {
            Some(kept) => kept,
            None => Turning::new(self.backdrop()?, look, &view.face.puzzle, size),
        };
        let mut changed = Vec::new();
        let scene = look.scene(&view.face.puzzle, &[], &view.header);
        let (behind, backdrop) = (&mut turning.behind, self.backdrop()?);
        let place = look.layout(&view.face.puzzle, size);
        turning
            .writing
            .update(behind, backdrop, &scene, &place, &mut changed);
        // Where the board was, it is no more, and where it comes to, what is behind it may be newer.
        changed.extend(turning.board.take());
        turning.board = turned.as_ref().map(|turned| turned.area());
        changed.extend(turning.board);
        for &area in &changed {
            turning.canvas.copy(&turning.behind, area);
        }
        if let Some(turned) = turned {
            let flat = self.sheet(&face.puzzle)?.unwritten(&face.flows);
            turned.draw(&mut turning.canvas, flat);
        }
        if !matches!(was, Some(Last::Turning)) {
            changed = vec![Area::whole(size)];
        }
        Ok((self.turning.insert(turning).canvas.rgba(), changed))
    }

    /// The board of a puzzle, as it was drawn last.
    fn sheet(&mut self, puzzle: &Arc<Puzzle>) -> Result<&mut Sheet, SizeError> {
        let index = match self.sheets.iter().position(|sheet| sheet.is_of(puzzle)) {
            Some(index) => index,
            None => {
                let (look, layout) = (self.look, self.look.layout(puzzle, self.size));
                let sheet = Sheet::new(self.backdrop()?, look, Arc::clone(puzzle), layout);
                self.sheets.truncate(1);
                self.sheets.insert(0, sheet);
                0
            }
        };
        Ok(&mut self.sheets[index])
    }

    fn backdrop(&mut self) -> Result<&Canvas, SizeError> {
        let backdrop = match self.backdrop.take() {
            Some(kept) => kept,
            None => {
                let Appearance {
                    lights,
                    theme,
                    style,
                } = self.look;
                let mut fresh = Canvas::new(self.size.0, self.size.1, theme.ground())?;
                backdrop::draw(&mut fresh, style, theme, lights);
                fresh
            }
        };
        Ok(self.backdrop.insert(backdrop))
    }
}

impl Appearance {
    fn layout(self, puzzle: &Puzzle, (width, height): (u32, u32)) -> Layout {
        Layout::new(self.style, puzzle.board(), width, height)
    }

    pub(super) fn scene<'a>(
        self,
        puzzle: &'a Puzzle,
        flows: &'a [Flow],
        header: &Header,
    ) -> Scene<'a> {
        Scene {
            puzzle,
            flows,
            style: self.style,
            theme: self.theme,
            palette: &[],
            line: LINE,
            lights: self.lights,
            header: header.clone(),
        }
    }
}

impl Turning {
    fn new(backdrop: &Canvas, look: Appearance, puzzle: &Arc<Puzzle>, size: (u32, u32)) -> Self {
        let mut behind = backdrop.clone();
        header::draw_window_buttons(&mut behind, look.theme, &look.layout(puzzle, size));
        Self {
            puzzle: Arc::clone(puzzle),
            canvas: behind.clone(),
            behind,
            writing: Writing::default(),
            board: None,
        }
    }

    /// All that is drawn on the backdrop and the buttons.
    fn covers(&self) -> impl Iterator<Item = Area> {
        let writing = self.writing.covers(self.canvas.size());
        writing.chain(self.board)
    }
}
