//! Why there is no frame.

use std::io;

use thiserror::Error;

use crate::config::MOST_PIXELS;

/// Why there is no frame. What is captured precedes each message.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// ffmpeg is not there.
    #[error(
        "there is no program {0}, which decodes videos: install ffmpeg (apt-get install ffmpeg), or name it by `ffmpeg`"
    )]
    NotInstalled(String),
    /// The system does not start it.
    #[error("ffmpeg can't be started: {0}")]
    Start(io::Error),
    /// It gave up.
    #[error("ffmpeg reports: {0}")]
    Reported(String),
    /// The file is none of the kinds of video that are read, or has no pictures.
    #[error(
        "ffmpeg reports: {0}. capture-video reads videos: sound is for capture-audio (WAV files), pictures are for \
         capture-files"
    )]
    NoVideo(String),
    /// It ended without a reason.
    #[error("ffmpeg {0} without a frame")]
    Ended(String),
    /// It gives nothing.
    #[error("ffmpeg gave no frame within {0} ms (`stall_ms`), and was killed")]
    Stalled(u64),
    /// The frames are too large.
    #[error(
        "its frames have {width} x {height} pixels, and `max_pixels` permits {most}: {}",
        advice(*.width, *.height)
    )]
    TooLarge {
        /// Pixels.
        width: u64,
        /// Pixels.
        height: u64,
        /// Pixels.
        most: u32,
    },
    /// What it writes can't be read.
    #[error("what ffmpeg wrote can't be read: {0}")]
    Malformed(&'static str),
    /// The pipe breaks.
    #[error("what ffmpeg wrote can't be read: {0}")]
    Pipe(#[from] io::Error),
    /// The host has no memory.
    #[error("{0}")]
    Host(String),
}

/// What to do about frames of this size.
fn advice(width: u64, height: u64) -> String {
    let smaller = "use a smaller one, such as ffmpeg makes it with -vf scale=1920:-2";
    match width.checked_mul(height) {
        Some(pixels) if pixels <= u64::from(MOST_PIXELS) => {
            format!("set max_pixels = {pixels}, or {smaller}")
        }
        _ => format!("{smaller}; `max_pixels` can be {MOST_PIXELS} at most"),
    }
}
