//! A session in a window, drawn in software.
//!
//! Every pointer event is handed on with the time at which it is taken from the system, so that the
//! session alone decides what the game sees of it. Nothing may make an event wait: pictures are drawn
//! and shown by an `artist` on a thread of its own. They are drawn only when something changed, and
//! the window sleeps when nothing happens.
//!
//! Keys: `u` takes the last drag back, `r` empties the board, `n` goes to the next board, Escape and
//! `q` close the window.

mod artist;
mod changes;
mod connection;
mod delay;
mod screen;

use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::error::EventLoopError;
use winit::event::{ElementState, KeyEvent, MouseButton, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window as SystemWindow, WindowId};

use crate::kind::Look;
use crate::render::{Button, Layout, Painter};
use crate::session::{Command, Pointer, Session, SessionError, View};
use artist::{Artist, Job};
use delay::{Delay, State};

/// What the window is called.
pub const TITLE: &str = "flowpipe play";

/// Why there is no window, or none any more.
#[derive(Debug, Error)]
pub enum WindowError {
    /// No screen to open a window on.
    #[error(
        "can't open a window: {0}{variables}. A window needs a desktop: X11 (DISPLAY) or Wayland (WAYLAND_DISPLAY); \
         `flowpipe doctor` checks it. `flowpipe play --terminal` needs none",
        variables = variables()
    )]
    NoScreen(String),
    /// The window was open.
    #[error("the window's compositor or X server has ended: {0}")]
    Ended(String),
    /// The picture can't be shown.
    #[error("can't draw in the window: {0}")]
    Draw(String),
    /// The game can't go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The connection to the screen.
pub struct Window {
    system: EventLoop<Call>,
}

/// Asks a window to close, from any thread.
#[derive(Clone)]
pub struct Closer(EventLoopProxy<Call>);

/// What other threads send to the window's.
#[derive(Debug)]
enum Call {
    Close,
    /// A picture was handed to the screen at this time.
    Shown(Instant),
    Failed(WindowError),
}

impl Closer {
    /// Asks; a window that is closed already does not mind.
    pub fn close(&self) {
        // The only error is that the receiver is gone.
        let _ = self.0.send_event(Call::Close);
    }
}

impl Window {
    /// Connects to the screen. On some systems only the main thread may.
    ///
    /// # Errors
    /// [`WindowError::NoScreen`].
    pub fn connect() -> Result<Self, WindowError> {
        let system = EventLoop::with_user_event().build().map_err(no_screen)?;
        Ok(Self { system })
    }

    /// What closes the window from outside.
    #[must_use]
    pub fn closer(&self) -> Closer {
        Closer(self.system.create_proxy())
    }

    /// Plays a session in a window of a width and height in pixels until it is closed; how many
    /// boards were solved. `lights`: any number, it decides where the lights behind the board are.
    /// `look`: where boards lie, what they are dressed in, and how fast they are drawn.
    ///
    /// # Errors
    /// See [`WindowError`].
    pub fn play(
        self,
        session: Session,
        size: (u32, u32),
        lights: u64,
        look: Look,
    ) -> Result<usize, WindowError> {
        let mut game = WindowGame {
            calls: self.system.create_proxy(),
            session,
            size,
            lights,
            look,
            delay: Delay::of(look),
            began: Instant::now(),
            artist: None,
            sent: None,
            sent_at: None,
            is_busy: false,
            landing: None,
            landed: 0,
            layout: None,
            pointer: [0.0; 2],
            is_down: false,
            failure: None,
        };
        let ran = self.system.run_app(&mut game);
        ran.map_err(|error| match game.artist.is_some() {
            true => WindowError::Ended(cause(error)),
            false => no_screen(error),
        })?;
        if let Some(failure) = game.failure {
            return Err(failure);
        }
        let now = game.now();
        Ok(game.session.close(now)?)
    }
}

fn no_screen(error: EventLoopError) -> WindowError {
    WindowError::NoScreen(cause(error))
}

/// Why the connection failed.
fn cause(error: EventLoopError) -> String {
    let text = match error {
        EventLoopError::Os(error) => error.to_string(),
        other => other.to_string(),
    };
    // The library puts a place in its own source before the cause.
    let cause = match text.strip_prefix("os error at ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, cause)| cause),
        None => &text,
    };
    cause.trim_end_matches('.').to_owned()
}

