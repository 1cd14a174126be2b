//! What a session logs, and when the log is flushed.

use std::time::Duration;

use serde_json::json;

use super::{Options, Session, SessionError};

/// The least time between two times that the log is passed on.
const SETTLING: Duration = Duration::from_millis(10);

impl Session {
    /// The board lies there in the window now: left, top, width and height in pixels, or in a
    /// terminal in characters. Logs that.
    pub fn laid_out(&mut self, now: Duration, [x, y, width, height]: [f64; 4]) {
        self.gestures
            .lay_out(width / self.puzzle.board().cols() as f64);
        let record = json!({"event": "layout", "x": x, "y": y, "width": width, "height": height});
        self.log.write(now, record);
    }

    /// Logs that the board that takes input was passed to the screen for the first time.
    pub fn log_shown(&mut self, at: Duration, number: usize) {
        self.log
            .write(at, json!({"event": "shown", "number": number}));
    }

    /// Passes on what was logged, but some milliseconds after the last time at the earliest, so that a
    /// storm of events does not wait for a disk. When to call it again, if that is needed.
    ///
    /// # Errors
    /// Why the session can't go on.
    pub fn settle(&mut self, now: Duration) -> Result<Option<Duration>, SessionError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        if !self.log.is_waiting() {
            return Ok(None);
        }
        let due = self.settled_at.map_or(now, |at| at + SETTLING);
        if now < due {
            return Ok(Some(due));
        }
        self.settled_at = Some(now);
        self.log.flush().map_err(SessionError::Log)?;
        Ok(None)
    }

    pub(super) fn log_level(&mut self, now: Duration, title: Option<&str>) {
        let record = json!({
            "event": "level", "number": self.number, "title": title, "puzzle": &*self.puzzle,
        });
        self.log.write(now, record);
    }

    pub(super) fn log_all(&mut self, now: Duration, events: &[crate::Event]) {
        for event in events {
            self.log.write(now, event);
        }
    }
}

/// The log's first line.
pub(super) fn start_record(options: &Options) -> serde_json::Value {
    json!({
        "event": "start",
        "input": options.input,
        "nudge": options.nudge,
        "drop": options.drop,
        "seed": options.seed,
        "trial": options.trial.map(|trial| trial.as_nanos() as u64),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{self, Write};
    use std::rc::Rc;

    use super::super::{Level, Levels, Log, Pointer};
    use super::*;
    use crate::generate::generate;

    /// Counts how often it is flushed.
    struct Flushes(Rc<Cell<usize>>);

    impl Write for Flushes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.set(self.0.get() + 1);
            Ok(())
        }
    }

    #[test]
    fn a_storm_of_events_is_passed_on_now_and_then() {
        let board = flowpipe_puzzle::Board::rectangle(5, 5).expect("a board");
        let (puzzle, _) = generate(&board, 5, 1).expect("a puzzle");
        let title = None;
        let levels = Levels::Given(vec![Level { title, puzzle }]);
        let flushes = Rc::new(Cell::new(0));
        let log = Log::to(Flushes(Rc::clone(&flushes)));
        let mut session = Session::new(levels, Options::default(), log).expect("a session");
        let mut now = Duration::ZERO;
        assert_eq!(session.settle(now).expect("settled"), None);
        for _ in 0..100 {
            now += Duration::from_millis(1);
            session.pointer(now, Pointer::Move([0.5, 0.5]));
            session.settle(now).expect("settled");
        }
        assert_eq!(flushes.get(), 11);
        session.pointer(now, Pointer::Move([0.5, 1.5]));
        let again = session.settle(now).expect("settled").expect("later");
        assert_eq!(again, now + SETTLING);
        assert_eq!(session.settle(again).expect("settled"), None);
        assert_eq!(
            (flushes.get(), session.settle(again).expect("settled")),
            (12, None)
        );
    }
}
