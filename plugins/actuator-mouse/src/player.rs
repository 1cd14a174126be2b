//! Plays strokes: every move goes through here, and is checked first.

use std::sync::Arc;

use flowpipe_desktop::Rect;
use flowpipe_plugin::puzzle::message::{Hold, Manner, Stroke};
use flowpipe_plugin::{Acting, Cancel, Error, Result};

use crate::area::Area;
use crate::config::{Config, Drags};
use crate::guard::{Guard, Trouble};
use crate::mouse::Mouse;
use crate::watch::{MOVED_BY_HAND, is_elsewhere};
use crate::way::{Step, Way, ways};

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// Holds the mouse.
pub struct Player {
    mouse: Box<dyn Mouse>,
    guard: Arc<Guard>,
    by_hand: bool,
    drags: Drags,
    /// Where the pointer was put since it was last seen where it should be, the newest last. A window
    /// manager that looks at each press before the window gets it holds all input back meanwhile, and
    /// the system goes on to report an older place.
    put: Vec<[i32; 2]>,
}

/// How strokes ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// How many were played.
    pub played: usize,
    /// Why the rest was not; the button is up.
    pub refused: Option<String>,
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
            drags: config.drags,
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

    /// Plays strokes one after the other, with the pointer inside of `bounds`. However it ends, the
    /// button is up.
    ///
    /// # Errors
    /// When a stroke leaves the bounds (then nothing is pressed), the run ends, or the mouse fails.
    pub fn play(
        &mut self,
        strokes: &[Stroke],
        area: &Area<'_>,
        bounds: Rect,
        manner: &Manner,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<End> {
        let ways = ways(strokes, area, manner, self.drags);
        let mut places = ways.iter().flatten().flat_map(Way::steps);
        if let Some(Step { at: [x, y], .. }) = places.find(|step| !bounds.contains(step.at)) {
            let why = format!("a stroke would leave the board, at {x}, {y} on the screen");
            return Err(Error::new(why));
        }
        let mut button = Button {
            player: self,
            is_down: false,
        };
        for (played, stroke) in ways.iter().enumerate() {
            let mut drags = stroke.iter();
            match drags.try_for_each(|way| button.drag(way, bounds, manner.hold, acting, cancel)) {
                Ok(()) => {}
                Err(Halt::Board(reason)) => {
                    return Ok(End {
                        played,
                        refused: Some(reason),
                    });
                }
                Err(Halt::Error(error)) => return Err(error),
            }
        }
        Ok(End {
            played: strokes.len(),
            refused: None,
        })
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
        /// The longest time that input is held back, in nanoseconds.
        const PATIENCE: i64 = 50_000_000;
        /// Between two checks, in nanoseconds.
        const EVERY: i64 = 100_000;
        let began = acting.host().now_ns();
        while let Some(&put) = self.put.last()
            && is_elsewhere(self.mouse.place()?, put)
        {
            let now = acting.host().now_ns();
            if now - began > PATIENCE {
                break;
            }
            self.check(acting, cancel)?;
            acting.wait_until(now + EVERY)?;
        }
        Ok(())
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
        step: &Step,
        bounds: Rect,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        let [x, y] = step.at;
        let aside = [[x + 1, y], [x - 1, y]]
            .into_iter()
            .find(|&aside| bounds.contains(aside));
        if let Some(aside) = aside {
            for _ in 0..step.again {
                self.go(aside, acting, cancel)?;
                self.go(step.at, acting, cancel)?;
            }
        }
        Ok(())
    }

    /// Waits, and continues to check.
    fn stay(
        &mut self,
        step: &Step,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        /// The time between two checks, in nanoseconds.
        const CHECK_EVERY: i64 = 4_000_000;
        let until = acting.host().now_ns() + (step.stay_ms * MS) as i64;
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

/// The button, while strokes are played. However that ends, it goes up.
struct Button<'a> {
    player: &'a mut Player,
    is_down: bool,
}

impl Button<'_> {
    fn drag(
        &mut self,
        way: &Way,
        bounds: Rect,
        hold: Hold,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        self.player.go(way.first.at, acting, cancel)?;
        if way.begins {
            self.press(acting)?;
        }
        self.player.stay(&way.first, acting, cancel)?;
        if hold == Hold::Clicks {
            self.release()?;
        }
        for (index, step) in way.rest.iter().enumerate() {
            self.player.go(step.at, acting, cancel)?;
            if index == 0 && way.begins {
                self.player.catch_up(acting, cancel)?;
            }
            self.player.send_again(step, bounds, acting, cancel)?;
            self.player.stay(step, acting, cancel)?;
        }
        if way.ends {
            if hold == Hold::Clicks {
                self.player.check(acting, cancel)?;
                self.press(acting)?;
                self.player
                    .stay(way.rest.last().unwrap_or(&way.first), acting, cancel)?;
            }
            self.release()?;
        }
        Ok(())
    }

    fn press(&mut self, acting: &mut Acting<'_, '_>) -> Result<()> {
        acting.pressed();
        // Before it is, so that a press that fails half way is undone too.
        self.is_down = true;
        self.player.mouse.press()
    }

    fn release(&mut self) -> Result<()> {
        if self.is_down {
            self.player.mouse.release()?;
            // Only now: a release that failed is tried again when this is dropped.
            self.is_down = false;
        }
        Ok(())
    }
}

impl Drop for Button<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            flowpipe_plugin::tracing::error!("the button could not be released: {error}");
        }
    }
}
