//! What a child says on its pipes, whatever bytes it says: nobody waits for it longer than he wants to.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::plugin_check::telling::Line;

/// Bytes of a line of ours: no manifest is longer.
const LONGEST_LINE: u64 = 16 << 20;
/// Bytes of a line on standard error; what is longer is more than one.
const LONGEST_WORDS: u64 = 1 << 10;
/// So many of the last lines of a child's standard error are kept.
const LAST_WORDS: usize = 8;

/// The lines that a child tells; the channel closes with its pipe.
pub fn told(stdout: impl Read + Send + 'static) -> Receiver<Line> {
    let (sender, told) = mpsc::channel();
    thread::spawn(move || {
        each_line(stdout, LONGEST_LINE, |text| {
            // What is no line of ours is none.
            match serde_json::from_str::<Line>(text) {
                Ok(line) => sender.send(line).is_ok(),
                Err(_) => true,
            }
        });
    });
    told
}

/// The end of what a child says on its standard error.
pub struct LastWords {
    said: Arc<Mutex<VecDeque<String>>>,
    /// Closes with its pipe.
    end: Receiver<()>,
}

impl LastWords {
    /// Reads it as it comes.
    pub fn of(stderr: impl Read + Send + 'static) -> Self {
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, end) = mpsc::channel();
        let keep = said.clone();
        thread::spawn(move || {
            each_line(stderr, LONGEST_WORDS, |text| {
                let mut said = keep.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() == LAST_WORDS {
                    said.pop_front();
                }
                said.push_back(text.to_owned());
                true
            });
            drop::<mpsc::Sender<()>>(sender);
        });
        Self { said, end }
    }

    /// The last lines. Somebody whom the child has started may hold the pipe: it is waited for so long at most.
    pub fn within(self, limit: Duration) -> String {
        // At its end or not: what there is will do.
        let _ = self.end.recv_timeout(limit);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(std::mem::take(&mut *said)).join("\n")
    }
}

/// Hands each line to `take` until it is enough. A line that is too long comes in pieces.
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

    fn lines(bytes: &[u8], longest: u64) -> Vec<String> {
        let mut all = Vec::new();
        each_line(bytes, longest, |line| {
            all.push(line.to_owned());
            true
        });
        all
    }

    #[test]
    fn every_byte_is_read() {
        assert_eq!(lines(b"a\n\xffb\n\nc", 9), ["a", "\u{fffd}b", "", "c"]);
        assert_eq!(lines(b"abcdefg\nh\n", 3), ["abc", "def", "g", "h"]);
        assert!(lines(b"", 3).is_empty());
    }

    #[test]
    fn what_is_no_line_of_ours_is_passed_over() {
        let said = b"{\"doing\":\n\xff\n\"done\"\n".to_vec();
        let told: Vec<Line> = told(std::io::Cursor::new(said)).iter().collect();
        assert!(matches!(told[..], [Line::Done]), "{told:?}");
    }

    #[test]
    fn nobody_waits_for_a_pipe_for_ever() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, b"last\nwords").unwrap();
        let words = LastWords::of(reader);
        // Open still, as where another process holds it.
        assert!("last\nwords".starts_with(&words.within(Duration::from_millis(50))));
        drop(writer);
    }
}
