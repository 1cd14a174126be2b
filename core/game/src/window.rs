//! A session in a window, drawn in software.
//!
//! Every pointer event is handed on with the time at which it is taken from the system, so that the
//! session alone decides what the game sees of it. The picture is drawn again only when something
//! changed, and the window sleeps when nothing happens.
//!
//! Keys: `u` takes the last drag back, `r` empties the board, `n` goes to the next board, Escape and
//! `q` close the window.

mod screen;

use std::rc::Rc;
use std::time::{Duration, Instant};

use thiserror::Error;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::error::EventLoopError;
use winit::event::{ElementState, KeyEvent, MouseButton, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window as SystemWindow, WindowId};

use crate::render::{Button, Layout, Painter, Style};
use crate::session::{Command, Pointer, Session, SessionError, View};
use screen::Screen;

/// What the window is called.
pub const TITLE: &str = "flowpipe play";

/// The least time between two pictures: faster than most screens, slow enough to leave the
/// processor to whoever plays.
const REST: Duration = Duration::from_millis(8);

/// Why there is no window, or none any more.
#[derive(Debug, Error)]
pub enum WindowError {
    /// No screen to open a window on.
    #[error(
        "can't open a window: {0}. A window needs a desktop: X11 (DISPLAY) or Wayland (WAYLAND_DISPLAY)"
    )]
    NoScreen(String),
    /// The picture can't be shown.
    #[error("can't draw in the window: {0}")]
    Draw(String),
    /// The game can't go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The connection to the screen.
pub struct Window {
    system: EventLoop<Close>,
}

/// Asks a window to close, from any thread.
#[derive(Clone)]
pub struct Closer(EventLoopProxy<Close>);

#[derive(Clone, Copy, Debug)]
struct Close;

impl Closer {
    /// Asks; a window that is closed already does not mind.
    pub fn close(&self) {
        // The only error is that nobody listens any more.
        let _ = self.0.send_event(Close);
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
    ///
    /// # Errors
    /// See [`WindowError`].
    pub fn play(
        self,
        session: Session,
        size: (u32, u32),
        lights: u64,
    ) -> Result<usize, WindowError> {
        let mut game = Game {
            session,
            size,
            painter: Painter::new(lights),
            began: Instant::now(),
            screen: None,
            shown: None,
            layout: None,
            pointer: [0.0; 2],
            is_down: false,
            drawn_at: None,
            failure: None,
        };
        self.system.run_app(&mut game).map_err(no_screen)?;
        if let Some(failure) = game.failure {
            return Err(failure);
        }
        let now = game.now();
        Ok(game.session.close(now)?)
    }
}

fn no_screen(error: EventLoopError) -> WindowError {
    let text = match error {
        EventLoopError::Os(error) => error.to_string(),
        other => other.to_string(),
    };
    // The library puts a place in its own source before the cause.
    let cause = match text.strip_prefix("os error at ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, cause)| cause),
        None => &text,
    };
    WindowError::NoScreen(cause.trim_end_matches('.').to_owned())
}

struct Game {
    session: Session,
    /// In pixels, as asked for.
    size: (u32, u32),
    painter: Painter,
    began: Instant,
    screen: Option<Screen>,
    /// What the window shows.
    shown: Option<View>,
    /// Where the board lies in it.
    layout: Option<Layout>,
    /// Where the pointer is, in pixels.
    pointer: [f64; 2],
    /// Whether the pointer went down on the board's side of the buttons.
    is_down: bool,
    drawn_at: Option<Instant>,
    failure: Option<WindowError>,
}

impl Game {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn fail(&mut self, system: &ActiveEventLoop, error: impl Into<WindowError>) {
        self.failure.get_or_insert(error.into());
        system.exit();
    }

    /// Lays the window out anew, and says so in the log if the board lies elsewhere now.
    fn lay_out(&mut self) {
        let Some(screen) = &self.screen else { return };
        let (width, height) = screen.size();
        let layout = Layout::new(Style::Window, self.session.puzzle().board(), width, height);
        if self.layout.as_ref() != Some(&layout) {
            let now = self.now();
            self.session.log_layout(now, layout.board_xywh());
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

    fn draw(&mut self) -> Result<(), WindowError> {
        let now = self.now();
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        let (width, height) = screen.size();
        let view = self.session.view(now);
        let pixels = self
            .painter
            .paint(&view, width, height)
            .map_err(|error| WindowError::Draw(error.to_string()))?;
        screen.show(&pixels)?;
        self.shown = Some(view);
        self.drawn_at = Some(Instant::now());
        Ok(())
    }
}

impl ApplicationHandler<Close> for Game {
    fn resumed(&mut self, system: &ActiveEventLoop) {
        if self.screen.is_some() {
            return;
        }
        let (width, height) = self.size;
        let attributes = SystemWindow::default_attributes()
            .with_title(TITLE)
            .with_inner_size(PhysicalSize::new(width, height));
        let opened = system
            .create_window(attributes)
            .map_err(|error| WindowError::NoScreen(error.to_string()))
            .and_then(|window| Screen::new(Rc::new(window)));
        match opened {
            Ok(screen) => {
                self.screen = Some(screen);
                self.lay_out();
            }
            Err(error) => self.fail(system, error),
        }
    }

    fn user_event(&mut self, system: &ActiveEventLoop, _: Close) {
        system.exit();
    }

    fn window_event(&mut self, system: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested | WindowEvent::Destroyed => system.exit(),
            WindowEvent::Resized(_) => {
                self.lay_out();
                self.shown = None;
            }
            WindowEvent::CursorMoved { position, .. } => {
                self.pointer = [position.x, position.y];
                if self.is_down {
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
            WindowEvent::RedrawRequested => {
                if let Err(error) = self.draw() {
                    self.fail(system, error);
                }
            }
            _ => {}
        }
    }

    fn about_to_wait(&mut self, system: &ActiveEventLoop) {
        let now = self.now();
        self.session.advance(now);
        if let Err(error) = self.session.settle() {
            return self.fail(system, error);
        }
        self.lay_out();
        let mut wake = self.session.wake_at(now).map(|at| self.began + at);
        if self.shown.as_ref() != Some(&self.session.view(now)) {
            let next = self.drawn_at.map_or(self.began, |at| at + REST);
            if next <= Instant::now() {
                if let Some(screen) = &self.screen {
                    screen.request_redraw();
                }
            } else {
                wake = Some(wake.map_or(next, |wake| wake.min(next)));
            }
        }
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
