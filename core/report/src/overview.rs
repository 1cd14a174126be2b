//! The figures at the top of the page, and what has to be known about the recording.

use std::collections::HashSet;

use flowpipe_message::Tone;
use flowpipe_puzzle::message::concerns_boards;
use flowpipe_recording::Recording;
use flowpipe_terminal::counted;
use serde::Serialize;

use crate::intervals::ends_ns;
use crate::metrics::MOST_NAMES;
use crate::pictures::Reel;
use crate::stages::Distribution;
use crate::story::{ACTION, Story};
use crate::troubles::Troubles;

/// The most characters of the reason that a recording gives for its early end.
const LONGEST_REASON: usize = 200;

/// The run at a glance.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// The pipeline's name.
    pub name: String,
    /// The pipeline's file, as it was given.
    pipeline: String,
    /// The recording's file name.
    recording: String,
    /// The release of flowpipe that recorded.
    flowpipe: String,
    /// Unix time, milliseconds.
    started_ms: u64,
    /// The run's clock at the end of what is recorded, nanoseconds.
    ends_ns: i64,
    dry: bool,
    /// Whether the pipeline is about boards.
    has_boards: bool,
    /// Whether frames came with pictures, recorded or not.
    has_pictures: bool,
    boards: usize,
    solved: usize,
    failed: usize,
    frames: usize,
    dropped: usize,
    problems: usize,
    /// From a frame's capture to the first press.
    action: Distribution,
    /// What was seen: the first of the windows or files.
    source: String,
    source_count: usize,
    /// What is missing, in sentences.
    notices: Vec<String>,
}

impl Overview {
    /// That of a recording.
    pub fn of(recording: &Recording, story: &Story, reel: &Reel, troubles: &Troubles) -> Self {
        let about = recording.about();
        let outcomes = |tone| {
            story
                .boards
                .iter()
                .filter(|it| it.outcome.tone == tone)
                .count()
        };
        let boards = story.boards.iter();
        let sources: HashSet<&str> = boards.map(|board| board.source.as_str()).collect();
        let (source, source_count) = match story.boards.first() {
            Some(board) => (board.source.clone(), sources.len()),
            None => (story.sources.first.clone(), story.sources.count()),
        };
        let path = recording.path();
        let file_name = path.file_name().unwrap_or(path.as_os_str());
        Self {
            name: about.name.clone(),
            pipeline: about.file.clone(),
            recording: file_name.to_string_lossy().into_owned(),
            flowpipe: about.flowpipe.clone(),
            started_ms: about.started_unix_ns / 1_000_000,
            ends_ns: ends_ns(recording),
            dry: about.dry,
            has_boards: has_boards(recording, story),
            has_pictures: reel.distinct > 0 || reel.missing > 0,
            boards: story.boards.len(),
            solved: outcomes(Tone::Good),
            failed: outcomes(Tone::Bad),
            frames: story.frames.all.len(),
            dropped: troubles.dropped,
            problems: troubles.problem_count,
            action: Distribution::of(&actions(recording, story)),
            source_count,
            source,
            notices: notices(recording, story, reel),
        }
    }
}

/// Whether a stage emits what concerns boards, or there are some. Outcomes say nothing: an actuator of gestures may play
/// strokes too.
pub fn has_boards(recording: &Recording, story: &Story) -> bool {
    let outputs = recording.about().stages.iter().flat_map(|it| &it.outputs);
    let mut schemas = outputs.into_iter().map(|(_, schema)| schema.as_str());
    !story.boards.is_empty() || schemas.any(concerns_boards)
}

/// One duration a frame: to the first press that descends from it.
fn actions(recording: &Recording, story: &Story) -> Vec<u64> {
    let lineage = crate::lineage::Lineage::of(recording, &story.frames);
    let mut first = std::collections::BTreeMap::new();
    for call in lineage.calls() {
        let mark = call.marks.iter().find(|mark| mark.name == ACTION);
        let (Some(mark), Some(frame)) = (mark, lineage.frame_of_call(call)) else {
            continue;
        };
        let Some(captured) = story.frames.all.get(frame) else {
            continue;
        };
        let took = u64::try_from(mark.at_ns - captured.captured_ns).unwrap_or(0);
        let known = first.entry(frame).or_insert(took);
        *known = took.min(*known);
    }
    first.into_values().collect()
}

