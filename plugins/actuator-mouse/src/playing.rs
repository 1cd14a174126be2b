//! Plays gestures: what they press, where, and that all of it is up in the end.

use flowpipe_desktop::Rect;
use flowpipe_guardian::Input;
use flowpipe_plugin::message::{Action, Button, Gesture, Gestures, Point};
use flowpipe_plugin::{Acting, Cancel, Error, Result};

use crate::area::Area;
use crate::keys::Keys;
use crate::mouse;
use crate::player::{Halt, MS, Player, Wait};
use crate::shown::{self, ChangeWait};

/// What is asked before something is pressed.
pub struct Asked<'a> {
    /// The keys that may be pressed.
    pub keys: Keys,
    /// Why no key may be pressed now, if so.
    pub why_no_key: &'a dyn Fn() -> Option<String>,
    /// Why nothing may be pressed now, if so.
    pub why_not_now: &'a dyn Fn() -> Option<String>,
    /// Why the first press would come too late for what the gestures were planned on, if so.
    pub why_too_late: &'a dyn Fn() -> Option<String>,
}

/// How gestures ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// How many were played.
    pub played: usize,
    /// Why the rest was not; what was pressed is up.
    pub refused: Option<String>,
    /// Whether the mouse was used.
    pub has_begun: bool,
}

impl End {
    /// Nothing was played.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self {
            played: 0,
            refused: Some(reason.into()),
            has_begun: false,
        }
    }
}

/// Plays gestures one after the other, with the pointer inside of `bounds`. However it ends, all that was pressed is
/// up. `asked`: what is asked before each press.
///
/// # Errors
/// When a gesture leaves the bounds (then nothing is pressed), the run ends, or the mouse fails.
pub fn play(
    player: &mut Player,
    gestures: &Gestures,
    bounds: Rect,
    asked: &Asked<'_>,
    acting: &mut Acting<'_, '_>,
    cancel: &Cancel<'_>,
) -> Result<End> {
    let area = Area::new(gestures);
    if let Some([x, y]) = area.outside(bounds) {
        let why = format!("a gesture would leave its bounds, at {x}, {y} on the screen");
        return Err(Error::new(why));
    }
    let mut playing = Playing {
        player,
        area,
        bounds,
        asked,
        down: Vec::new(),
        is_first_move: false,
        change_wait: ChangeWait::default(),
    };
    let mut played = 0;
    let mut play_all = || {
        playing.player.wait_for_buttons(acting, cancel)?;
        for gesture in &gestures.gestures {
            playing.play(gesture, acting, cancel)?;
            played += 1;
        }
        playing.release_all()?;
        // What is captured from now on shows what became of them.
        playing.player.pass_on(acting, cancel)
    };
    let refused = match play_all() {
        Ok(()) => None,
        Err(Halt::Board(reason)) => Some(reason),
        Err(Halt::Error(error)) => return Err(error),
    };
    Ok(End {
        played,
        refused,
        has_begun: acting.act_ns() > 0,
    })
}

/// Gestures that are being played. However that ends, what is down goes up.
struct Playing<'a> {
    player: &'a mut Player,
    area: Area<'a>,
    bounds: Rect,
    asked: &'a Asked<'a>,
    /// What is pressed, the latest last.
    down: Vec<Input>,
    /// Whether a button was pressed and the pointer has not moved since.
    is_first_move: bool,
    change_wait: ChangeWait,
}

