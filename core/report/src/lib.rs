//! Recordings of runs as one page for people: a single HTML file with everything in it.
//!
//! [`write`] makes the page of a [`Recording`]. The page loads nothing from elsewhere, so that it works offline and can
//! be sent as it is.
//!
//! # Layout
//! - `frames`: what was captured; `sources`: the windows and files that it shows; `lineage`: which message descends from which frame.
//! - `shapes`: boards and where they lie in frames, as the page draws them. `sentences`: messages as sentences.
//! - `room`: how much is read and kept.
//! - `metrics`: what stages of any pipeline report of their work; `samples`: those of one distribution; `intervals`: the
//!   time of the run in steps. `overlays`: what they drew over which frame; `drawings`: the shapes.
//! - `messages`: those that nothing else on the page shows, as JSON.
//! - `boards`: what was played, from first sight to the end. `stages`: how long each stage worked.
//!   `timeline`: which stage was busy when. `troubles`: what was dropped, and what went wrong. `overview`: the figures
//!   at the top.
//! - `pictures`: the frames small enough for the page, within a budget of bytes.
//! - `page`: all of it as HTML. What runs in the browser lies in `page/`, one idea a file.

mod boards;
mod drawings;
mod frames;
mod intervals;
mod lineage;
mod messages;
mod metrics;
mod overlays;
mod overview;
mod page;
mod pictures;
mod room;
mod samples;
mod sentences;
mod shapes;
mod shown;
mod sources;
mod stages;
mod story;
mod timeline;
mod troubles;

use std::io::{self, Write};

use flowpipe_recording::Recording;

use crate::story::Story;

/// How large a page may be, unless something else is asked for: 20 MB.
pub const LIMIT: usize = 20_000_000;

/// The content of a page in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// Boards that were seen. `None`: the pipeline is not about boards.
    pub boards: Option<usize>,
    /// Frames that were captured.
    pub frames: usize,
    /// Different pictures that they showed.
    pub pictures: usize,
    /// How many of these are in the page.
    pub pictures_kept: usize,
    /// Bytes of the page.
    pub bytes: usize,
}

/// Writes the page of a recording. `limit`: bytes that it may have; pictures are made smaller, and then left out
/// evenly, until it has no more. What is no picture is never left out, so that of a very long run the page can be
/// larger.
///
/// # Errors
/// When `to` can't be written on.
pub fn write(recording: &Recording, limit: usize, to: &mut impl Write) -> io::Result<PageSummary> {
    let story = Story::of(recording);
    let (html, written) = page::of(recording, &story, limit);
    to.write_all(html.as_bytes())?;
    Ok(written)
}
