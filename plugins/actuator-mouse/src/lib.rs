//! Actuator stage: plays strokes with the real mouse, and releases it on any trouble.
//!
//! # Layout
//! [`config`]: what can be set. [`area`]: where the board is on the screen. [`way`]: a stroke as places of
//! the pointer. [`mouse`]: the mouse. [`surroundings`]: windows, keys, the pointer. [`guard`], [`watch`]:
//! when to let go. [`player`] joins them.

mod area;
mod config;
mod guard;
mod mouse;
mod player;
mod surroundings;
mod watch;
mod way;

use std::sync::Arc;
use std::time::Duration;

use flowpipe_desktop::{Desktop, Rect, WindowId};
use flowpipe_plugin::puzzle::colour;
use flowpipe_plugin::puzzle::message::{
    BoardState, FrameNote, SeenBoard, Stroke, StrokeOutcome, Strokes,
};
use flowpipe_plugin::{
    Acting, Actuator, Cancel, Effect, EffectKind, Ending, Error, Host, Played, Result,
};

use crate::area::Area;
use crate::config::Config;
use crate::guard::{Guard, Watched};
use crate::mouse::SystemMouse;
use crate::player::{End, Player};
use crate::surroundings::Surroundings;
use crate::watch::{MOVED_BY_HAND, Watch};

/// How long a window that is brought to the front may take. Moves that are sent within some 20 ms
/// after the focus has changed can arrive with wrong coordinates.
const RAISED_WITHIN: Duration = Duration::from_millis(800);
const SETTLED_AFTER: Duration = Duration::from_millis(60);

struct MouseActuator {
    config: Config,
    /// `None` in a dry run.
    held: Option<Mechanism>,
}

/// Everything that it takes to hold the mouse.
struct Mechanism {
    player: Player,
    guard: Arc<Guard>,
    surroundings: Box<dyn Surroundings>,
    /// The window that was brought to the front.
    raised: Option<WindowId>,
    /// Last, so that it watches until the end.
    _watch: Watch,
}

impl Actuator for MouseActuator {
    const NAME: &'static str = "actuator-mouse";
    const EFFECTS: Option<&'static [Effect]> = Some(&[Effect::new(
        EffectKind::DrivesMouse,
        "drives the mouse[ in window '{window}']",
    )]);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check()?;
        let held = if host.is_dry() {
            None
        } else {
            Some(Mechanism::new(&config, *host)?)
        };
        Ok(Self { config, held })
    }

    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played> {
        let board = strokes
            .sighting
            .board()
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let manner = self.config.manner(strokes.manner)?;
        let frame = &strokes.sighting.frame;
        let area = Area::new(board.puzzle.board(), &board.geometry, frame);
        let Some(held) = &mut self.held else {
            return Ok(would(strokes, &area));
        };
        let bounds = held.bounds(&area, frame);
        let watched = match watched(frame, bounds, &self.config) {
            Ok(watched) => watched,
            Err(reason) => return Ok(refused(reason)),
        };
        if let Some(reason) = held.not_now(board, watched, &self.config, acting)? {
            return Ok(refused(reason));
        }
        held.guard.begin(watched);
        let end = held
            .player
            .play(&strokes.strokes, &area, bounds, &manner, acting, cancel);
        held.guard.end(held.player.put());
        let End { played, refused } = end?;
        let outcomes = outcomes(&strokes.strokes[..played], |_| None);
        let mut played = Played::new(outcomes).with_pace(manner.pace);
        played.refused = refused;
        Ok(played)
    }
}

impl Mechanism {
    fn new(config: &Config, host: Host) -> Result<Self> {
        let desktop = Desktop::connect()?;
        if !config.hotkey.is_empty()
            && let Err(error @ flowpipe_desktop::DesktopError::UnknownKey { .. }) =
                desktop.key_is_down(&config.hotkey)
        {
            return Err(Error::bad_config(format!("hotkey: {error}")));
        }
        let guard = Arc::new(Guard::default());
        let mouse = Box::new(SystemMouse::new()?);
        let watch = Watch::start(config, Arc::clone(&guard), Box::new(desktop.clone()), host)?;
        Ok(Self {
            player: Player::new(mouse, Arc::clone(&guard), config),
            guard,
            surroundings: Box::new(desktop),
            raised: None,
            _watch: watch,
        })
    }

