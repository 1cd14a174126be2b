//! Holds the mouse: every move goes through here, and is checked first.

use std::sync::Arc;

use flowpipe_desktop::Rect;
use flowpipe_desktop::input::MAX_STALL;
use flowpipe_guardian::Input;
use flowpipe_plugin::{Acting, Cancel, Error, Host, Result, tracing};

use crate::config::Config;
use crate::guard::{Guard, Trouble};
use crate::mouse::Mouse;
use crate::rest;
use crate::watch::{MOVED_BY_HAND, is_elsewhere};

/// Nanoseconds in a millisecond.
pub const MS: f64 = 1e6;

/// The longest time between two checks, in nanoseconds: after more, what the gestures were planned on may be gone.
const MAX_STALL_NS: i64 = MAX_STALL.as_nanos() as i64;

/// Why nothing is pressed while a button is down that this player has not pressed.
const HELD_BY_SOMEONE: &str =
    "a button of the mouse is held down by someone: release it, so that presses go to the board";

/// Holds the mouse.
pub struct Player {
    mouse: Box<dyn Mouse>,
    guard: Arc<Guard>,
    by_hand: bool,
    /// Where the pointer was put since it was last seen where it should be, the newest last. A window
    /// manager that looks at each press before the window gets it holds all input back meanwhile, and
    /// the system goes on to report an older place.
    put: Vec<[i32; 2]>,
    /// When it was last checked whether the pointer may move on, or what the gestures were planned on was found new enough.
    checked_at: Option<i64>,
}

/// As long as input may be held back.
const HELD_BACK: Wait = Wait {
    longest_ns: 1_000_000_000,
    every_ns: 100_000,
};

/// Why the pointer does not move on.
pub enum Halt {
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

/// A wait with an end.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The longest that it takes, in nanoseconds.
    pub longest_ns: i64,
    /// Between two looks, in nanoseconds.
    pub every_ns: i64,
}

impl Player {
    pub fn new(mouse: Box<dyn Mouse>, guard: Arc<Guard>, config: &Config) -> Self {
        Self {
            mouse,
            guard,
            by_hand: config.by_hand,
            put: Vec::new(),
            checked_at: None,
        }
    }

    /// Gestures begin: at this time, what they were planned on was found new enough.
    pub fn begin(&mut self, now_ns: i64) {
        self.checked_at = Some(now_ns);
    }

    /// The pixels of a part of the screen, if the desktop gives them at once.
    pub fn pixels(&mut self, part: Rect) -> Option<Vec<u8>> {
        self.mouse.pixels(part)
    }

    /// Gets ready for a press, and waits until the desktop answers.
    ///
    /// # Errors
    /// When it does not, or when nobody would release what is pressed.
    pub fn prepare_press(&mut self) -> Result<()> {
        self.mouse.prepare_press()
    }

    /// Presses a button or a key. Returns why it was not pressed, if it may be planned again.
    ///
    /// # Errors
    /// When the mouse fails.
    pub fn press(&mut self, input: Input) -> Result<Option<String>> {
        self.mouse.press(input)
    }

    /// Gets ready to press keys.
    ///
    /// # Errors
    /// When the mouse fails.
    pub fn prepare_keys(&mut self) -> Result<()> {
        self.mouse.prepare_keys()
    }

    /// Releases a button or a key.
    ///
    /// # Errors
    /// When the mouse fails.
    pub fn release(&mut self, input: Input) -> Result<()> {
        self.mouse.release(input)
    }

    /// Where the pointer was put last.
    pub fn put(&self) -> Option<[i32; 2]> {
        self.put.last().copied()
    }

    /// Whether a person has moved the pointer since the last move, where the desktop can be asked.
    ///
    /// # Errors
    /// When the mouse does not answer.
    pub fn was_moved(&mut self) -> Result<bool> {
        let Some(&put) = self.put.last().filter(|_| self.by_hand) else {
            return Ok(false);
        };
        // Elsewhere the other thread notices it, if anyone does.
        let Some(place) = self.mouse.place()? else {
            self.put.clear();
            self.put.push(put);
            return Ok(false);
        };
        if !is_elsewhere(place, put) {
            self.put = vec![put];
            return Ok(false);
        }
        Ok(self.put.iter().all(|&before| is_elsewhere(place, before)))
    }

    /// Puts the pointer aside before anything was played, if pictures show it: over a board, it would hide what all messages
    /// begin with. Nothing can be checked first but that the run continues.
    ///
    /// # Errors
    /// When the mouse fails, or the screen is not known.
    pub fn rest_at_start(
        &mut self,
        screen: impl FnOnce() -> Result<Rect>,
        host: Host,
    ) -> Result<()> {
        if !self.mouse.is_captured() || host.is_ending() {
            return Ok(());
        }
        tracing::info!(
            "the pointer goes near the lower right corner of the screen: pictures of this desktop may contain it"
        );
        // It is not noted: gestures that are refused move nothing.
        self.mouse.put(rest::aside(screen()?))
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
        match rest::beside(bounds, window, now) {
            Some(place) => self.rest_at(place, acting, cancel),
            None => Ok(()),
        }
    }

