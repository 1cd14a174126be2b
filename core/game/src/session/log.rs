//! What the game itself saw, as JSON lines: the ground truth of tests against it.
//!
//! Every line is an object with `t`, nanoseconds since the start of the session, and `event`:
//! - `start`: the session's options. `layout`: where the board lies in the window, in its pixels, or in a
//!   terminal, in characters whose middles are whole numbers (`x`, `y`, `width`, `height`), whenever
//!   that changes.
//! - `level`: a board appears (`number` from 1, `title`, `puzzle`). `ready`: from now on it takes input.
//! - `shown`: board `number` was handed to the screen for the first time as it is when it takes input.
//!   Front ends draw beside the game, so that lines with a later `t` may come before this one.
//! - `press`, `move`, `release`: the pointer, `at` a point in board units; `lost`: that move was
//!   dropped; `ignored`: the board takes no input now.
//! - `pressed`, `extended`, `joined` … : what it did ([`crate::Event`]).
//! - `undo`, `restart`. `solved`: `number`, `moves`, and `after`, nanoseconds since it was ready.
//! - `over`: no more boards, or the time is up; `solved`, how many. `closed`: the same, at the very end.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// Writes the log; without a writer it does nothing.
pub struct Log {
    out: Option<Box<dyn Write>>,
    /// Whether something is written that [`Log::flush`] has not passed on.
    is_waiting: bool,
    failure: Option<io::Error>,
}

impl Log {
    /// Nothing is written.
    #[must_use]
    pub fn none() -> Self {
        Self {
            out: None,
            is_waiting: false,
            failure: None,
        }
    }

    /// Writes lines to a writer, which should be buffered: it is flushed by [`Log::flush`].
    #[must_use]
    pub fn to(out: impl Write + 'static) -> Self {
        Self {
            out: Some(Box::new(out)),
            is_waiting: false,
            failure: None,
        }
    }

    /// Writes one line: `record` must be a JSON object and is given the time. A failure to write is
    /// kept for [`Log::flush`].
    pub fn write(&mut self, now: Duration, record: impl Serialize) {
        let Some(out) = &mut self.out else { return };
        self.is_waiting = true;
        let written = serde_json::to_value(record)
            .map_err(io::Error::from)
            .and_then(|record| {
                let mut line = serde_json::Map::new();
                line.insert("t".to_owned(), Value::from(now.as_nanos() as u64));
                if let Value::Object(record) = record {
                    line.extend(record);
                }
                writeln!(out, "{}", Value::Object(line))
            });
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Whether there is something for [`Log::flush`] to do.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Passes on what was written.
    ///
    /// # Errors
    /// The first failure to write since the last call.
    pub fn flush(&mut self) -> io::Result<()> {
        self.is_waiting = false;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.out.as_mut().map_or(Ok(()), |out| out.flush())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failure_to_write_is_reported() {
        let mut log = Log::to(Full);
        assert!(log.flush().is_ok());
        log.write(Duration::ZERO, json!({"event": "start"}));
        let error = log.flush().expect_err("nothing can be written");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(log.flush().is_ok(), "it is reported once");
        let mut none = Log::none();
        none.write(Duration::ZERO, json!({}));
        assert!(none.flush().is_ok());
    }
}