    /// Where the pointer may be put.
    fn bounds(&self, area: &Area<'_>, frame: &FrameNote) -> Rect {
        let window = frame.window.filter(|_| area.warps()).map(WindowId);
        area.bounds(window.and_then(|window| self.surroundings.inside(window)))
    }

    /// Why nothing is played now, if so.
    fn not_now(
        &mut self,
        board: &SeenBoard,
        watched: Option<Watched>,
        config: &Config,
        acting: &mut Acting<'_, '_>,
    ) -> Result<Option<String>> {
        if board.state == BoardState::Moving {
            return Ok(Some(
                "the board is moving, as in a flip: wait until it is at rest, or stop the animation in the game"
                    .to_owned(),
            ));
        }
        if self.player.was_moved()? {
            acting.host().end_run(Ending::Stopped, MOVED_BY_HAND);
            return Err(Error::cancelled());
        }
        if let Some(reason) = too_old(config, acting) {
            return Ok(Some(reason));
        }
        let Some(watched) = watched else {
            return Ok(None);
        };
        if self.raised != Some(watched.window) {
            self.raise(&watched, acting)?;
            // The board may have changed meanwhile. The next frame finds the window raised.
            if let Some(reason) = too_old(config, acting) {
                return Ok(Some(reason));
            }
        }
        Ok(self.surroundings.trouble(&watched))
    }

    /// Brings the window to the front, before the first stroke on it: its frame may change place.
    fn raise(&mut self, watched: &Watched, acting: &mut Acting<'_, '_>) -> Result<()> {
        self.surroundings.raise(watched);
        let deadline = acting.host().now_ns() + RAISED_WITHIN.as_nanos() as i64;
        acting.wait_until(acting.host().now_ns() + SETTLED_AFTER.as_nanos() as i64)?;
        while self.surroundings.trouble(watched).is_some() && acting.host().now_ns() < deadline {
            acting.wait_until(acting.host().now_ns() + 10_000_000)?;
        }
        self.raised = Some(watched.window);
        Ok(())
    }
}

/// Why a board was captured too long ago, if so.
fn too_old(config: &Config, acting: &Acting<'_, '_>) -> Option<String> {
    let age = acting.host().now_ns().saturating_sub(acting.captured_ns()) / 1_000_000;
    let most = config.max_age_ms;
    (age > most as i64).then(|| {
        format!(
            "the board was seen {age} ms ago, and max_age_ms of actuator-mouse is {most}: raise it, or let the stages before it \
             work faster"
        )
    })
}

/// The window to watch; `Ok(None)`: there is none, and none is asked for.
fn watched(
    frame: &FrameNote,
    bounds: Rect,
    config: &Config,
) -> std::result::Result<Option<Watched>, String> {
    let Some(window) = frame.window else {
        return if config.any_window {
            Ok(None)
        } else {
            Err(format!(
                "it is unknown whether the board of {} is in front: set `window` of capture-screen, or any_window = true of \
                 actuator-mouse",
                frame.source
            ))
        };
    };
    Ok(Some(Watched {
        window: WindowId(window),
        origin: frame.origin.map(|value| value.round() as i32),
        board: bounds,
    }))
}

fn refused(reason: String) -> Played {
    Played::refused(reason)
}

/// What a dry run reports instead of acting.
fn would(strokes: &Strokes, area: &Area<'_>) -> Played {
    let reason = |stroke: &Stroke| {
        let way: Vec<String> = stroke
            .points
            .iter()
            .map(|&point| area.pixel(point))
            .map(|[x, y]| format!("{x},{y}"))
            .collect();
        let name = colour::name(stroke.colour);
        Some(format!("would drag {name} by {}", way.join(" ")))
    };
    Played::new(outcomes(&strokes.strokes, reason))
        .with_refused("this is a dry run: run it without --dry-run to play")
}

/// Only the game knows whether it accepted a stroke.
fn outcomes(strokes: &[Stroke], reason: impl Fn(&Stroke) -> Option<String>) -> Vec<StrokeOutcome> {
    strokes
        .iter()
        .map(|stroke| {
            let mut outcome = StrokeOutcome::new(stroke.colour, None);
            outcome.reason = reason(stroke);
            outcome
        })
        .collect()
}

flowpipe_plugin::export!(MouseActuator);

#[cfg(test)]
mod tests;
