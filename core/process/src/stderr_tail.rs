//! The last lines that a process writes to standard error, for the report of its failure.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::lines::Lines;

/// Reads standard error on a thread of its own, and keeps the last lines.
#[derive(Debug)]
pub struct StderrTail {
    shared: Arc<Shared>,
}

/// How many lines are kept.
const KEPT_LINES: usize = 8;

#[derive(Debug, Default)]
struct Shared {
    tail: Mutex<Tail>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    /// The pipe has ended.
    is_complete: bool,
}

impl StderrTail {
    /// Starts to read, and passes each line to `each`. Blank lines are skipped; one of more than `longest` bytes is
    /// split.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(
        stderr: impl Read + Send + 'static,
        longest: usize,
        mut each: impl FnMut(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let tail = Self {
            shared: shared.clone(),
        };
        let read = move || {
            for line in Lines::new(stderr, longest).map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line.bytes);
                let line = line.trim_end();
                if !line.is_empty() {
                    each(line);
                    shared.keep(line.to_owned());
                }
            }
            shared.lock().is_complete = true;
            shared.ended.notify_all();
        };
        let thread = std::thread::Builder::new().name("stderr".to_owned());
        thread.spawn(read)?;
        Ok(tail)
    }

    /// Waits for the end of the pipe, at most for this time: another process may hold it open.
    pub fn wait(&self, limit: Duration) {
        let is_open = |tail: &mut Tail| !tail.is_complete;
        // On a timeout, the lines so far are what there is.
        let _ = self
            .shared
            .ended
            .wait_timeout_while(self.shared.lock(), limit, is_open);
    }

    /// The last line so far; empty if there is none.
    #[must_use]
    pub fn last_line(&self) -> String {
        self.shared.lock().lines.back().cloned().unwrap_or_default()
    }

    /// The last lines so far.
    #[must_use]
    pub fn text(&self) -> String {
        let tail = self.shared.lock();
        let lines: Vec<&str> = tail.lines.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

impl Shared {
    fn keep(&self, line: String) {
        let mut tail = self.lock();
        if tail.lines.len() == KEPT_LINES {
            tail.lines.pop_front();
        }
        tail.lines.push_back(line);
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_each_is_passed_on() {
        let (sender, lines) = mpsc::channel();
        let text = "1\n2\n3\n\n4\n5\n6\r\n7\n8\n9";
        let each = move |line: &str| sender.send(line.to_owned()).unwrap();
        let tail = StderrTail::start(text.as_bytes(), 100, each).unwrap();
        tail.wait(Duration::from_secs(60));
        assert_eq!(tail.text(), "2\n3\n4\n5\n6\n7\n8\n9");
        assert_eq!(tail.last_line(), "9");
        assert_eq!(lines.iter().count(), 9);
    }

    #[test]
    fn an_open_pipe_does_not_block_forever() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (sender, lines) = mpsc::channel();
        let each = move |line: &str| sender.send(line.to_owned()).unwrap();
        let tail = StderrTail::start(reader, 100, each).unwrap();
        assert_eq!(tail.last_line(), "");
        writer.write_all(b"first\nlast\nunfinished").unwrap();
        lines.iter().nth(1).unwrap();
        // Still open, as if another process held it.
        tail.wait(Duration::from_millis(50));
        assert_eq!(tail.text(), "first\nlast");
        drop(writer);
        tail.wait(Duration::from_secs(60));
        assert_eq!(tail.last_line(), "unfinished");
    }
}
