//! A session in a terminal, with the mouse and with the keyboard.
//!
//! Arrow keys or `h` `j` `k` `l` move a cursor; Enter or space picks up what is under it and lets it go
//! again; `u`, `r`, `n`, Escape and `q` do what they do in the window. The mouse presses, drags and
//! releases. To the session both are a pointer, each step of the cursor one move to a cell's centre.

mod colours;
mod face;
mod lines;
mod picture;
mod plan;
mod screen;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_puzzle::place::{cell_at, centre};
use flowpipe_puzzle::{Cell, Point};
use ratatui::crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent,
    MouseEventKind,
};
use thiserror::Error;

use crate::session::{Command, Pointer, Session, SessionError, View};
pub use colours::Colours;
use plan::Plan;
pub use screen::TerminalScreen;

/// The least time between two pictures: terminals are slow.
const REST: Duration = Duration::from_millis(15);
/// How often it is looked whether to stop.
const LISTEN: Duration = Duration::from_millis(50);

/// Why there is no game in the terminal, or none any more.
#[derive(Debug, Error)]
pub enum TerminalError {
    /// There is no screen and no keyboard.
    #[error("can't play here: {0} is not a terminal")]
    NoTerminal(&'static str),
    /// The terminal.
    #[error("can't use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// The game can't go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A terminal that can be played in.
pub struct Terminal(());

impl Terminal {
    /// Checks whether there is one; nothing is shown yet.
    ///
    /// # Errors
    /// [`TerminalError::NoTerminal`].
    pub fn connect() -> Result<Self, TerminalError> {
        if !io::stdin().is_terminal() {
            return Err(TerminalError::NoTerminal("standard input"));
        }
        if !io::stdout().is_terminal() {
            return Err(TerminalError::NoTerminal("standard output"));
        }
        Ok(Self(()))
    }

    /// Plays a session until the player ends it or `stop` is set, which Ctrl-C does too; how many
    /// boards were solved. However it ends, the terminal is then as it was.
    ///
    /// # Errors
    /// See [`TerminalError`].
    pub fn play(
        self,
        session: Session,
        colours: Colours,
        stop: &AtomicBool,
    ) -> Result<usize, TerminalError> {
        let mut game = TerminalGame::new(session);
        let mut screen = TerminalScreen::open(true)?;
        let played = game.run(&mut screen, colours, stop);
        drop(screen);
        played?;
        let now = game.now();
        Ok(game.session.close(now)?)
    }
}

struct TerminalGame {
    session: Session,
    began: Instant,
    /// Of the terminal, in characters.
    size: (u16, u16),
    /// Where the board lies in it, if it is large enough.
    plan: Option<Plan>,
    /// Where the keyboard's cursor is, and whether it is seen.
    cursor: Cell,
    is_cursor_seen: bool,
    /// Whether the mouse is down.
    is_down: bool,
    is_over: bool,
    /// What is shown, and since when; `None` to have it drawn again.
    shown: Option<(View, Option<Cell>)>,
    shown_at: Option<Instant>,
    /// The last board whose first picture at rest was shown.
    landed: usize,
}

impl TerminalGame {
    fn new(session: Session) -> Self {
        Self {
            cursor: first_terminal(&session),
            session,
            began: Instant::now(),
            size: (0, 0),
            plan: None,
            is_cursor_seen: true,
            is_down: false,
            is_over: false,
            shown: None,
            shown_at: None,
            landed: 0,
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn run(
        &mut self,
        screen: &mut TerminalScreen,
        colours: Colours,
        stop: &AtomicBool,
    ) -> Result<(), TerminalError> {
        while !self.is_over && !stop.load(Ordering::Relaxed) {
            let now = self.now();
            self.session.advance(now);
            self.lay_out(screen.size()?);
            let drawn = self.show(screen, colours)?;
            let settled = self.session.settle(now)?;
            let due = [self.session.wake_at(now), settled, drawn];
            let wake = due.into_iter().flatten().min();
            let wait = wake.map_or(LISTEN, |at| at.saturating_sub(self.now()).min(LISTEN));
            let mut is_waiting = event::poll(wait)?;
            while is_waiting && !self.is_over {
                if self.take(&event::read()?) {
                    stop.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                is_waiting = event::poll(Duration::ZERO)?;
            }
        }
        Ok(())
    }

    /// Lays the terminal out again, and logs it if the board lies elsewhere now.
    fn lay_out(&mut self, size: (u16, u16)) {
        if self.size != size {
            self.size = size;
            self.shown = None;
        }
        let plan = Plan::new(self.session.puzzle(), size).ok();
        if self.plan != plan {
            if let Some(plan) = &plan {
                let now = self.now();
                self.session.laid_out(now, plan.board_xywh());
            }
            self.plan = plan;
        }
        if !self.session.puzzle().board().exists(self.cursor) {
            self.cursor = first_terminal(&self.session);
        }
    }

    /// Shows what has changed; when to ask again, if not now.
    fn show(
        &mut self,
        screen: &mut TerminalScreen,
        colours: Colours,
    ) -> Result<Option<Duration>, TerminalError> {
        let now = self.now();
        let cursor = self.is_cursor_seen.then_some(self.cursor);
        let what = (self.session.view(now), cursor);
        if self.shown.as_ref() == Some(&what) {
            return Ok(None);
        }
        // A board that has landed is waited for.
        let was_flipping = self
            .shown
            .as_ref()
            .is_some_and(|(view, _)| view.flip.is_some());
        let is_landed = was_flipping && what.0.flip.is_none();
        let next = self.shown_at.map_or(self.began, |at| at + REST);
        if !is_landed && Instant::now() < next {
            return Ok(Some(next.saturating_duration_since(self.began)));
        }
        screen.draw(|buffer| picture::draw(&what.0, cursor, colours, buffer))?;
        let (number, now) = (self.session.number(), self.now());
        if what.0.flip.is_none() && self.landed != number {
            self.landed = number;
            self.session.log_shown(now, number);
        }
        self.shown = Some(what);
        self.shown_at = Some(Instant::now());
        Ok(None)
    }

    /// Takes an event; whether it asks to stop the program.
    fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => return self.key(*key),
            Event::Mouse(mouse) => self.mouse(*mouse),
            Event::Resize(..) => self.shown = None,
            _ => {}
        }
        false
    }

    fn key(&mut self, key: KeyEvent) -> bool {
        let now = self.now();
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return key.code == KeyCode::Char('c');
        }
        let code = match key.code {
            KeyCode::Char(letter) => KeyCode::Char(letter.to_ascii_lowercase()),
            code => code,
        };
        match code {
            KeyCode::Esc | KeyCode::Char('q') => self.is_over = true,
            KeyCode::Char('u') => self.session.command(now, Command::Undo),
            KeyCode::Char('r') => self.session.command(now, Command::Restart),
            KeyCode::Char('n') => self.session.command(now, Command::Next),
            KeyCode::Enter | KeyCode::Char(' ') => self.pick_up_or_let_go(),
            KeyCode::Left | KeyCode::Char('h') => self.step([-1.0, 0.0]),
            KeyCode::Down | KeyCode::Char('j') => self.step([0.0, 1.0]),
            KeyCode::Up | KeyCode::Char('k') => self.step([0.0, -1.0]),
            KeyCode::Right | KeyCode::Char('l') => self.step([1.0, 0.0]),
            _ => {}
        }
        false
    }

    fn pick_up_or_let_go(&mut self) {
        self.is_cursor_seen = true;
        let at = centre(self.session.puzzle().board(), self.cursor);
        if self.session.is_dragging() {
            self.let_go(at);
        } else {
            self.pick_up(at);
        }
    }

    fn pick_up(&mut self, at: Point) {
        self.point(Pointer::Press(at));
        if self.session.takes_clicks() {
            self.point(Pointer::Release(at));
        }
    }

    fn let_go(&mut self, at: Point) {
        if self.session.takes_clicks() {
            self.point(Pointer::Press(at));
        }
        self.point(Pointer::Release(at));
    }

    /// Moves the cursor by one cell, and what it holds with it.
    fn step(&mut self, [dx, dy]: Point) {
        self.is_cursor_seen = true;
        let board = self.session.puzzle().board();
        let [x, y] = centre(board, self.cursor);
        let beyond = [x + dx, y + dy];
        let Some(cell) = cell_at(board, beyond) else {
            return;
        };
        let at = centre(board, cell);
        self.cursor = cell;
        if !self.session.is_dragging() {
            return;
        }
        // On hexes a step aside may go half a cell up or down.
        if (at[0] - beyond[0]).abs() < 1.0 && (at[1] - beyond[1]).abs() < 1.0 {
            self.point(Pointer::Move(at));
        } else {
            // Over the edge to the other side: the pointer is taken there by letting go and taking
            // up again, for the straight way leads back over the board.
            self.let_go(beyond);
            self.pick_up(at);
        }
    }

    /// Hands on what the keyboard does, and waits until the game has looked: keys may come faster than
    /// it looks, and none of their steps may be lost.
    fn point(&mut self, pointer: Pointer) {
        self.session.pointer(self.now(), pointer);
        while let Some(at) = self.session.looks_at() {
            thread::sleep(at.saturating_sub(self.now()));
            self.session.advance(self.now());
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        let now = self.now();
        let plan = self.plan.as_ref();
        let at = plan.map_or([f64::MIN; 2], |plan| plan.to_board(mouse.column, mouse.row));
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.is_cursor_seen = false;
                self.is_down = true;
                if let Some(cell) = cell_at(self.session.puzzle().board(), at) {
                    self.cursor = cell;
                }
                self.session.pointer(now, Pointer::Press(at));
            }
            MouseEventKind::Drag(MouseButton::Left) if self.is_down => {
                self.session.pointer(now, Pointer::Move(at));
            }
            MouseEventKind::Moved if self.session.is_following() => {
                self.session.pointer(now, Pointer::Move(at));
            }
            MouseEventKind::Up(MouseButton::Left) if self.is_down => {
                self.is_down = false;
                self.session.pointer(now, Pointer::Release(at));
            }
            _ => {}
        }
    }
}

/// Where the cursor begins.
fn first_terminal(session: &Session) -> Cell {
    let terminals = session.puzzle().terminals().iter();
    terminals
        .map(|terminal| terminal.cell)
        .min()
        .unwrap_or_default()
}
