//! The process of ffmpeg, and the thread that reads from it.

use std::io;
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use flowpipe_plugin::Host;
use flowpipe_process::pipes::OutputPipe;
use flowpipe_process::status::describe;
use flowpipe_process::stderr_tail::StderrTail;
use flowpipe_process::supervised::Supervised;

use crate::command::command;
use crate::config::{Config, Source};
use crate::error::DecodeError;
use crate::matroska::Matroska;
use crate::picture::{Limits, Picture};
use crate::pixmap;

/// The longest line of standard error that is kept, in bytes.
const LONGEST_LINE: usize = 1_000;
/// How long the process may take to end when it has closed its output, and its last lines to arrive.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// What ffmpeg writes behind the reason why it gave up.
const CONSEQUENCES: [&str; 7] = [
    "Conversion failed!",
    "Error marking filters as finished",
    "Error opening input file",
    "Error while filtering",
    "Invalid data found when processing input",
    "Task finished with error code",
    "Terminating thread with return code",
];

/// A process that decodes. Dropping it kills the process.
pub struct Decoder {
    // Dropped first: the thread that sends ends then, whatever the process does.
    pictures: Receiver<Result<Picture, DecodeError>>,
    child: Supervised,
    stderr: StderrTail,
    /// The first size that ffmpeg has refused.
    refused: Arc<OnceLock<(u64, u64)>>,
    /// Why the file is no video that is read.
    no_video: Arc<OnceLock<String>>,
    max_pixels: u32,
    has_picture: bool,
}

/// What a decoder gives.
pub enum Decoded {
    /// A picture.
    Picture(Picture),
    /// Nothing yet.
    Nothing,
    /// The end. What ffmpeg has reported; empty: nothing.
    End(String),
}

impl Decoder {
    /// Starts ffmpeg.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(config: &Config, source: Source<'_>, host: Host) -> Result<Self, DecodeError> {
        let command = command(config, source).map_err(DecodeError::Start)?;
        let child =
            Supervised::spawn("ffmpeg", command, || ()).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => DecodeError::NotInstalled(config.ffmpeg.clone()),
                _ => DecodeError::Start(error),
            })?;
        let limits = Limits {
            max_pixels: config.max_pixels,
        };
        let refused = Arc::<OnceLock<(u64, u64)>>::default();
        let found = refused.clone();
        let no_video = Arc::<OnceLock<String>>::default();
        let found_no_video = no_video.clone();
        let each = move |line: &str| {
            // The later ones follow from the first.
            if let Some(size) = refused_size(line) {
                let _ = found.set(size);
            }
            if let Some(reason) = no_video_reason(line) {
                let _ = found_no_video.set(reason.to_owned());
            }
        };
        let stderr = child.take_stderr().and_then(|stderr| {
            // The last lines are reported at the end: a hostile video may cause any number.
            StderrTail::start(stderr, LONGEST_LINE, each)
        });
        let stderr = stderr.map_err(DecodeError::Start)?;
        let stdout = child.take_stdout().map_err(DecodeError::Start)?;
        let is_live = matches!(source, Source::Camera(_));
        // One picture waits while the next one is read.
        let (sender, pictures) = sync_channel(1);
        let read = move || {
            let mut next = reader(stdout, is_live, limits, host);
            while let Some(picture) = next().transpose() {
                let is_last = picture.is_err();
                if sender.send(picture).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("frames".to_owned());
        thread.spawn(read).map_err(DecodeError::Start)?;
        Ok(Self {
            pictures,
            child,
            stderr,
            refused,
            no_video,
            max_pixels: config.max_pixels,
            has_picture: false,
        })
    }

    /// Waits for a picture, at most for this time.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next(&mut self, limit: Duration) -> Result<Decoded, DecodeError> {
        match self.pictures.recv_timeout(limit) {
            Ok(Ok(picture)) => {
                self.has_picture = true;
                Ok(Decoded::Picture(picture))
            }
            Ok(Err(DecodeError::Pipe(error))) => {
                // It ended in the middle of a frame: its own reason is the better one.
                Err(self.ended().err().unwrap_or(DecodeError::Pipe(error)))
            }
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => Ok(Decoded::Nothing),
            Err(RecvTimeoutError::Disconnected) => self.ended().map(Decoded::End),
        }
    }

    /// How it ended.
    fn ended(&self) -> Result<String, DecodeError> {
        let status = self.child.end_within(END_TIMEOUT);
        self.stderr.wait(END_TIMEOUT);
        let reported = cause(&self.stderr.text()).to_owned();
        if let Some(status) = &status
            && status.success()
            && self.has_picture
        {
            return Ok(reported);
        }
        if let Some(&(width, height)) = self.refused.get() {
            let most = self.max_pixels;
            return Err(DecodeError::TooLarge {
                width,
                height,
                most,
            });
        }
        if let Some(reason) = self.no_video.get() {
            return Err(DecodeError::NoVideo(reason.clone()));
        }
        match status {
            _ if !reported.is_empty() => Err(DecodeError::Reported(reported)),
            Some(status) => Err(DecodeError::Ended(describe(status))),
            None => Err(DecodeError::Ended("was killed".to_owned())),
        }
    }
}

/// The last of these lines that is no consequence of others, or else the last one.
fn cause(lines: &str) -> &str {
    let is_cause = |line: &&str| !CONSEQUENCES.iter().any(|it| line.contains(*it));
    let found = lines.lines().rev().find(is_cause);
    found.or_else(|| lines.lines().next_back()).unwrap_or("")
}

/// The size of frames that ffmpeg refuses with this line: `Picture size 200x200 exceeds specified max pixel count 39999`.
fn refused_size(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.split_once("Picture size ")?;
    let (size, _) = rest.split_once(" exceeds specified max pixel count")?;
    let (width, height) = size.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// Why a file is no video that is read, by these lines: `[wav @ 0x1] Format not on whitelist 'mov,avi'` and
/// `Stream map '0:V:0' matches no streams.`
fn no_video_reason(line: &str) -> Option<&str> {
    const KIND: &str = "Format not on whitelist";
    const NO_PICTURES: &str = " matches no streams";
    let kind = || line.contains(KIND).then_some(KIND);
    let no_pictures = || Some(&line[..line.find(NO_PICTURES)? + NO_PICTURES.len()]);
    kind().or_else(no_pictures)
}

/// Reads the next picture with each call.
fn reader(
    mut stdout: OutputPipe<ChildStdout>,
    is_live: bool,
    limits: Limits,
    host: Host,
) -> Box<dyn FnMut() -> Result<Option<Picture>, DecodeError>> {
    match is_live {
        true => Box::new(move || pixmap::next(&mut stdout, limits, host)),
        false => {
            let mut matroska = Matroska::new(stdout, limits);
            Box::new(move || matroska.next(host))
        }
    }
}
