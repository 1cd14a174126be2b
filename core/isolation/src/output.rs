//! What a process prints by itself, on its standard output and standard error: read as it comes, and logged line by line.
//!
//! A thread reads the pipe all the time, so that the process never waits for the log. Another thread, which is started
//! with the first line, logs at a bounded rate. Between the two is a bounded buffer that drops its oldest lines.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_sync::lock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};

/// The output of one process.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    buffer: Arc<Buffer>,
    /// Closed when the process has ended: something that it started may hold its pipe open.
    alive: Mutex<Option<PipeWriter>>,
}

/// What takes the lines.
pub(crate) type Log = Box<dyn Fn(&str) + Send>;

/// Bytes of a line; a longer one becomes several.
const LONGEST_LINE: usize = 4 << 10;
/// Lines that wait to be logged, and the bytes of them.
const WAITING_LINES: usize = 256;
const WAITING_BYTES: usize = 256 << 10;
/// So many lines may come at once; after them one in each interval is logged.
const BURST: u32 = 256;
const INTERVAL: Duration = Duration::from_millis(10);
/// Bytes that are read at once, and the pause after each read: a process that prints without end is slowed down (to 16 MB/s)
/// instead of keeping the host busy.
const READ: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(4);
/// How long the last lines may take to be logged.
const LOGGED: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Buffer {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that were dropped before the first of `lines`.
    dropped: u64,
    /// No more lines come.
    is_complete: bool,
    /// All lines are logged.
    is_logged: bool,
}

impl CapturedOutput {
    /// Starts to capture. Also returns what the process gets for its standard output and standard error.
    ///
    /// # Errors
    /// When the system has no pipe or no thread left.
    pub(crate) fn start(name: &str, log: Log) -> io::Result<(Self, [OwnedFd; 2])> {
        let (pipe, theirs) = io::pipe()?;
        let (ended, alive) = io::pipe()?;
        let both = [theirs.try_clone()?.into(), theirs.into()];
        // The process may take away what was there a moment ago: it can open its pipe for reading, too.
        ioctl_fionbio(&pipe, true)?;
        let buffer = Arc::<Buffer>::default();
        let reader = Reader {
            pipe,
            ended,
            buffer: buffer.clone(),
            line: Vec::new(),
            logger: Some((format!("{name}/log"), log)),
            is_logging: false,
        };
        std::thread::Builder::new()
            .name(format!("{name}/output"))
            .spawn(move || reader.run())?;
        let alive = Mutex::new(Some(alive));
        Ok((Self { buffer, alive }, both))
    }

    /// To be called when the process has ended: returns when what it has printed is logged, or after a second.
    pub(crate) fn finish(&self) {
        drop(lock(&self.alive).take());
        let waiting = lock(&self.buffer.waiting);
        let waits = |waiting: &mut Waiting| !waiting.is_logged;
        // Whether it was in time or not: nobody waits longer.
        let _ = self
            .buffer
            .changed
            .wait_timeout_while(waiting, LOGGED, waits);
    }
}

/// The thread that reads.
struct Reader {
    pipe: PipeReader,
    /// Can be read when the process has ended.
    ended: PipeReader,
    buffer: Arc<Buffer>,
    /// The beginning of a line.
    line: Vec<u8>,
    /// What logs, until it is started: most processes print nothing.
    logger: Option<(String, Log)>,
    is_logging: bool,
}

impl Reader {
    fn run(mut self) {
        // There is nobody to tell; what was read is logged.
        let _ = self.read();
        if !self.line.is_empty() {
            self.end_line();
        }
        let mut waiting = lock(&self.buffer.waiting);
        waiting.is_complete = true;
        waiting.is_logged = !self.is_logging;
        drop(waiting);
        self.buffer.changed.notify_all();
    }