    /// Puts the pointer aside on the screen, if pictures show it: where the window is now, it may lie on the board.
    ///
    /// # Errors
    /// Those of the mouse.
    pub fn rest_aside(
        &mut self,
        screen: Rect,
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<()> {
        match self.mouse.is_captured() {
            true => self.rest_at(rest::aside(screen), acting, cancel),
            false => Ok(()),
        }
    }

    fn rest_at(
        &mut self,
        place: [i32; 2],
        acting: &Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<()> {
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
    pub fn go(
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
    pub fn catch_up(
        &mut self,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        if let Some(&put) = self.put.last() {
            let has_come = |place: [i32; 2], _: &[u8]| !is_elsewhere(place, put);
            self.wait_for_place(has_come, acting, cancel)?;
        }
        Ok(())
    }

    /// Waits until no button is down, where the desktop reports it. A person may hold one in another window: moves would
    /// drag there, and presses would go there. What was released just now may be held back.
    pub fn wait_for_buttons(
        &mut self,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        let are_up = |player: &mut Self| {
            player.mouse.place()?;
            Ok(player.mouse.held_buttons().is_empty())
        };
        match self.wait_until(are_up, HELD_BACK, acting, cancel)? {
            true => Ok(()),
            false => Err(Halt::Board(HELD_BY_SOMEONE.to_owned())),
        }
    }

    /// Waits until the pointer is inside of `bounds`, and no button is down but those of `down`: somebody may have moved the
    /// pointer since it was put there, or hold a button.
    pub fn come_inside(
        &mut self,
        bounds: Rect,
        down: &[Input],
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        let are_ours = |held: &[u8]| held.iter().all(|&it| down.contains(&Input::Button(it)));
        let may_press = |place: [i32; 2], held: &[u8]| bounds.contains(place) && are_ours(held);
        match self.wait_for_place(may_press, acting, cancel)? {
            None => Ok(()),
            Some(place) if bounds.contains(place) => Err(Halt::Board(HELD_BY_SOMEONE.to_owned())),
            Some([x, y]) => Err(Halt::Board(format!(
                "nothing is pressed: the pointer is at {x}, {y} on the screen, outside of the bounds of the gestures"
            ))),
        }
    }

    /// Waits until the desktop has passed on what was sent: from then on it takes effect.
    pub fn pass_on(
        &mut self,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        /// The longest time that a desktop which works may take.
        const PATIENCE: Wait = Wait {
            longest_ns: 2_000_000_000,
            every_ns: 1_000_000,
        };
        let is_passed_on = |player: &mut Self| player.mouse.is_passed_on();
        match self.wait_until(is_passed_on, PATIENCE, acting, cancel)? {
            true => Ok(()),
            false => Err(Halt::Board(
                "the desktop does not pass on what the mouse does: check that its screen is on"
                    .to_owned(),
            )),
        }
    }

    /// Waits until the pointer is where it should be, and no button is down that should not be, as long as input may be held
    /// back. Where it is then, if that has not come. Where the desktop can't be asked, it counts as where it was put last:
    /// there a press puts it again.
    fn wait_for_place(
        &mut self,
        is_there: impl Fn([i32; 2], &[u8]) -> bool,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<Option<[i32; 2]>, Halt> {
        let mut place = [0, 0];
        let has_come = |player: &mut Self| {
            let put = player.put();
            let asked = player.mouse.place()?.or(put);
            place = asked.ok_or_else(|| Error::new("it is not known where the pointer is"))?;
            Ok(is_there(place, &player.mouse.held_buttons()))
        };
        let has_come = self.wait_until(has_come, HELD_BACK, acting, cancel)?;
        Ok((!has_come).then_some(place))
    }

    /// Waits from when the desktop has passed on what was sent, and continues to check.
    pub fn stay(
        &mut self,
        stay_ms: f64,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<(), Halt> {
        // What needs no wait may be passed on at once with what follows.
        if stay_ms > 0.0 {
            self.pass_on(acting, cancel)?;
            let wait = Wait {
                longest_ns: (stay_ms * MS) as i64,
                every_ns: 4_000_000,
            };
            self.wait_until(|_| Ok(false), wait, acting, cancel)?;
        }
        Ok(())
    }

    /// Waits until something has come, and checks meanwhile whether the pointer may move on. Returns whether it came.
    pub fn wait_until(
        &mut self,
        mut has_come: impl FnMut(&mut Self) -> Result<bool>,
        wait: Wait,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> std::result::Result<bool, Halt> {
        let until = acting.host().now_ns().saturating_add(wait.longest_ns);
        loop {
            if has_come(self)? {
                return Ok(true);
            }
            let now = acting.host().now_ns();
            if now >= until {
                return Ok(false);
            }
            let next = now.saturating_add(wait.every_ns);
            acting.wait_until(next.min(until))?;
            if next < until {
                self.check(acting, cancel)?;
            }
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
    pub fn check(
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
        // After the questions: their answers may have taken long.
        let now = acting.host().now_ns();
        let held_up_ns = now - self.checked_at.replace(now).unwrap_or(now);
        match self.guard.trouble() {
            None if held_up_ns > MAX_STALL_NS => Err(Halt::Board(format!(
                "the program or the desktop stood still for {:.1} s, and something else may be there now: the window is \
                 looked at again",
                held_up_ns as f64 / 1e9
            ))),
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
    pub fn send_again(
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mouse that can't be asked where the pointer is.
    struct BlindMouse;

    impl Mouse for BlindMouse {
        fn place(&mut self) -> Result<Option<[i32; 2]>> {
            Ok(None)
        }

        fn put(&mut self, _: [i32; 2]) -> Result<()> {
            Ok(())
        }

        fn press(&mut self, _: Input) -> Result<Option<String>> {
            Ok(None)
        }

        fn check(&mut self) -> Result<()> {
            Ok(())
        }

        fn release(&mut self, _: Input) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn places_of_a_pointer_that_can_t_be_asked_for_do_not_accumulate() {
        let mut player = Player::new(Box::new(BlindMouse), Arc::default(), &Config::default());
        for x in 0..100 {
            player.note_put([x, 0]);
            assert!(!player.was_moved().unwrap());
        }
        assert_eq!(player.put, [[99, 0]]);
    }
}