impl Playing<'_> {
    fn play(
        &mut self,
        gesture: &Gesture,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.change_wait.begin(&gesture.actions);
        for (at, action) in gesture.actions.iter().enumerate() {
            self.look_ahead(&gesture.actions[at..]);
            self.act(action, acting, cancel)?;
        }
        Ok(())
    }

    fn act(
        &mut self,
        action: &Action,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        match action {
            Action::Press { at, button, .. } => {
                match at {
                    Some(at) => self.go(*at, acting, cancel)?,
                    None => self.player.check(acting, cancel)?,
                }
                self.press_button(*button, acting, cancel)?;
                self.is_first_move = true;
            }
            Action::Move { to, repeats, .. } => {
                self.go(*to, acting, cancel)?;
                if std::mem::take(&mut self.is_first_move) {
                    self.player.catch_up(acting, cancel)?;
                }
                let (at, times) = (self.area.pixel(*to), repeats.saturating_sub(1));
                self.player
                    .send_again(at, times, self.bounds, acting, cancel)?;
            }
            Action::Release { button, .. } => self.release(mouse::button(*button))?,
            Action::Click {
                at,
                button,
                hold_ms,
                ..
            } => {
                self.go(*at, acting, cancel)?;
                self.press_button(*button, acting, cancel)?;
                self.player.stay(*hold_ms, acting, cancel)?;
                self.release(mouse::button(*button))?;
            }
            Action::Key { name, .. } => {
                // A keyboard that is new shows to other programs, which may come to the front.
                self.player.prepare_keys()?;
                self.player.check(acting, cancel)?;
                let code = self.asked.keys.code(name)?;
                let why_no_key = self.asked.why_no_key;
                let trouble = (self.asked.why_not_now)().or_else(why_no_key);
                if let Some(reason) = trouble {
                    return Err(Halt::Board(reason));
                }
                self.press(Input::Key(code), acting, cancel)?;
                self.release(Input::Key(code))?;
            }
        }
        self.player.stay(action.stay_ms(), acting, cancel)?;
        self.wait_until_shown(action, acting, cancel)
    }

    /// Takes a picture of the next place where the pointer waits until a change is shown.
    fn look_ahead(&mut self, actions: &[Action]) {
        if !self.change_wait.wants_picture() {
            return;
        }
        let waits = |action: &&Action| shown::limit_ms(action).is_some();
        if let Some(place) = actions.iter().find(waits).and_then(Action::place) {
            let part = self.around(place);
            let pixels = part.and_then(|part| self.player.pixels(part));
            self.change_wait.will_go(pixels);
        }
    }

    /// Waits until the program has drawn where the pointer is, if the action asks for that.
    fn wait_until_shown(
        &mut self,
        action: &Action,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        let (Some(limit_ms), Some(place)) = (shown::limit_ms(action), action.place()) else {
            return Ok(());
        };
        let part = self.around(place);
        let change_wait = &mut self.change_wait;
        let Some(limit_ms) = change_wait.limit_ms(limit_ms) else {
            return Ok(());
        };
        let wait = Wait {
            longest_ns: (limit_ms * MS) as i64,
            every_ns: 2_000_000,
        };
        let has_changed = |player: &mut Player| {
            let pixels = part.and_then(|part| player.pixels(part));
            Ok(change_wait.has_changed(pixels.as_deref()))
        };
        let has_changed = self.player.wait_until(has_changed, wait, acting, cancel)?;
        self.change_wait.leave(has_changed);
        Ok(())
    }

    /// The part of the screen around a place.
    fn around(&self, place: Point) -> Option<Rect> {
        shown::around(self.area.pixel(place)).intersection(self.bounds)
    }

    fn go(
        &mut self,
        point: Point,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.player.go(self.area.pixel(point), acting, cancel)
    }

    /// Presses a button, if the pointer is where it may be.
    fn press_button(
        &mut self,
        button: Button,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.player
            .come_inside(self.bounds, &self.down, acting, cancel)?;
        // What the other thread found last may be some milliseconds old.
        if let Some(reason) = (self.asked.why_not_now)() {
            return Err(Halt::Board(reason));
        }
        self.press(mouse::button(button), acting, cancel)
    }

    /// Presses a button or a key, if what was asked before was answered soon enough.
    fn press(
        &mut self,
        input: Input,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.player.prepare_press()?;
        // What is shown after the first press, the gestures themselves change.
        let is_first = acting.act_ns() == 0;
        if let Some(reason) = is_first.then(self.asked.why_too_late).flatten() {
            return Err(Halt::Board(reason));
        }
        self.player.check(acting, cancel)?;
        acting.pressed();
        // Before it is, so that a press that fails half way is undone too.
        self.down.push(input);
        match self.player.press(input)? {
            None => Ok(()),
            Some(reason) => {
                self.down.retain(|down| *down != input);
                Err(Halt::Board(format!(
                    "{reason}: the window is looked at again"
                )))
            }
        }
    }

    fn release(&mut self, input: Input) -> Result<()> {
        if self.down.contains(&input) {
            self.player.release(input)?;
            // Only now: a release that failed is tried again when this is dropped.
            self.down.retain(|down| *down != input);
        }
        Ok(())
    }

    fn release_all(&mut self) -> Result<()> {
        while let Some(&input) = self.down.last() {
            self.release(input)?;
        }
        Ok(())
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        // Each is tried, also after one that failed.
        for input in self.down.clone().into_iter().rev() {
            if let Err(error) = self.release(input) {
                flowpipe_plugin::tracing::error!(
                    "{input} is not known to be released: {error}; the process that guards the mouse releases it as soon as the \
                     desktop answers, else press and release it once"
                );
            }
        }
    }
}
