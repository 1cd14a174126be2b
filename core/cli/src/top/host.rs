//! The thread that tells whoever is connected how the run goes.
//!
//! While nobody is connected it sleeps, and a run pays for keeping its last messages alone. Nobody who reads slowly is waited
//! for: what does not fit is left out, and who takes nothing for long is hung up on.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_engine::report::Distribution;
use flowpipe_engine::run::RunView;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::slot::Slot;
use super::wire::{Board, Counts, Hello, Line, Over};

/// From one snapshot to the next.
const TICK: Duration = Duration::from_millis(100);
/// So seldom are the times of calls added up.
const TIMES_EVERY: u32 = 5;
/// Who takes nothing for so long is hung up on.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many may look at once.
const MOST_GUESTS: usize = 16;
/// How long the end of a run waits for those who look to take the last line.
const FAREWELL: Duration = Duration::from_millis(200);

/// Serves those who look.
pub(super) struct Host {
    hello: Hello,
    slot: Arc<Slot>,
    run_view: RunView,
    listener: UnixListener,
    is_over: UnixStream,
    guests: Vec<Guest>,
    times: Vec<Distribution>,
    ticks: u32,
}

/// One who looks.
struct Guest {
    stream: UnixStream,
    /// What was not taken yet.
    pending: Vec<u8>,
    /// When something was taken last.
    took: Instant,
    /// The number of the board that was sent last.
    board: Option<u64>,
}

impl Host {
    /// Listens at a socket, until something is said at another: how the run ended.
    pub(super) fn new(
        hello: &Hello,
        slot: Arc<Slot>,
        run_view: RunView,
        (listener, is_over): (UnixListener, UnixStream),
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            hello: hello.clone(),
            slot,
            run_view,
            listener,
            is_over,
            guests: Vec::new(),
            times: Vec::new(),
            ticks: 0,
        })
    }

    /// Serves until the run is over.
    pub(super) fn serve(mut self) {
        let mut board = None;
        while !self.rests() {
            self.welcome();
            if self.guests.is_empty() {
                continue;
            }
            let counts = self.counts();
            let number = self.slot.number();
            let behind = |guest: &Guest| guest.board != Some(number);
            if self.guests.iter().any(behind) {
                let before = board.take().and_then(|it: Board| it.seen);
                board = Some(self.slot.board(before));
            }
            let counts = line(&counts);
            let seen = board.as_ref().filter(|_| number > 0);
            let seen = seen.map(|it| line(&Line::Board(Box::new(it.clone()))));
            self.guests.retain_mut(|guest| {
                if guest.is_free() {
                    guest.pending.extend(&counts);
                    if let Some(seen) = seen.as_ref().filter(|_| behind(guest)) {
                        guest.pending.extend(seen);
                        guest.board = Some(number);
                    }
                }
                guest.send()
            });
        }
        self.farewell();
    }

    /// Sleeps until the next tick, or while nobody looks until somebody comes. True: the run is over.
    fn rests(&self) -> bool {
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: TICK.subsec_nanos().into(),
        };
        let mut wakers = vec![PollFd::new(&self.is_over, PollFlags::IN)];
        // Among many, whoever knocks waits for the next tick.
        let timeout = if self.guests.is_empty() {
            wakers.push(PollFd::new(&self.listener, PollFlags::IN));
            None
        } else {
            Some(&tick)
        };
        match poll(&mut wakers, timeout) {
            Ok(_) => !wakers[0].revents().is_empty(),
            Err(rustix::io::Errno::INTR) => false,
            Err(error) => {
                tracing::debug!("`flowpipe top` can't look at this run any more: {error}");
                true
            }
        }
    }

    fn welcome(&mut self) {
        if let Some(changed) = self.slot.changed() {
            self.hello.stages = changed.stages;
        }
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // No more files may be open, perhaps: who knocks is heard a moment later.
                    std::thread::sleep(TICK);
                    return;
                }
            };
            if self.guests.len() >= MOST_GUESTS || stream.set_nonblocking(true).is_err() {
                continue;
            }
            self.guests.push(Guest {
                stream,
                pending: line(&Line::Hello(self.hello.clone())),
                took: Instant::now(),
                board: None,
            });
            self.ticks = 0;
        }
    }

    fn counts(&mut self) -> Line {
        if self.ticks.is_multiple_of(TIMES_EVERY) {
            self.times = self.run_view.times();
        }
        self.ticks = self.ticks.wrapping_add(1);
        let changed = self.slot.changed();
        Line::Counts(Box::new(Counts {
            progress: self.run_view.progress(),
            times: self.times.clone(),
            boards: self.slot.tally(),
            changed: changed.map(|it| it.text),
        }))
    }

    /// Tells all how the run ended, as far as they take it soon.
    fn farewell(mut self) {
        // Its end is closed after a few words.
        let how = io::read_to_string(&mut self.is_over).unwrap_or_default();
        self.times = self.run_view.times();
        self.ticks = 1;
        let mut last = line(&self.counts());
        last.extend(line(&Line::Over(Over { how })));
        for guest in &mut self.guests {
            guest.pending.extend(&last);
        }
        let began = Instant::now();
        while began.elapsed() < FAREWELL {
            self.guests
                .retain_mut(|guest| guest.send() && !guest.is_free());
            if self.guests.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Guest {
    /// Whether everything was taken.
    fn is_free(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends what is taken without waiting. False: nobody looks any more, or too slowly.
    fn send(&mut self) -> bool {
        while !self.pending.is_empty() {
            match self.stream.write(&self.pending) {
                Ok(0) => return false,
                Ok(count) => {
                    self.pending.drain(..count);
                    self.took = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.took.elapsed() < PATIENCE;
                }
                Err(_) => return false,
            }
        }
        true
    }
}

fn line(line: &Line) -> Vec<u8> {
    // These types have no keys but texts, and no values that can't be written.
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest() -> (Guest, UnixStream) {
        let (stream, other) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        let guest = Guest {
            stream,
            pending: Vec::new(),
            took: Instant::now(),
            board: None,
        };
        (guest, other)
    }

    #[test]
    fn a_slow_reader_is_not_waited_for_and_loses_no_half_line() {
        let (mut guest, other) = guest();
        let text = [b"x".repeat(4 << 20), b"\n".to_vec()].concat();
        guest.pending = text.clone();
        assert!(guest.send(), "it may still take it");
        assert!(!guest.is_free());
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            io::BufRead::read_line(&mut io::BufReader::new(other), &mut line).unwrap();
            line
        });
        while !guest.is_free() {
            assert!(guest.send());
        }
        assert_eq!(reader.join().unwrap().into_bytes(), text);
    }

    #[test]
    fn who_takes_nothing_or_is_gone_is_hung_up_on() {
        let (mut patient, _other) = guest();
        patient.pending = b"x".repeat(4 << 20);
        assert!(patient.send());
        patient.took = Instant::now().checked_sub(PATIENCE).unwrap();
        assert!(!patient.send());
        let (mut left, other) = guest();
        drop(other);
        left.pending = b"hello\n".to_vec();
        assert!(!left.send());
    }
}
