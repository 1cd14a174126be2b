//! Plays gestures: every action goes through here, and is checked first.

use std::sync::Arc;

use flowpipe_desktop::Rect;
use flowpipe_guardian::Input;
use flowpipe_plugin::message::{Action, Button, Gesture, Gestures, Point};
use flowpipe_plugin::{Acting, Cancel, Error, Result};

use crate::area::Area;
use crate::config::Config;
use crate::guard::{Guard, Trouble};
use crate::keys::Keys;
use crate::mouse::{self, Mouse};
use crate::rest;
use crate::shown::{self, ChangeWait};
use crate::watch::{MOVED_BY_HAND, is_elsewhere};

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// Holds the mouse.
pub struct Player {
    mouse: Box<dyn Mouse>,
    guard: Arc<Guard>,
    by_hand: bool,
    /// Where the pointer was put since it was last seen where it should be, the newest last. A window
    /// manager that looks at each press before the window gets it holds all input back meanwhile, and
    /// the system goes on to report an older place.
    put: Vec<[i32; 2]>,
}

/// What is asked before something is pressed.
pub struct Asked<'a> {
    /// The keys that may be pressed.
    pub keys: Keys,
    /// Why no key may be pressed now, if so.
    pub why_no_key: &'a dyn Fn() -> Option<String>,
    /// Why nothing may be pressed now, if so.
    pub why_not_now: &'a dyn Fn() -> Option<String>,
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

/// Why the pointer does not move on.
enum Halt {
    /// The board can't be played now.
    Board(String),
    /// The run ends, or the mouse failed.
    Error(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Player {
    pub fn new(mouse: Box<dyn Mouse>, guard: Arc<Guard>, config: &Config) -> Self {
        Self {
            mouse,
            guard,
            by_hand: config.by_hand,
            put: Vec::new(),
        }
    }

    /// Where the pointer was put last.
    pub fn put(&self) -> Option<[i32; 2]> {
        self.put.last().copied()
    }

    /// Whether a person has moved the pointer since the last move.
    ///
    /// # Errors
    /// When the mouse does not answer.
    pub fn was_moved(&mut self) -> Result<bool> {
        let Some(&put) = self.put.last().filter(|_| self.by_hand) else {
            return Ok(false);
        };
        let place = self.mouse.place()?;
        if !is_elsewhere(place, put) {
            self.put = vec![put];
            return Ok(false);
        }
        Ok(self.put.iter().all(|&before| is_elsewhere(place, before)))
    }

    /// Plays gestures one after the other, with the pointer inside of `bounds`. However it ends, all that was pressed is
    /// up. `asked`: what is asked before each press.
    ///
    /// # Errors
    /// When a gesture leaves the bounds (then nothing is pressed), the run ends, or the mouse fails.
    pub fn play(
        &mut self,
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
            player: self,
            area,
            bounds,
            asked,
            down: Vec::new(),
            is_first_move: false,
            change_wait: ChangeWait::default(),
        };
        let mut played = 0;
        let mut play_all = || {
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
            has_begun: true,
        })
    }

