//! The thread that sends the state of a run to its viewers.
//!
//! Without viewers it sleeps, and the run pays only for keeping its last messages. A slow viewer is not waited for:
//! what does not fit is skipped, and a viewer that reads nothing for long is disconnected.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_engine::report::Distribution;
use flowpipe_engine::run::RunView;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::last_messages::LastMessages;
use super::protocol::{BoardView, Counts, Hello, Line, RunEnd};
use crate::machines::progress::OtherProgress;
use crate::metrics::MetricRow;

/// From one snapshot to the next.
const TICK: Duration = Duration::from_millis(100);
/// The times of calls and the metrics are summed up every so many ticks.
const TIMES_INTERVAL: u32 = 5;
/// A client that reads nothing for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of clients.
const MAX_CLIENTS: usize = 16;
/// How long the end of a run waits for clients to read the last line.
const END_TIMEOUT: Duration = Duration::from_millis(200);

/// Serves the clients.
pub(super) struct Server {
    hello: Hello,
    messages: Arc<LastMessages>,
    run_view: RunView,
    others: OtherProgress,
    listener: UnixListener,
    is_over: UnixStream,
    clients: Vec<Client>,
    times: Vec<Distribution>,
    metrics: Vec<MetricRow>,
    ticks: u32,
}

/// A connected viewer.
struct Client {
    stream: UnixStream,
    /// The bytes that are not sent yet.
    pending: Vec<u8>,
    /// When bytes were sent last.
    sent: Instant,
    /// The number of the board that was sent last.
    board: Option<u64>,
}

impl Server {
    /// Serves a listener, until a line arrives at `is_over`: how the run ended.
    pub(super) fn new(
        hello: &Hello,
        messages: Arc<LastMessages>,
        (run_view, others): (RunView, OtherProgress),
        (listener, is_over): (UnixListener, UnixStream),
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            hello: hello.clone(),
            messages,
            run_view,
            others,
            listener,
            is_over,
            clients: Vec::new(),
            times: Vec::new(),
            metrics: Vec::new(),
            ticks: 0,
        })
    }

    /// Serves until the run is over.
    pub(super) fn serve(mut self) {
        let mut board = None;
        while !self.wait() {
            self.accept();
            if self.clients.is_empty() {
                continue;
            }
            let counts = self.counts();
            let number = self.messages.number();
            let behind = |client: &Client| client.board != Some(number);
            if self.clients.iter().any(behind) {
                let before = board.take().and_then(|it: BoardView| it.seen);
                board = Some(self.messages.board(before));
            }
            let counts = line(&counts);
            let seen = board.as_ref().filter(|_| number > 0);
            let seen = seen.map(|it| line(&Line::Board(Box::new(it.clone()))));
            self.clients.retain_mut(|client| {
                if client.is_idle() {
                    client.pending.extend(&counts);
                    if let Some(seen) = seen.as_ref().filter(|_| behind(client)) {
                        client.pending.extend(seen);
                        client.board = Some(number);
                    }
                }
                client.send()
            });
        }
        self.send_end();
    }

    /// Sleeps until the next tick, or without clients until one connects. Returns whether the run is over.
    fn wait(&self) -> bool {
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: TICK.subsec_nanos().into(),
        };
        let mut wakers = vec![PollFd::new(&self.is_over, PollFlags::IN)];
        // With clients, a new one waits for the next tick.
        let timeout = if self.clients.is_empty() {
            wakers.push(PollFd::new(&self.listener, PollFlags::IN));
            None
        } else {
            Some(&tick)
        };
        match poll(&mut wakers, timeout) {
            Ok(_) => !wakers[0].revents().is_empty(),
            Err(rustix::io::Errno::INTR) => false,
            Err(error) => {
                tracing::debug!("`flowpipe top` can't watch this run any more: {error}");
                true
            }
        }
    }

    fn accept(&mut self) {
        if let Some(changed) = self.messages.changed() {
            self.hello.stages = changed.stages;
        }
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // The limit of open files may be reached: retry at the next tick.
                    std::thread::sleep(TICK);
                    return;
                }
            };
            if self.clients.len() >= MAX_CLIENTS || stream.set_nonblocking(true).is_err() {
                continue;
            }
            self.clients.push(Client {
                stream,
                pending: line(&Line::Hello(self.hello.clone())),
                sent: Instant::now(),
                board: None,
            });
            self.ticks = 0;
        }
    }

    fn counts(&mut self) -> Line {
        if self.ticks.is_multiple_of(TIMES_INTERVAL) {
            self.times = self.run_view.times();
            self.metrics = self.messages.metrics().rows();
        }
        self.ticks = self.ticks.wrapping_add(1);
        let changed = self.messages.changed();
        let (mut progress, mut times) = (self.run_view.progress(), self.times.clone());
        let (machines, links) = self.others.add_to(&mut progress, &mut times);
        let boards = self.messages.tally();
        Line::Counts(Box::new(Counts {
            progress,
            times,
            without_solver: !boards.has_solver(),
            boards,
            metrics: self.metrics.clone(),
            notes: self.messages.metrics().notes(),
            machines,
            links,
            changed: changed.map(|it| it.text),
        }))
    }

    /// Sends how the run ended to all clients that read it soon.
    fn send_end(mut self) {
        // The other end is closed after one line.
        let how = io::read_to_string(&mut self.is_over).unwrap_or_default();
        self.ticks = 0;
        let mut last = line(&self.counts());
        last.extend(line(&Line::Over(RunEnd { how })));
        for client in &mut self.clients {
            client.pending.extend(&last);
        }
        let started = Instant::now();
        while started.elapsed() < END_TIMEOUT {
            self.clients
                .retain_mut(|client| client.send() && !client.is_idle());
            if self.clients.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Client {
    /// Whether everything was sent.
    fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends without blocking. Returns `false` if the client is gone or too slow.
    fn send(&mut self) -> bool {
        while !self.pending.is_empty() {
            match self.stream.write(&self.pending) {
                Ok(0) => return false,
                Ok(count) => {
                    self.pending.drain(..count);
                    self.sent = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.sent.elapsed() < WRITE_TIMEOUT;
                }
                Err(_) => return false,
            }
        }
        true
    }
}

fn line(line: &Line) -> Vec<u8> {
    // The keys are strings, and every value serializes.
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> (Client, UnixStream) {
        let (stream, other) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        let client = Client {
            stream,
            pending: Vec::new(),
            sent: Instant::now(),
            board: None,
        };
        (client, other)
    }

    #[test]
    fn a_slow_reader_does_not_block_and_gets_whole_lines() {
        let (mut client, other) = client();
        let text = [b"x".repeat(4 << 20), b"\n".to_vec()].concat();
        client.pending = text.clone();
        assert!(client.send(), "it may still read");
        assert!(!client.is_idle());
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            io::BufRead::read_line(&mut io::BufReader::new(other), &mut line).unwrap();
            line
        });
        while !client.is_idle() {
            assert!(client.send());
        }
        assert_eq!(reader.join().unwrap().into_bytes(), text);
    }

    #[test]
    fn a_client_that_reads_nothing_or_is_gone_is_disconnected() {
        let (mut patient, _other) = client();
        patient.pending = b"x".repeat(4 << 20);
        assert!(patient.send());
        patient.sent = Instant::now().checked_sub(WRITE_TIMEOUT).unwrap();
        assert!(!patient.send());
        let (mut left, other) = client();
        drop(other);
        left.pending = b"hello\n".to_vec();
        assert!(!left.send());
    }
}
