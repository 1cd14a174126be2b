//! The page: what runs in the browser, and what it shows.

use std::collections::HashMap;

use flowpipe_recording::Recording;
use flowpipe_terminal::escape;
use serde::Serialize;

use crate::PageSummary;
use crate::boards::Board;
use crate::intervals::INTERVALS;
use crate::messages::Messages;
use crate::metrics::MetricHistories;
use crate::overlays::Overlays;
use crate::overview::{Overview, has_boards};
use crate::pictures::{self, Reel, Still};
use crate::shapes::Shapes;
use crate::shown;
use crate::stages::{self, BINS, Stage};
use crate::story::Story;
use crate::timeline::Timeline;
use crate::troubles::Troubles;

const SKELETON: &str = include_str!("page/page.html");
const STYLES: [&str; 4] = [
    include_str!("page/style.css"),
    include_str!("page/sections.css"),
    include_str!("page/metrics.css"),
    include_str!("page/player.css"),
];
/// In the order in which they build on each other.
const SCRIPTS: [&str; 17] = [
    include_str!("page/elements.js"),
    include_str!("page/numbers.js"),
    include_str!("page/data.js"),
    include_str!("page/pictures.js"),
    include_str!("page/overlay.js"),
    include_str!("page/drawings.js"),
    include_str!("page/charts.js"),
    include_str!("page/overview.js"),
    include_str!("page/boards.js"),
    include_str!("page/metrics.js"),
    include_str!("page/messages.js"),
    include_str!("page/player.js"),
    include_str!("page/timeline.js"),
    include_str!("page/lanes.js"),
    include_str!("page/stages.js"),
    include_str!("page/troubles.js"),
    include_str!("page/main.js"),
];

/// What the page shows.
#[derive(Serialize)]
struct Data<'a> {
    overview: Overview,
    stages: Vec<Stage>,
    /// Bins of a power of ten.
    bins: f64,
    timeline: Timeline,
    troubles: Troubles,
    frames: FrameList<'a>,
    #[serde(flatten)]
    shapes: &'a Shapes,
    boards: &'a [Board],
    metrics: &'a MetricHistories,
    /// How many intervals the time of the run has in charts.
    intervals: usize,
    messages: Messages,
    overlays: &'a Overlays,
    stills: Vec<Still>,
    reel: Reel,
    /// The pipeline's file.
    pipeline: &'a str,
}

/// The frames by columns: an index is a frame.
#[derive(Serialize)]
struct FrameList<'a> {
    /// When each was captured: nanoseconds since the one before.
    captured: Vec<i64>,
    /// Its number at its source.
    sequence: Vec<u64>,
    /// Its source, as an index.
    source: Vec<usize>,
    /// Stages that captured.
    sources: Vec<&'a str>,
    /// What vision made of it, or -1.
    look: Vec<i64>,
}

/// Of the room for pictures, the boards before and after have at most this share.
const STILLS: f64 = 0.35;

/// Returns the page of a recording as HTML. It has at most `limit` bytes if leaving out pictures suffices for that.
pub fn of(recording: &Recording, story: &Story, limit: usize) -> (String, PageSummary) {
    let mut boards = story.boards.clone();
    let troubles = Troubles::of(recording, story);
    let mut data = Data {
        overview: Overview::of(recording, story, &Reel::default(), &troubles),
        stages: stages::of(recording),
        bins: BINS,
        timeline: Timeline::of(recording, story),
        troubles,
        frames: FrameList::of(story),
        shapes: &story.shapes,
        boards: &[],
        metrics: &story.metrics,
        intervals: INTERVALS,
        messages: Messages::of(recording),
        overlays: &story.overlays,
        stills: Vec::new(),
        reel: Reel::default(),
        pipeline: recording.pipeline(),
    };
    // Room for what is not known yet: each frame's picture, and each board's, in numbers.
    let later = 200 * story.frames.all.len() + 1000;
    let written = html(&data).len() + json(&story.boards).len() + later;
    let room = limit.saturating_sub(written);
    let for_stills = (room as f64 * STILLS) as usize;
    let shapes = &story.shapes;
    data.stills = pictures::stills(recording, &story.frames, shapes, &mut boards, for_stills);
    data.boards = &boards;
    let used: usize = data.stills.iter().map(Still::characters).sum();
    data.reel = Reel::of(recording, &story.frames, room.saturating_sub(used));
    data.overview = Overview::of(recording, story, &data.reel, &data.troubles);
    let html = html(&data);
    let written = PageSummary {
        boards: has_boards(recording, story).then_some(boards.len()),
        frames: story.frames.all.len(),
        pictures: data.reel.distinct,
        pictures_kept: data.reel.kept,
        bytes: html.len(),
    };
    (html, written)
}

fn html(data: &Data<'_>) -> String {
    let title = escape(&data.overview.name)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut html = String::new();
    for piece in SKELETON.split("{{") {
        let (name, text) = piece.split_once("}}").unwrap_or(("", piece));
        match name {
            "title" => html += &title,
            "styles" => STYLES.iter().for_each(|style| html += style),
            "scripts" => SCRIPTS.iter().for_each(|script| html += script),
            "version" => html += env!("CARGO_PKG_VERSION"),
            "data" => html += &json(data),
            _ => {}
        }
        html += text;
    }
    html
}

/// JSON that can stand in a script element: no `<` begins its end, or a comment.
fn json(value: &impl Serialize) -> String {
    shown::json(value).replace('<', "\\u003c")
}

impl<'a> FrameList<'a> {
    fn of(story: &'a Story) -> Self {
        let frames = &story.frames.all;
        let mut sources: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let source = frames.iter().map(|frame| {
            let name = frame.topic.stage.as_str();
            *known.entry(name).or_insert_with(|| {
                sources.push(name);
                sources.len() - 1
            })
        });
        let source = source.collect();
        let mut before = 0;
        let captured = frames.iter().map(|frame| {
            let since = frame.captured_ns - before;
            before = frame.captured_ns;
            since
        });
        let index = |look: &Option<usize>| look.map_or(-1, |look| look as i64);
        Self {
            captured: captured.collect(),
            sequence: frames.iter().map(|frame| frame.sequence).collect(),
            source,
            sources,
            look: story.looks.iter().map(index).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_can_not_end_its_element() {
        let text = json(&["</script><!--"]);
        assert!(!text.contains('<'), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, ["</script><!--"]);
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        let own = STYLES.concat() + &SCRIPTS.concat() + SKELETON;
        for word in [
            "http://", "https://", "@import", "url(", "import(", "fetch(",
        ] {
            let found = own.matches(word).count();
            // The name of SVG's language is an address, and asks for nothing.
            let names = own.matches("http://www.w3.org/2000/svg").count();
            let allowed = if word == "http://" { names } else { 0 };
            assert_eq!(found, allowed, "{word}");
        }
        for text in STYLES.iter().chain(&SCRIPTS) {
            assert!(!text.contains("</"), "{text}");
        }
    }
}