    /// Reads until the process has ended, and what it has printed until then.
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; READ];
        loop {
            if !self.wait()? {
                let left = ioctl_fionread(&self.pipe)?;
                return self.read_rest(left, &mut bytes);
            }
            match self.pipe.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.take(&bytes[..count]);
                    std::thread::sleep(PAUSE);
                }
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What comes later than this many bytes was not printed by the process.
    fn read_rest(&mut self, mut left: u64, bytes: &mut [u8]) -> io::Result<()> {
        while left > 0 {
            let most = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            match self.pipe.read(&mut bytes[..most]) {
                Ok(0) => break,
                Ok(count) => {
                    self.take(&bytes[..count]);
                    left -= count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until there is something to read. False: the process has ended.
    fn wait(&self) -> io::Result<bool> {
        let mut both = [
            PollFd::new(&self.pipe, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
        ];
        loop {
            match poll(&mut both, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(both[1].revents().is_empty()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let bytes = self.skip_surplus(bytes);
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let mut text = text;
            while self.line.len() + text.len() > LONGEST_LINE {
                let (fits, rest) = text.split_at(LONGEST_LINE - self.line.len());
                self.line.extend_from_slice(fits);
                self.end_line();
                text = rest;
            }
            self.line.extend_from_slice(text);
            if ends {
                self.end_line();
            }
        }
    }

    /// Passes over lines that would be dropped at once, which costs less than handing each of them over.
    fn skip_surplus<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let ends = || {
            let ends = bytes.iter().enumerate();
            ends.filter_map(|(at, &byte)| (byte == b'\n').then_some(at))
        };
        let Some(surplus) = ends().count().checked_sub(WAITING_LINES + 1) else {
            return bytes;
        };
        let last = ends().nth(surplus).unwrap_or_default();
        self.line.clear();
        self.buffer.drop_lines(surplus as u64 + 1);
        &bytes[last + 1..]
    }

    /// Hands the line over, and begins another one in the memory of one that is dropped.
    fn end_line(&mut self) {
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        // Panics begin with an empty one.
        if self.line.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        self.line = self.buffer.push(line);
        self.line.clear();
        if let Some((name, log)) = self.logger.take() {
            let buffer = self.buffer.clone();
            let thread = std::thread::Builder::new().name(name);
            self.is_logging = thread.spawn(move || buffer.log_all(&log)).is_ok();
        }
    }
}

/// Whether a read did not fail but had nothing to read.
fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

impl Buffer {
    /// Adds a line. Returns memory for the next one.
    fn push(&self, line: Vec<u8>) -> Vec<u8> {
        let mut free = Vec::new();
        let mut waiting = lock(&self.waiting);
        waiting.bytes += line.len();
        waiting.lines.push_back(line);
        while waiting.lines.len() > WAITING_LINES || waiting.bytes > WAITING_BYTES {
            free = waiting.lines.pop_front().unwrap_or_default();
            waiting.bytes -= free.len();
            waiting.dropped += 1;
        }
        let is_first = waiting.lines.len() == 1;
        drop(waiting);
        if is_first {
            self.changed.notify_all();
        }
        free
    }

    /// Drops all that wait, and this many that were not added.
    fn drop_lines(&self, more: u64) {
        let mut waiting = lock(&self.waiting);
        waiting.dropped += waiting.lines.len() as u64 + more;
        waiting.lines.clear();
        waiting.bytes = 0;
    }

    /// Logs what comes until there is no more.
    fn log_all(&self, log: &Log) {
        let began = Instant::now();
        let mut paid_until = Duration::ZERO;
        while let Some((line, dropped)) = self.next() {
            if dropped > 0 {
                log(&format!("({dropped} lines of output left out)"));
            }
            log(&String::from_utf8_lossy(&line));
            let now = began.elapsed();
            paid_until = paid_until.max(now.saturating_sub(INTERVAL * BURST)) + INTERVAL;
            self.pause(paid_until.saturating_sub(now));
        }
        lock(&self.waiting).is_logged = true;
        self.changed.notify_all();
    }

    /// Waits for the next line. Also returns how many were dropped before it.
    fn next(&self) -> Option<(Vec<u8>, u64)> {
        let is_idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.is_complete;
        let waiting = lock(&self.waiting);
        let waiting = self.changed.wait_while(waiting, is_idle);
        let mut waiting: MutexGuard<'_, Waiting> = waiting.unwrap_or_else(PoisonError::into_inner);
        let line = waiting.lines.pop_front()?;
        waiting.bytes -= line.len();
        Some((line, std::mem::take(&mut waiting.dropped)))
    }

    /// Waits for a time, unless no more lines come.
    fn pause(&self, time: Duration) {
        if !time.is_zero() {
            let goes_on = |waiting: &mut Waiting| !waiting.is_complete;
            let waiting = lock(&self.waiting);
            // Both ends of the wait are as good.
            let _ = self.changed.wait_timeout_while(waiting, time, goes_on);
        }
    }
}

#[cfg(test)]
mod tests;
