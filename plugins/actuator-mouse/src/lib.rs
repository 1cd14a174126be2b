//! Actuator stage: plays gestures and strokes with the real mouse, and lets go on any trouble.
//!
//! Strokes become gestures first (`flowpipe_puzzle::gestures`), so that there is one way to play.
//!
//! # Layout
//! [`config`]: what can be set. [`area`]: where gestures are on the screen. [`mouse`]: the mouse and the keyboard.
//! [`keys`]: keys by their names. [`unreported`]: what the desktop does not report. [`surroundings`]: windows, keys, the pointer. [`guard`], [`watch`]: when to let go.
//! [`rest`]: where the pointer is left. [`shown`]: whether the program has drawn where it went. [`player`]: moves that are
//! checked first. [`playing`]: gestures, and what is down.

mod area;
mod config;
mod guard;
mod keys;
mod mouse;
mod player;
mod playing;
mod rest;
mod shown;
mod surroundings;
mod unreported;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use flowpipe_desktop::choice::KEPT_MOUSE_FILE;
use flowpipe_desktop::{Desktop, DesktopChoice, Rect, WindowId};
use flowpipe_plugin::message::{
    Action, FrameNote, GESTURE_OUTCOME, GESTURES, GestureOutcome, Gestures, LONGEST_MS,
};
use flowpipe_plugin::puzzle::colour;
use flowpipe_plugin::puzzle::message::{
    BoardState, CHECK, Manner, OUTCOME, STROKES, Stroke, StrokeOutcome, Strokes,
};
use flowpipe_plugin::{
    Acting, Cancel, Context, Effect, EffectKind, Ending, Error, Host, Input, Message, Next, Played,
    Port, Result, Stage,
};

use crate::area::Area;
use crate::config::Config;
use crate::guard::{Guard, Watched};
use crate::keys::Keys;
use crate::mouse::SystemMouse;
use crate::player::Player;
use crate::playing::{Asked, End};
use crate::surroundings::{BoardTrouble, Surroundings};
use crate::watch::{MOVED_BY_HAND, Watch};

/// How long a window that is brought to the front may take. Moves that are sent within some 20 ms
/// after the focus has changed can arrive with wrong coordinates.
const RAISED_WITHIN: Duration = Duration::from_millis(800);
const SETTLED_AFTER: Duration = Duration::from_millis(60);

/// How long the window has lost the keyboard before it gets it again: a person may have gone to the terminal, to press
/// Ctrl-C there.
const RAISED_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The most places to which the pointer is sent for the strokes of a message.
const MOST_PLACES: f64 = 100_000.0;

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
    /// Where each monitor was at the start, where the system reports it.
    monitors: Option<Vec<Rect>>,
    /// The window that was brought to the front.
    raised: Option<WindowId>,
    /// Since when it has been seen without the keyboard, where presses need that.
    without_keyboard_since: Option<i64>,
    /// Last, so that it watches until the end.
    _watch: Watch,
}

/// Inputs, in the order of the manifest. The second one is for gestures.
const STROKES_IN: usize = 0;
/// Outputs, in the order of the manifest.
const STROKES_OUT: usize = 0;
const GESTURES_OUT: usize = 1;

/// Why a dry run plays nothing.
const DRY: &str = "this is a dry run: run it without --dry-run to play";

impl Stage for MouseActuator {
    const NAME: &'static str = "actuator-mouse";
    const ROLE: &'static str = "actuator";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(
            EffectKind::DrivesMouse,
            "drives the mouse[ in window '{window}']",
        ),
        Effect::new(
            EffectKind::ReadsScreen,
            "reads the screen's pixels around the pointer",
        ),
        Effect::new(
            EffectKind::ReadsFiles,
            "reads what a desktop portal has allowed before",
        )
        .with_state_file(KEPT_MOUSE_FILE),
        Effect::new(
            EffectKind::WritesFiles,
            "keeps what a desktop portal allows",
        )
        .with_state_file(KEPT_MOUSE_FILE),
    ]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![
            Port::new("in", STROKES).optional(),
            Port::new("gestures", GESTURES).optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", OUTCOME).checked_by(CHECK),
            Port::new("played", GESTURE_OUTCOME).checked_by(flowpipe_plugin::message::CHECK),
        ]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check()?;
        let held = if host.is_dry() {
            None
        } else {
            Some(Mechanism::new(&config, *host)?)
        };
        Ok(Self { config, held })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        match message.port() {
            STROKES_IN => self.play_strokes(&message, context)?,
            _ => self.play_gestures(&message, context)?,
        }
        Ok(Next::More)
    }
}