fn notices(recording: &Recording, story: &Story, reel: &Reel) -> Vec<String> {
    let mut notices = Vec::new();
    if recording.is_cut_off() {
        let why: String = match recording.noted_end() {
            Some(why) => why.chars().take(LONGEST_REASON).collect(),
            None => "the program that wrote it was killed, or the file is damaged".to_owned(),
        };
        notices.push(format!(
            "The recording ends early: {why}. What is whole is shown."
        ));
    }
    let dropped = recording.dropped_lineages().iter();
    let dropped = dropped.fold(0_u64, |sum, dropped| sum.saturating_add(dropped.count()));
    if dropped > 0 {
        notices.push(format!(
            "The recorder could not keep up: {} with all that descends from {} not in the recording.",
            counted(dropped, "message"),
            if dropped == 1 { "it is" } else { "them are" }
        ));
    }
    if recording.unreadable() > 0 {
        notices.push(format!(
            "{} of the recording can't be understood, and left out here.",
            counted(recording.unreadable(), "part")
        ));
    }
    if story.too_large > 0 {
        notices.push(format!(
            "{} left out: their boards are too large to be shown.",
            counted(story.too_large, "message")
        ));
    }
    notices.extend(notices_of_metrics(story));
    if recording.entries().is_empty() {
        notices.push("Nothing happened in this recording.".to_owned());
    } else if recording.calls().next().is_none() {
        notices.push(
            "The recording has no times of calls: there are no times of the stages.".to_owned(),
        );
    }
    if story.frames.all.is_empty() {
        notices.push("No frame was captured.".to_owned());
    } else if reel.distinct == 0 && reel.missing > 0 {
        notices.push("The recording holds no pictures.".to_owned());
    } else if reel.kept < reel.distinct {
        notices.push(format!(
            "To keep this page small it shows {} of {} different pictures; where one is left out, the one before is shown.",
            reel.kept, reel.distinct
        ));
    }
    if reel.missing > 0 {
        let one = reel.missing == 1;
        notices.push(format!(
            "{} of {} {} not in the recording or can't be read.",
            if one { "The picture" } else { "The pictures" },
            counted(reel.missing, "frame"),
            if one { "is" } else { "are" }
        ));
    }
    notices
}

/// What is missing of metrics, overlays and gestures.
fn notices_of_metrics(story: &Story) -> Vec<String> {
    let mut notices = Vec::new();
    if story.malformed > 0 {
        notices.push(format!(
            "{} left out: they are no valid metrics, overlays or gestures.",
            counted(story.malformed, "message")
        ));
    }
    if story.unread > 0 {
        notices.push(format!(
            "{} of metrics left out: there are too many. The totals lack them.",
            counted(story.unread, "message")
        ));
    }
    if story.metrics.over_limit > 0 {
        notices.push(format!(
            "{} of metrics left out: this page shows the first {MOST_NAMES} different metrics.",
            counted(story.metrics.over_limit, "value")
        ));
    }
    if story.metrics.is_thinned() {
        notices.push(
            "There are so many samples that some percentiles are those of a random selection."
                .to_owned(),
        );
    }
    if story.without_sentence > 0 {
        notices.push(format!(
            "{} without a description beside their frames: there are too many.",
            counted(story.without_sentence, "message")
        ));
    }
    if story.overlays_without_frame > 0 {
        let one = story.overlays_without_frame == 1;
        notices.push(format!(
            "{} left out: {} from no frame.",
            counted(story.overlays_without_frame, "overlay"),
            if one { "it descends" } else { "they descend" }
        ));
    }
    if story.overlays.left_out > 0 {
        notices.push(format!(
            "To keep this page small {} left out, evenly over the run.",
            counted(story.overlays.left_out, "overlay")
        ));
    }
    notices
}
