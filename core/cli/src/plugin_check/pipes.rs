//! Reads the pipes of a child: any bytes, without blocking forever.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::plugin_check::protocol::CheckLine;

/// The maximum length of a line of the protocol: no manifest is longer.
const LONGEST_LINE: u64 = 16 << 20;
/// The maximum length of a line on standard error; a longer one is split.
const LONGEST_STDERR_LINE: u64 = 1 << 10;
/// How many of the last lines of standard error are kept.
const STDERR_LINES: usize = 8;

/// The lines of a child. The channel disconnects when the pipe is closed.
pub fn lines(stdout: impl Read + Send + 'static) -> Receiver<CheckLine> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        each_line(stdout, LONGEST_LINE, |text| {
            // Other lines are ignored.
            match serde_json::from_str::<CheckLine>(text) {
                Ok(line) => sender.send(line).is_ok(),
                Err(_) => true,
            }
        });
    });
    lines
}

/// The last lines of a child's standard error.
pub struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Disconnects when the pipe is closed.
    end: Receiver<()>,
}

impl StderrTail {
    /// Starts to read.
    pub fn of(stderr: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, end) = mpsc::channel();
        let keep = lines.clone();
        thread::spawn(move || {
            each_line(stderr, LONGEST_STDERR_LINE, |text| {
                let mut lines = keep.lock().unwrap_or_else(PoisonError::into_inner);
                if lines.len() == STDERR_LINES {
                    lines.pop_front();
                }
                lines.push_back(text.to_owned());
                true
            });
            drop::<mpsc::Sender<()>>(sender);
        });
        Self { lines, end }
    }

    /// The last lines, after the end of the pipe or the limit: another process may hold the pipe open.
    pub fn within(self, limit: Duration) -> String {
        // On a timeout, the lines so far are returned.
        let _ = self.end.recv_timeout(limit);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(std::mem::take(&mut *lines)).join("\n")
    }
}

/// Passes each line to `take` until it returns `false`. Too long lines are split.
fn each_line(from: impl Read, longest: u64, mut take: impl FnMut(&str) -> bool) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.by_ref().take(longest).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        if !take(&text) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8], longest: u64) -> Vec<String> {
        let mut all = Vec::new();
        each_line(bytes, longest, |line| {
            all.push(line.to_owned());
            true
        });
        all
    }

    #[test]
    fn every_byte_is_read() {
        assert_eq!(split(b"a\n\xffb\n\nc", 9), ["a", "\u{fffd}b", "", "c"]);
        assert_eq!(split(b"abcdefg\nh\n", 3), ["abc", "def", "g", "h"]);
        assert!(split(b"", 3).is_empty());
    }

    #[test]
    fn other_lines_are_ignored() {
        let bytes = b"{\"doing\":\n\xff\n\"done\"\n".to_vec();
        let all: Vec<CheckLine> = lines(std::io::Cursor::new(bytes)).iter().collect();
        assert!(matches!(all[..], [CheckLine::Done]), "{all:?}");
    }

    #[test]
    fn an_open_pipe_does_not_block_forever() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, b"last\nwords").unwrap();
        let tail = StderrTail::of(reader);
        // Still open, as if another process held it.
        assert!("last\nwords".starts_with(&tail.within(Duration::from_millis(50))));
        drop(writer);
    }
}