    /// Leaves the pointer beside the bounds, where the next pictures of them would contain it.
    ///
    /// # Errors
    /// When the mouse fails.
    pub fn rest_beside(
        &mut self,
        bounds: Rect,
        window: Rect,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<()> {
        let Some(now) = self.put().filter(|_| self.mouse.is_captured()) else {
            return Ok(());
        };
        let Some(place) = rest::beside(bounds, window, now) else {
            return Ok(());
        };
        // Also after gestures that a trouble with the board ended: it has to be read again. A person who takes the mouse
        // keeps it.
        let is_stopped = matches!(self.guard.trouble(), Some(Trouble::Stop(_)));
        if is_stopped || cancel.is_cancelled() || acting.host().is_ending() {
            return Ok(());
        }
        self.mouse.put(place)?;
        self.note_put(place);
        Ok(())
    }

    /// Puts the pointer somewhere, if that may be.
    fn go(
        &mut self,
        at: [i32; 2],
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.check(acting, cancel)?;
        self.mouse.put(at)?;
        self.note_put(at);
        Ok(())
    }

    /// Waits until the pointer is where it was put. A window manager that looks at a press before the
    /// window gets it holds back what follows, keeps only the last of several moves, and can lose
    /// a release: after a press the first move has to have come through before there are more.
    fn catch_up(
        &mut self,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        if let Some(&put) = self.put.last() {
            self.wait_for_place(|place| !is_elsewhere(place, put), acting, cancel)?;
        }
        Ok(())
    }

    /// Waits until the pointer is inside of `bounds`: somebody may have moved it since it was put there.
    fn come_inside(
        &mut self,
        bounds: Rect,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        match self.wait_for_place(|place| bounds.contains(place), acting, cancel)? {
            None => Ok(()),
            Some([x, y]) => Err(Halt::Board(format!(
                "nothing is pressed: the pointer is at {x}, {y} on the screen, outside of the bounds of the gestures"
            ))),
        }
    }

    /// Waits until the desktop has passed on what was sent: from then on it takes effect.
    fn pass_on(
        &mut self,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        /// The longest time that a desktop which works may take, in nanoseconds.
        const PATIENCE: i64 = 2_000_000_000;
        /// Between two questions, in nanoseconds.
        const EVERY: i64 = 1_000_000;
        let began = acting.host().now_ns();
        while !self.mouse.is_passed_on()? {
            let now = acting.host().now_ns();
            if now - began > PATIENCE {
                return Err(Halt::Board(
                    "the desktop does not pass on what the mouse does: check that its screen is on"
                        .to_owned(),
                ));
            }
            self.check(acting, cancel)?;
            acting.wait_until(now + EVERY)?;
        }
        Ok(())
    }

    /// Waits until the pointer is where it should be, as long as input may be held back. Where it is then, if it is not
    /// there.
    fn wait_for_place(
        &mut self,
        is_there: impl Fn([i32; 2]) -> bool,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<Option<[i32; 2]>, Halt> {
        /// The longest time that input is held back, in nanoseconds.
        const PATIENCE: i64 = 1_000_000_000;
        /// Between two checks, in nanoseconds.
        const EVERY: i64 = 100_000;
        let began = acting.host().now_ns();
        loop {
            let place = self.mouse.place()?;
            if is_there(place) {
                return Ok(None);
            }
            let now = acting.host().now_ns();
            if now - began > PATIENCE {
                return Ok(Some(place));
            }
            self.check(acting, cancel)?;
            acting.wait_until(now + EVERY)?;
        }
    }

    /// Notes where the pointer was put.
    pub fn note_put(&mut self, at: [i32; 2]) {
        // Older places are not requested then: they would only accumulate.
        if !self.by_hand {
            self.put.clear();
        }
        self.put.push(at);
    }

    /// Whether the pointer may move on.
    fn check(
        &mut self,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        if cancel.is_cancelled() || acting.host().is_ending() {
            return Err(Error::cancelled().into());
        }
        self.mouse.check()?;
        if self.was_moved()? {
            self.guard.warn(Trouble::Stop(MOVED_BY_HAND.to_owned()));
        }
        match self.guard.trouble() {
            None => Ok(()),
            Some(Trouble::Board(reason)) => Err(Halt::Board(reason)),
            Some(Trouble::Stop(reason)) => {
                acting
                    .host()
                    .end_run(flowpipe_plugin::Ending::Stopped, &reason);
                Err(Error::cancelled().into())
            }
        }
    }

    /// Sends a place again: systems don't report a pointer that stays, so it goes a pixel aside
    /// and back.
    fn send_again(
        &mut self,
        [x, y]: [i32; 2],
        times: u32,
        bounds: Rect,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        let aside = [[x + 1, y], [x - 1, y]]
            .into_iter()
            .find(|&aside| bounds.contains(aside));
        if let Some(aside) = aside {
            for _ in 0..times {
                self.go(aside, acting, cancel)?;
                self.go([x, y], acting, cancel)?;
            }
        }
        Ok(())
    }

    /// Waits from when the desktop has passed on what was sent, and continues to check.
    fn stay(
        &mut self,
        stay_ms: f64,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        /// The time between two checks, in nanoseconds.
        const CHECK_EVERY: i64 = 4_000_000;
        // What needs no wait may be passed on at once with what follows.
        if stay_ms > 0.0 {
            self.pass_on(acting, cancel)?;
        }
        let until = acting.host().now_ns() + (stay_ms * MS) as i64;
        loop {
            let left = until - acting.host().now_ns();
            if left <= 0 {
                return Ok(());
            }
            acting.wait_until(until.min(until - left + CHECK_EVERY))?;
            if left > CHECK_EVERY {
                self.check(acting, cancel)?;
            }
        }
    }
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
                self.player.check(acting, cancel)?;
                let code = self.asked.keys.code(name)?;
                let why_no_key = self.asked.why_no_key;
                let trouble = (self.asked.why_not_now)().or_else(why_no_key);
                if let Some(reason) = trouble {
                    return Err(Halt::Board(reason));
                }
                self.press(Input::Key(code), acting)?;
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
            let pixels = self.pixels_around(place);
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
        /// The time between two looks, in nanoseconds.
        const LOOK_EVERY: i64 = 2_000_000;
        let (Some(limit_ms), Some(place)) = (shown::limit_ms(action), action.place()) else {
            return Ok(());
        };
        let limit_ms = self.change_wait.limit_ms(limit_ms);
        let until = acting.host().now_ns() + (limit_ms * MS) as i64;
        while self.change_wait.has_picture() {
            let pixels = self.pixels_around(place);
            let now = acting.host().now_ns();
            if self.change_wait.has_changed(pixels.as_deref()) {
                self.change_wait.leave(true);
            } else if now >= until {
                self.change_wait.leave(false);
            } else {
                acting.wait_until(until.min(now + LOOK_EVERY))?;
                self.player.check(acting, cancel)?;
            }
        }
        Ok(())
    }

    /// The pixels around a place.
    fn pixels_around(&mut self, place: Point) -> Option<Vec<u8>> {
        let part = shown::around(self.area.pixel(place)).intersection(self.bounds)?;
        self.player.mouse.pixels(part)
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
        self.player.come_inside(self.bounds, acting, cancel)?;
        // What the other thread found last may be some milliseconds old.
        if let Some(reason) = (self.asked.why_not_now)() {
            return Err(Halt::Board(reason));
        }
        Ok(self.press(mouse::button(button), acting)?)
    }

    fn press(&mut self, input: Input, acting: &mut Acting<'_, '_>) -> Result<()> {
        acting.pressed();
        // Before it is, so that a press that fails half way is undone too.
        self.down.push(input);
        self.player.mouse.press(input)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        if self.down.contains(&input) {
            self.player.mouse.release(input)?;
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
                flowpipe_plugin::tracing::error!("{input:?} could not be released: {error}");
            }
        }
    }
}
