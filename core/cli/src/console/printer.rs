//! Prints in a thread of its own: a reader that stops does not stop what the run's events decide, and what waits for it
//! is bounded.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use flowpipe_engine::report::Progress;
use flowpipe_terminal::{counted, print_lines, stdout, was};

use crate::exit::Failure;
use crate::show::log;
use crate::show::progress::ProgressLine;

/// The most text that waits for a reader, in bytes: a live run prints some 20 MB an hour.
const MAX_WAITING: usize = 8 << 20;

/// Where a text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    /// A problem of the run, on standard error.
    Problems,
}

/// What happens to a text for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// It is dropped, and counted.
    Informs,
    /// It is printed all the same.
    Kept,
}

/// Prints texts in the order in which they are given.
pub struct Printer {
    queue: Arc<Queue>,
    /// `None`: it has ended.
    thread: Option<JoinHandle<()>>,
}

/// How a text is printed. The progress is drawn beside the texts.
trait Device: Send + 'static {
    fn print(&mut self, stream: Stream, text: &str) -> io::Result<()>;
    fn draw(&mut self, progress: &Progress);
    fn end(self);
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    texts: VecDeque<(Stream, String)>,
    /// The bytes of all texts that wait.
    waiting: usize,
    /// The texts that were dropped since the last one that was not.
    dropped: u64,
    /// The last progress, which is not drawn yet.
    progress: Option<Progress>,
    is_closed: bool,
    /// Why printing ended early.
    failure: Option<io::Error>,
    has_failed: bool,
}

impl Printer {
    /// Prints to standard output and standard error. `colours`: whether the latter takes them.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub fn start(colours: bool) -> Result<Self, Failure> {
        let progress = ProgressLine::new();
        Self::to(Terminal { progress, colours })
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))
    }

    fn to(device: impl Device) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let of_thread = Arc::clone(&queue);
        let thread = Builder::new()
            .name("flowpipe-printer".to_owned())
            .spawn(move || of_thread.print_all(device))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// Has a text printed. Does not wait for it.
    ///
    /// # Errors
    /// When printing has failed, once: the reader is gone (`flowpipe run … | head`).
    pub fn print(&self, stream: Stream, text: String, importance: Importance) -> io::Result<()> {
        let mut state = self.queue.lock();
        if state.has_failed {
            return state.failure.take().map_or(Ok(()), Err);
        }
        if text.is_empty() {
            return Ok(());
        }
        let has_room = state.waiting + text.len() <= MAX_WAITING;
        if importance == Importance::Informs && !has_room {
            state.dropped += 1;
            return Ok(());
        }
        state.note_dropped();
        state.push(stream, text);
        self.queue.changed.notify_one();
        Ok(())
    }

    /// Has the progress drawn, when nothing is printed. Of several, the last one is drawn.
    ///
    /// # Errors
    /// As for [`Printer::print`].
    pub fn draw(&self, progress: Progress) -> io::Result<()> {
        let mut state = self.queue.lock();
        state.progress = Some(progress);
        self.queue.changed.notify_one();
        state.failure.take().map_or(Ok(()), Err)
    }

    /// Waits until all is printed, and removes the progress.
    ///
    /// # Errors
    /// When printing has failed, and that was not returned before.
    pub fn end(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let mut state = self.queue.lock();
        state.note_dropped();
        state.is_closed = true;
        self.queue.changed.notify_one();
        drop(state);
        if thread.join().is_err() {
            return Err(io::Error::other("the thread that prints has panicked"));
        }
        self.queue.lock().failure.take().map_or(Ok(()), Err)
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // A run that did not start has an error of its own.
        let _ = self.close();
    }
}

impl QueueState {
    fn push(&mut self, stream: Stream, text: String) {
        self.waiting += text.len();
        self.texts.push_back((stream, text));
    }