impl MouseActuator {
    fn play_strokes(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
        let strokes: Strokes = message.parse()?;
        let board = strokes
            .sighting
            .board()
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let manner = self.config.manner(strokes.manner)?;
        if let Some(reason) = is_too_much(&manner, &strokes.strokes) {
            let outcome = Played::refused(reason).into_outcome(Self::NAME, strokes, 0);
            return context.emit(STROKES_OUT, &outcome);
        }
        let gestures = strokes
            .gestures(&manner, self.config.drags)
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let cancel = context.cancel();
        let mut acting = Acting::new(context, message);
        let played = if self.held.is_none() {
            would_draw(&strokes, &gestures)
        } else if board.state == BoardState::Moving {
            Played::refused(
                "the board is moving, as in a flip: wait until it is at rest, or stop the animation in the game",
            )
        } else {
            let end = self.play(&gestures, &mut acting, &cancel)?;
            let count = end.played.min(strokes.strokes.len());
            let mut played = Played::new(outcomes(&strokes.strokes[..count], |_| None));
            played.pace = end.has_begun.then_some(manner.pace);
            played.refused = end.refused;
            played
        };
        let act_ns = acting.act_ns();
        context.emit(
            STROKES_OUT,
            &played.into_outcome(Self::NAME, strokes, act_ns),
        )
    }

    fn play_gestures(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
        let gestures: Gestures = message.parse()?;
        gestures.check().map_err(|wrong| {
            Error::bad_message(format!("gestures that can't be played: {wrong}"))
        })?;
        let cancel = context.cancel();
        let mut acting = Acting::new(context, message);
        let End {
            played, refused, ..
        } = match self.held {
            Some(_) => self.play(&gestures, &mut acting, &cancel)?,
            None => End::refused(format!("{DRY} (would {})", would_do(&gestures))),
        };
        let mut outcome = GestureOutcome::new(Self::NAME, gestures.frame.clone(), played)
            .with_act_ns(acting.act_ns());
        outcome.refused = refused;
        context.emit(GESTURES_OUT, &outcome)
    }

    /// Plays gestures if they may be played now.
    fn play(
        &mut self,
        gestures: &Gestures,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<End> {
        let Some(held) = &mut self.held else {
            return Ok(End::refused(DRY));
        };
        let frame = &gestures.frame;
        held.check_desktop(frame)?;
        let (shown, room) = held.room(gestures);
        let bounds = Area::new(gestures).bounds(room);
        if bounds.width == 0 || bounds.height == 0 {
            return Ok(End::refused(
                "the bounds of the gestures hold no whole pixel of what was captured: give wider ones",
            ));
        }
        let now = shown.map(|shown| [shown.width, shown.height]);
        let size = frame.size.or(now);
        let watched = match watched(frame, bounds, &self.config) {
            Ok(watched) => watched.map(|watched| Watched { size, ..watched }),
            Err(reason) => return Ok(End::refused(reason)),
        };
        let keys = Keys::of(gestures, |name| held.surroundings.key_code(name))?;
        if let Some(reason) = held.not_now(watched.as_ref(), &self.config, acting)? {
            return Ok(End::refused(reason));
        }
        let area = Area::new(gestures);
        let is_cut = area.outside(area.bounds(None)).is_none();
        if let Some([x, y]) = area.outside(bounds).filter(|_| is_cut) {
            let what = if watched.is_some() {
                "window"
            } else {
                "screen"
            };
            return Ok(End::refused(format!(
                "a gesture would leave the {what}, at {x}, {y} on the screen: plan on a frame of the {what} as it is now"
            )));
        }
        held.guard.begin(watched.clone());
        let (surroundings, monitors) = (&held.surroundings, &held.monitors);
        let why_no_key = || surroundings.keyboard_trouble(watched.as_ref()?.window);
        let why_not_now = || match &watched {
            Some(watched) => surroundings.trouble(watched).map(|it| it.reason),
            None => monitors_trouble(&**surroundings, monitors.as_deref()),
        };
        let (captured_ns, host) = (acting.captured_ns(), acting.host());
        let why_too_late = || too_old(&self.config, captured_ns, host.now_ns());
        let asked = Asked {
            keys,
            why_no_key: &why_no_key,
            why_not_now: &why_not_now,
            why_too_late: &why_too_late,
        };
        let end = playing::play(&mut held.player, gestures, bounds, &asked, acting, cancel);
        let has_moved = |held: &Mechanism| held.room(gestures).1 != room;
        let rested = match (&end, room) {
            (Ok(end), Some(_)) if end.refused.is_some() && has_moved(held) => {
                let screen = held.surroundings.screen();
                screen.map_or(Ok(()), |it| held.player.rest_aside(it, acting, cancel))
            }
            (Ok(_), Some(room)) => held.player.rest_beside(bounds, room, acting, cancel),
            _ => Ok(()),
        };
        held.guard.end(held.player.put());
        rested.and(end)
    }
}

/// Why strokes are too much to be played at once, if they are.
fn is_too_much(manner: &Manner, strokes: &[Stroke]) -> Option<String> {
    let between = |stroke: &Stroke| manner.pace.step.map_or(0.0, |step| stroke.length() / step);
    let places = |stroke: &Stroke| stroke.points.len() as f64 + between(stroke);
    let places: f64 = strokes.iter().map(places).sum();
    if places > MOST_PLACES {
        return Some(format!(
            "the strokes lead over {places:.0} places, the most are {MOST_PLACES}: choose a larger `step` of the pace"
        ));
    }
    let stays_ms = manner.stays_ms(strokes);
    (stays_ms > LONGEST_MS).then(|| {
        format!(
            "the strokes would take {:.0} s, the most are {:.0}: choose a faster `pace` or `profile`",
            stays_ms / 1e3,
            LONGEST_MS / 1e3
        )
    })
}

impl Mechanism {
    fn new(config: &Config, host: Host) -> Result<Self> {
        let desktop = Desktop::connect_by(config.desktop)?;
        desktop.give_up_when(move || host.is_ending());
        let hotkey = watch::hotkey(&desktop, config)?;
        // Before a portal asks the person for the mouse.
        unreported::check(&desktop, config)?;
        let guard = Arc::new(Guard::default());
        let (mouse, reports) = SystemMouse::new(&desktop, config)?;
        let mut player = Player::new(Box::new(mouse), Arc::clone(&guard), config);
        player.rest_at_start(|| Ok(desktop.screen()?), host)?;
        let surroundings = Box::new(desktop.clone());
        let watched = Arc::clone(&guard);
        let watch = Watch::start(config, watched, surroundings, hotkey, reports, host)?;
        Ok(Self {
            player,
            guard,
            monitors: Surroundings::monitors(&desktop),
            surroundings: Box::new(desktop),
            raised: None,
            without_keyboard_since: None,
            _watch: watch,
        })
    }