/// The display that was tried, in brackets. Nothing where no variable names one.
fn variables() -> String {
    named_display(|name| std::env::var(name).ok())
}

/// The same with the values of variables.
fn named_display(value: impl Fn(&str) -> Option<String>) -> String {
    let set = |name: &str| {
        let value = value(name).filter(|it| !it.is_empty())?;
        Some(format!(" ({name}={value})"))
    };
    let named = set("WAYLAND_DISPLAY").or_else(|| set("DISPLAY"));
    named.unwrap_or_default()
}

struct WindowGame {
    calls: EventLoopProxy<Call>,
    session: Session,
    /// Of the window's inside, in pixels. Kept here, for to ask the system takes a round trip.
    size: (u32, u32),
    lights: u64,
    look: Look,
    /// What makes pictures late, if anything does.
    delay: Option<Delay>,
    began: Instant,
    artist: Option<Artist>,
    /// What the artist was last asked to show; `None` to have it all drawn again.
    sent: Option<View>,
    sent_at: Option<Instant>,
    /// Whether the artist has not shown that yet.
    is_busy: bool,
    /// The board whose first picture at rest the artist was asked to show.
    landing: Option<usize>,
    /// The last board whose first picture at rest was shown.
    landed: usize,
    /// Where the board lies in the window.
    layout: Option<Layout>,
    /// Where the pointer is, in pixels.
    pointer: [f64; 2],
    /// Whether the pointer went down on the board's side of the buttons.
    is_down: bool,
    failure: Option<WindowError>,
}

impl WindowGame {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn fail(&mut self, system: &ActiveEventLoop, error: impl Into<WindowError>) {
        self.failure.get_or_insert(error.into());
        system.exit();
    }

    fn open(&mut self, system: &ActiveEventLoop) -> Result<(), WindowError> {
        let (width, height) = self.size;
        let attributes = SystemWindow::default_attributes()
            .with_title(TITLE)
            .with_inner_size(PhysicalSize::new(width, height));
        let window = system
            .create_window(attributes)
            .map_err(|error| WindowError::NoScreen(error.to_string()))?;
        self.resize(window.inner_size());
        let painter = Painter::new(self.lights)
            .with_style(self.look.style)
            .with_theme(self.look.theme);
        let artist = Artist::start(Arc::new(window), painter, self.calls.clone())?;
        self.artist = Some(artist);
        Ok(())
    }

    fn resize(&mut self, size: PhysicalSize<u32>) {
        self.size = (size.width.max(1), size.height.max(1));
        self.sent = None;
        self.lay_out();
    }

    /// Lays the window out again, and logs it if the board lies elsewhere now.
    fn lay_out(&mut self) {
        let (width, height) = self.size;
        let layout = Layout::new(
            self.look.style,
            self.session.puzzle().board(),
            width,
            height,
        );
        if self.layout.as_ref() != Some(&layout) {
            let now = self.now();
            self.session.laid_out(now, layout.board_xywh());
            self.layout = Some(layout);
        }
    }

    /// The pointer in board units; far outside where the board has no size.
    fn on_board(&self) -> [f64; 2] {
        let layout = self.layout.as_ref();
        layout
            .and_then(|layout| layout.geometry.to_board(self.pointer))
            .unwrap_or([f64::MIN; 2])
    }

    fn pressed(&mut self) {
        let button = self
            .layout
            .as_ref()
            .and_then(|layout| layout.button_at(self.pointer));
        let now = self.now();
        match button {
            Some(button) => self.session.command(now, command(button)),
            None => {
                self.is_down = true;
                self.session.pointer(now, Pointer::Press(self.on_board()));
            }
        }
    }

    fn released(&mut self) {
        if std::mem::take(&mut self.is_down) {
            self.session
                .pointer(self.now(), Pointer::Release(self.on_board()));
        }
    }

    fn key(&mut self, system: &ActiveEventLoop, key: &Key) {
        let command = match key {
            Key::Named(NamedKey::Escape) => return system.exit(),
            Key::Character(text) => match text.to_lowercase().as_str() {
                "q" => return system.exit(),
                "u" => Command::Undo,
                "r" => Command::Restart,
                "n" => Command::Next,
                _ => return,
            },
            _ => return,
        };
        self.session.command(self.now(), command);
    }