    /// Reports the texts that were dropped.
    fn note_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let (texts, were) = (counted(dropped, "message"), was(dropped));
            let text = format!(
                "flowpipe: {texts} {were} not printed, because the reader of the output had stopped; all of them are \
                 counted\n"
            );
            self.push(Stream::Error, text);
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print_all(&self, mut device: impl Device) {
        loop {
            let mut state = self.lock();
            let (text, progress) = loop {
                let text = state.texts.pop_front();
                // A text first: it is what may wait.
                let progress = match text {
                    Some(_) => None,
                    None => state.progress.take(),
                };
                if text.is_some() || progress.is_some() || state.is_closed {
                    break (text, progress);
                }
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            match (text, progress) {
                (Some((stream, text)), _) => {
                    let printed = device.print(stream, &text);
                    let mut state = self.lock();
                    state.waiting -= text.len();
                    if let Err(error) = printed {
                        state.failure = Some(error);
                        state.has_failed = true;
                        state.texts.clear();
                        break;
                    }
                }
                (None, Some(progress)) => device.draw(&progress),
                (None, None) => break,
            }
        }
        device.end();
    }
}

/// Standard output and standard error.
struct Terminal {
    progress: ProgressLine,
    /// Whether standard error takes them.
    colours: bool,
}

impl Device for Terminal {
    fn print(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        self.progress.above(|| match stream {
            Stream::Output => {
                let mut stdout = stdout();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
            Stream::Error => print_lines(text),
            Stream::Problems => log::problem(text, self.colours),
        })
    }

    fn draw(&mut self, progress: &Progress) {
        self.progress.update(progress);
    }

    fn end(self) {
        self.progress.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits for permission before each text, and passes it on.
    struct Slow {
        permits: Receiver<()>,
        printed: Sender<(Stream, String)>,
    }

    impl Device for Slow {
        fn print(&mut self, stream: Stream, text: &str) -> io::Result<()> {
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            self.permits.recv().map_err(gone)?;
            // The test that does not look has dropped the receiver.
            let _ = self.printed.send((stream, text.to_owned()));
            Ok(())
        }

        fn draw(&mut self, _: &Progress) {}

        fn end(self) {}
    }

    fn slow() -> (Printer, Sender<()>, Receiver<(Stream, String)>) {
        let (permit, permits) = channel();
        let (printed, texts) = channel();
        let printer = Printer::to(Slow { permits, printed }).unwrap();
        (printer, permit, texts)
    }

    #[test]
    fn a_reader_that_does_not_read_costs_bounded_memory_and_no_time() {
        let (printer, permit, texts) = slow();
        let text = "x".repeat(1 << 20);
        let began = Instant::now();
        for _ in 0..100 {
            let text = text.clone();
            printer
                .print(Stream::Output, text, Importance::Informs)
                .unwrap();
        }
        let decisive = "a problem\n".to_owned();
        printer
            .print(Stream::Error, decisive, Importance::Kept)
            .unwrap();
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(printer.queue.lock().waiting <= MAX_WAITING + 200);
        // The reader goes on.
        for _ in 0..200 {
            permit.send(()).unwrap();
        }
        printer.end().unwrap();
        let texts: Vec<_> = texts.iter().collect();
        let whole = texts.iter().filter(|(_, it)| *it == text).count();
        assert_eq!(whole, MAX_WAITING >> 20);
        let [.., (stream, notice), (_, last)] = &texts[..] else {
            panic!("too few texts");
        };
        assert_eq!(*stream, Stream::Error);
        let count = format!("flowpipe: {} messages were not printed", 100 - whole);
        assert!(notice.starts_with(&count), "{notice}");
        assert_eq!(last, "a problem\n");
    }

    #[test]
    fn the_count_of_dropped_texts_is_printed_once_there_is_room() {
        let (printer, permit, texts) = slow();
        for _ in 0..10 {
            let text = "y".repeat(1 << 20);
            printer
                .print(Stream::Output, text, Importance::Informs)
                .unwrap();
        }
        for _ in 0..8 {
            permit.send(()).unwrap();
            texts.recv().unwrap();
        }
        let text = "the next\n".to_owned();
        // The room of the last text becomes free a moment after it was printed.
        while printer.queue.lock().waiting > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        printer
            .print(Stream::Output, text, Importance::Informs)
            .unwrap();
        permit.send(()).unwrap();
        permit.send(()).unwrap();
        let (_, notice) = texts.recv().unwrap();
        assert!(notice.starts_with("flowpipe: 2 messages were"), "{notice}");
        assert_eq!(texts.recv().unwrap().1, "the next\n");
        printer.end().unwrap();
    }

    #[test]
    fn a_reader_that_is_gone_is_reported_once() {
        let (printer, permit, _texts) = slow();
        drop(permit);
        let print = || printer.print(Stream::Output, "z\n".to_owned(), Importance::Informs);
        print().unwrap();
        let failed = loop {
            if let Err(error) = print() {
                break error;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(failed.kind(), io::ErrorKind::BrokenPipe);
        print().unwrap();
        printer.end().unwrap();
    }
}