    /// Checks that a frame shows the desktop that the mouse acts on. An older recording does not name it, and other sources
    /// than capture-screen may not.
    fn check_desktop(&self, frame: &FrameNote) -> Result<()> {
        let ours = self.surroundings.session_name();
        match &frame.desktop {
            Some(theirs) if *theirs != ours => {
                let choice = DesktopChoice::of_session_name(&ours);
                let options = choice.map_or_else(String::new, |choice| {
                    format!(
                        "; for one run: --set capture-screen.desktop={choice} --set actuator-mouse.desktop={choice}"
                    )
                });
                Err(Error::new(format!(
                    "nothing is pressed: the frame of \"{}\" shows the desktop \"{theirs}\", and the mouse acts on \
                     \"{ours}\": set the key `desktop` of capture-screen and actuator-mouse to the same{options}",
                    frame.source
                )))
            }
            _ => Ok(()),
        }
    }

    /// The part of the window that pictures show now, and where the pointer may be: there, or on the screen where no window
    /// was captured.
    fn room(&self, gestures: &Gestures) -> (Option<Rect>, Option<Rect>) {
        let window = gestures.frame.window.map(WindowId);
        let shown = window.and_then(|window| self.surroundings.shown_part(window));
        (shown, shown.or_else(|| self.surroundings.screen()))
    }

    /// Why nothing is played now, if so.
    fn not_now(
        &mut self,
        watched: Option<&Watched>,
        config: &Config,
        acting: &mut Acting<'_, '_>,
    ) -> Result<Option<String>> {
        if self.player.was_moved()? {
            acting.host().end_run(Ending::Stopped, MOVED_BY_HAND);
            return Err(Error::cancelled());
        }
        if let Some(reason) = self.too_old(config, acting) {
            return Ok(Some(reason));
        }
        let Some(watched) = watched else {
            return Ok(monitors_trouble(
                &*self.surroundings,
                self.monitors.as_deref(),
            ));
        };
        let mut trouble = self.surroundings.trouble(watched);
        if self.must_raise(watched.window, trouble.as_ref(), acting.host().now_ns()) {
            self.raise(watched, acting)?;
            // What it shows may have changed meanwhile. The next frame finds the window raised.
            if let Some(reason) = self.too_old(config, acting) {
                return Ok(Some(reason));
            }
            trouble = self.surroundings.trouble(watched);
        }
        Ok(trouble.map(|it| it.reason))
    }

