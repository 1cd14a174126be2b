//! The standard output and standard error of a process: read at once, and logged line by line.
//!
//! A thread reads the pipe continuously, so that the process never blocks on the log. Another thread, which is started
//! with the first line, logs at a bounded rate. Between the two is a bounded buffer that drops its oldest lines.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_process::lines::Splitter;
use flowpipe_process::pipes::{self, Alive, OutputPipe};
use flowpipe_sync::lock;

/// The output of one process.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    buffer: Arc<Buffer>,
    /// Closed when the process has ended: its children may hold the pipe open.
    alive: Mutex<Option<Alive>>,
}

/// Logs one line.
pub(crate) type Log = Box<dyn Fn(&str) + Send>;

/// Bytes of a line; a longer one is split.
const LONGEST_LINE: usize = 4 << 10;
/// The most lines that wait to be logged, and their bytes.
const WAITING_LINES: usize = 256;
const WAITING_BYTES: usize = 256 << 10;
/// This many lines are logged at once; after them one in each interval.
const BURST: u32 = 256;
const INTERVAL: Duration = Duration::from_millis(10);
/// Bytes of one read, and the pause after each: a process that prints without end is slowed down (to 16 MB/s) instead
/// of keeping the host busy.
const READ_SIZE: usize = 64 << 10;
const READ_PAUSE: Duration = Duration::from_millis(4);
/// How long [`CapturedOutput::finish`] waits for the log.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

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
    /// All lines were read.
    is_complete: bool,
    /// All lines are logged.
    is_logged: bool,
}

impl CapturedOutput {
    /// Starts to capture. Also returns the process's standard output and standard error.
    ///
    /// # Errors
    /// When the system has no pipe or no thread left.
    pub(crate) fn start(name: &str, log: Log) -> io::Result<(Self, [OwnedFd; 2])> {
        let (pipe, theirs) = io::pipe()?;
        let (alive, end) = pipes::alive()?;
        let both = [theirs.try_clone()?.into(), theirs.into()];
        let buffer = Arc::<Buffer>::default();
        let reader = Reader {
            pipe: OutputPipe::new(pipe, end)?,
            buffer: buffer.clone(),
            splitter: Splitter::new(LONGEST_LINE),
            logger: Some((format!("{name}/log"), log)),
            is_logging: false,
        };
        std::thread::Builder::new()
            .name(format!("{name}/output"))
            .spawn(move || reader.run())?;
        let alive = Mutex::new(Some(alive));
        Ok((Self { buffer, alive }, both))
    }

    /// Call it when the process has ended: returns when its output is logged, or after a second.
    pub(crate) fn finish(&self) {
        drop(lock(&self.alive).take());
        let waiting = lock(&self.buffer.waiting);
        let waits = |waiting: &mut Waiting| !waiting.is_logged;
        // A timeout is ignored.
        let _ = self
            .buffer
            .changed
            .wait_timeout_while(waiting, FINISH_TIMEOUT, waits);
    }
}

/// The thread that reads.
struct Reader {
    pipe: OutputPipe<PipeReader>,
    buffer: Arc<Buffer>,
    splitter: Splitter,
    /// The log, until its thread is started: most processes print nothing.
    logger: Option<(String, Log)>,
    is_logging: bool,
}

impl Reader {
    fn run(mut self) {
        // An error ends the capture; all lines read so far are logged.
        let _ = self.read();
        self.end_line();
        let mut waiting = lock(&self.buffer.waiting);
        waiting.is_complete = true;
        waiting.is_logged = !self.is_logging;
        drop(waiting);
        self.buffer.changed.notify_all();
    }

    /// Reads until the process has ended, and what it has printed until then.
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; READ_SIZE];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.split_lines(&bytes[..count]);
                    std::thread::sleep(READ_PAUSE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn split_lines(&mut self, bytes: &[u8]) {
        let mut bytes = self.skip_surplus(bytes);
        while !bytes.is_empty() {
            let (consumed, end) = self.splitter.add(bytes);
            bytes = &bytes[consumed..];
            if end.is_some() {
                self.end_line();
            }
        }
    }

    /// Skips lines that the buffer would drop at once. That is cheaper than pushing each of them.
    fn skip_surplus<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let ends = || {
            let ends = bytes.iter().enumerate();
            ends.filter_map(|(at, &byte)| (byte == b'\n').then_some(at))
        };
        let Some(surplus) = ends().count().checked_sub(WAITING_LINES + 1) else {
            return bytes;
        };
        let last = ends().nth(surplus).unwrap_or_default();
        self.splitter.line_mut().clear();
        self.buffer.drop_lines(surplus as u64 + 1);
        &bytes[last + 1..]
    }

    /// Pushes the line, and starts the next one in the memory of a dropped line.
    fn end_line(&mut self) {
        let line = self.splitter.line_mut();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        // A panic's output starts with an empty line.
        if line.is_empty() {
            return;
        }
        let mut free = self.buffer.push(std::mem::take(line));
        free.clear();
        *line = free;
        if let Some((name, log)) = self.logger.take() {
            let buffer = self.buffer.clone();
            let thread = std::thread::Builder::new().name(name);
            self.is_logging = thread.spawn(move || buffer.log_all(&log)).is_ok();
        }
    }
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

    /// Drops all queued lines, and counts this many that were never pushed.
    fn drop_lines(&self, more: u64) {
        let mut waiting = lock(&self.waiting);
        waiting.dropped += waiting.lines.len() as u64 + more;
        waiting.lines.clear();
        waiting.bytes = 0;
    }

    /// Logs lines until there are no more.
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

    /// Sleeps, or until no more lines come.
    fn pause(&self, time: Duration) {
        if !time.is_zero() {
            let goes_on = |waiting: &mut Waiting| !waiting.is_complete;
            let waiting = lock(&self.waiting);
            // A timeout and a wake-up are treated alike.
            let _ = self.changed.wait_timeout_while(waiting, time, goes_on);
        }
    }
}

#[cfg(test)]
mod tests;