    /// Has the artist show what is not shown yet; when to ask again, if not now.
    fn show(&mut self, now: Duration) -> Option<Instant> {
        let Some(delay) = &mut self.delay else {
            return self.show_now(now);
        };
        let (state, again) = delay.pass(&self.session, now);
        if let Some(state) = state {
            self.send(state);
        }
        again.map(|at| self.began + at)
    }

    /// The same where pictures are not late.
    fn show_now(&mut self, now: Duration) -> Option<Instant> {
        if self.is_busy {
            return None;
        }
        // A board that has landed is waited for.
        let was_flipping = self.sent.as_ref().is_some_and(|sent| sent.flip.is_some());
        let is_landed = was_flipping && !self.session.is_flipping();
        let next = self.sent_at.map(|at| at + self.look.rest);
        if let Some(next) = next.filter(|&next| !is_landed && Instant::now() < next) {
            return Some(next);
        }
        self.send(State::of(&self.session, now));
        None
    }

    /// Has the artist show a state if it is another one and the artist is free.
    fn send(&mut self, State { view, number }: State) {
        let Some(artist) = self.artist.as_mut().filter(|_| !self.is_busy) else {
            return;
        };
        if self.sent.as_ref() == Some(&view) {
            return;
        }
        let is_open = view.flip.is_none() && view.cover.is_none();
        self.landing = (is_open && number != self.landed).then_some(number);
        self.sent_at = Some(Instant::now());
        self.is_busy = true;
        artist.show(Job {
            view: view.clone(),
            size: self.size,
            whole: self.sent.is_none(),
        });
        self.sent = Some(view);
    }

    fn shown(&mut self, at: Instant) {
        self.is_busy = false;
        if let Some(number) = self.landing.take() {
            self.landed = number;
            let at = at.saturating_duration_since(self.began);
            self.session.log_shown(at, number);
        }
    }
}

impl ApplicationHandler<Call> for WindowGame {
    fn resumed(&mut self, system: &ActiveEventLoop) {
        if self.artist.is_none()
            && let Err(error) = self.open(system)
        {
            self.fail(system, error);
        }
    }

    fn user_event(&mut self, system: &ActiveEventLoop, call: Call) {
        match call {
            Call::Close => system.exit(),
            Call::Shown(at) => self.shown(at),
            Call::Failed(error) => self.fail(system, error),
        }
    }

    fn window_event(&mut self, system: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested | WindowEvent::Destroyed => system.exit(),
            WindowEvent::Resized(size) => self.resize(size),
            WindowEvent::CursorMoved { position, .. } => {
                self.pointer = [position.x, position.y];
                if self.is_down || self.session.is_following() {
                    self.session
                        .pointer(self.now(), Pointer::Move(self.on_board()));
                }
            }
            WindowEvent::MouseInput {
                state,
                button: MouseButton::Left,
                ..
            } => match state {
                ElementState::Pressed => self.pressed(),
                ElementState::Released => self.released(),
            },
            WindowEvent::KeyboardInput {
                event:
                    KeyEvent {
                        logical_key,
                        state: ElementState::Pressed,
                        repeat: false,
                        ..
                    },
                ..
            } => self.key(system, &logical_key),
            // The system has lost a part of the picture.
            WindowEvent::RedrawRequested => self.sent = None,
            _ => {}
        }
    }

    fn about_to_wait(&mut self, system: &ActiveEventLoop) {
        let now = self.now();
        self.session.advance(now);
        self.lay_out();
        let show = self.show(now);
        let settle = match self.session.settle(now) {
            Ok(at) => at,
            Err(error) => return self.fail(system, error),
        };
        let due = [self.session.wake_at(now), settle].into_iter().flatten();
        let wake = due.map(|at| self.began + at).chain(show).min();
        system.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

fn command(button: Button) -> Command {
    match button {
        Button::Undo => Command::Undo,
        Button::Restart => Command::Restart,
        Button::Next => Command::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_that_was_tried_is_named() {
        let wayland = |name: &str| (name == "WAYLAND_DISPLAY").then(|| "wayland-9".to_owned());
        assert_eq!(named_display(wayland), " (WAYLAND_DISPLAY=wayland-9)");
        let x11 = |name: &str| match name {
            "DISPLAY" => Some(":77".to_owned()),
            _ => Some(String::new()),
        };
        assert_eq!(named_display(x11), " (DISPLAY=:77)");
        assert_eq!(named_display(|_| None), "");
    }
}