    /// Whether the window is to be brought to the front: it never was, or it has lost the keyboard for a while. `trouble`: why
    /// the board can't be played now.
    fn must_raise(
        &mut self,
        window: WindowId,
        trouble: Option<&BoardTrouble>,
        now_ns: i64,
    ) -> bool {
        if self.raised != Some(window) {
            return true;
        }
        let lacks_keyboard = trouble.is_some_and(|it| it.lacks_keyboard);
        if !lacks_keyboard {
            self.without_keyboard_since = None;
            return false;
        }
        let since = *self.without_keyboard_since.get_or_insert(now_ns);
        now_ns - since >= RAISED_AGAIN_AFTER.as_nanos() as i64
    }

    /// Why the frame is too old, if so. If not, the player notices from now on when all stands still.
    fn too_old(&mut self, config: &Config, acting: &Acting<'_, '_>) -> Option<String> {
        let now_ns = acting.host().now_ns();
        self.player.begin(now_ns);
        too_old(config, acting.captured_ns(), now_ns)
    }

    /// Brings the window to the front: its frame may change place.
    fn raise(&mut self, watched: &Watched, acting: &mut Acting<'_, '_>) -> Result<()> {
        self.surroundings.raise(watched);
        let deadline = acting.host().now_ns() + RAISED_WITHIN.as_nanos() as i64;
        acting.wait_until(acting.host().now_ns() + SETTLED_AFTER.as_nanos() as i64)?;
        while self.surroundings.trouble(watched).is_some() && acting.host().now_ns() < deadline {
            acting.wait_until(acting.host().now_ns() + 10_000_000)?;
        }
        self.raised = Some(watched.window);
        self.without_keyboard_since = None;
        Ok(())
    }
}

/// Why nothing can be played where no window is captured: then only the monitors say where what was captured is. `before`:
/// where they were at the start.
fn monitors_trouble(surroundings: &dyn Surroundings, before: Option<&[Rect]>) -> Option<String> {
    (surroundings.monitors()? != before?).then(|| {
        "the monitors have changed since the start of the run: end it, and start it again"
            .to_owned()
    })
}

/// Why a frame was captured too long ago, or when it is unknown, if so.
fn too_old(config: &Config, captured_ns: i64, now_ns: i64) -> Option<String> {
    if captured_ns == 0 {
        return Some(
            "they descend from no frame, so nothing says that they still fit what is on the screen"
                .to_owned(),
        );
    }
    let age = now_ns.saturating_sub(captured_ns) / 1_000_000;
    let most = config.max_age_ms;
    (age > most as i64).then(|| {
        format!(
            "the frame was captured {age} ms ago, and max_age_ms of actuator-mouse is {most}: raise it, or let the stages before it \
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
                "it is unknown whether {} is in front: set `window` of capture-screen (--window TITLE), or any_window = \
                 true of actuator-mouse (--set actuator-mouse.any_window=true)",
                frame.source
            ))
        };
    };
    Ok(Some(Watched {
        window: WindowId(window),
        origin: frame.origin.map(|value| value.round() as i32),
        size: None,
        board: bounds,
        title: searched_title(frame),
    }))
}

/// The text by which the window of a frame was found. `None`: it is not known, as where another stage than capture-screen
/// has captured it.
fn searched_title(frame: &FrameNote) -> Option<String> {
    let title = frame.title.as_ref()?.to_lowercase();
    let is_part = title.contains(&frame.source.to_lowercase());
    is_part.then(|| frame.source.clone())
}

/// What a dry run reports of strokes instead of acting.
fn would_draw(strokes: &Strokes, gestures: &Gestures) -> Played {
    let area = Area::new(gestures);
    let geometry = strokes.sighting.board().map(|board| &board.geometry);
    let reason = |stroke: &Stroke| {
        let points = stroke.points.iter();
        let way: Vec<String> = points
            .filter_map(|&point| Some(area.pixel(geometry?.to_frame(point))))
            .map(|[x, y]| format!("{x},{y}"))
            .collect();
        let name = colour::name(stroke.colour);
        Some(format!("would drag {name} by {}", way.join(" ")))
    };
    Played::new(outcomes(&strokes.strokes, reason)).with_refused(DRY)
}

/// What a dry run reports of gestures instead of acting: the first few of them.
fn would_do(gestures: &Gestures) -> String {
    const SHOWN: usize = 5;
    let area = Area::new(gestures);
    let one = |gesture: &flowpipe_plugin::message::Gesture| {
        let places = gesture.actions.iter().filter_map(Action::place);
        let places: Vec<String> = places
            .map(|place| area.pixel(place))
            .map(|[x, y]| format!("{x},{y}"))
            .collect();
        format!("{} at {}", gesture.name, places.join(" "))
    };
    let shown: Vec<String> = gestures.gestures.iter().take(SHOWN).map(one).collect();
    let more = gestures.gestures.len().saturating_sub(SHOWN);
    match more {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
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
