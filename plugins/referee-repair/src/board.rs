//! The board that is being played.

use std::collections::BTreeSet;

use flowpipe_plugin::message::Rectangle;
use flowpipe_plugin::puzzle::geometry::Geometry;
use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, FrameNote, Outcome, Pace, Profile, SeenBoard,
};
use flowpipe_plugin::puzzle::{Colour, Flow, Puzzle};
use serde::{Deserialize, Serialize};

use crate::vanishing::{Evidence, Fate, Vanishing};

/// The current board.
#[derive(Clone, Serialize, Deserialize)]
pub struct Board {
    /// The puzzle.
    pub puzzle: Puzzle,
    /// When the frame was captured that showed it first.
    pub seen_at: i64,
    /// Attempts in all.
    pub attempts: usize,
    /// Attempts since something new was drawn.
    pub futile: usize,
    /// Flows missing before the last attempt.
    pub missing: usize,
    /// The fewest flows that were ever seen missing.
    #[serde(default = "none_yet")]
    pub fewest_seen: usize,
    /// The fewest flows that were seen missing since strokes were asked for.
    #[serde(default)]
    pub fewest_since_asked: usize,
    /// It was seen partly drawn.
    #[serde(default)]
    pub was_partial: bool,
    /// Why it was given up.
    #[serde(default)]
    pub given_up: Option<String>,
    /// Why the mouse stopped within strokes, since something new was drawn.
    #[serde(default)]
    pub stopped: Option<String>,
    /// Strokes played.
    pub strokes: usize,
    /// Of these, strokes for flows that had been drawn before.
    pub repeated: usize,
    /// The profile of the last strokes.
    pub profile: Option<Profile>,
    /// The pace of the last strokes.
    pub pace: Option<Pace>,
    /// Its window.
    pub window: Option<u64>,
    /// The last attempt was played to its end, and drew all that was missing.
    pub complete: bool,
    /// The colours that the last attempt was to draw; those that earlier ones were to draw.
    #[serde(default)]
    pub asked: Vec<Colour>,
    #[serde(default)]
    pub drawn_before: BTreeSet<Colour>,
    /// The flows that were missing when something was asked for last, and that were never asked for.
    #[serde(default)]
    pub never_asked: usize,
    /// How often it was cleared because it could not be read.
    #[serde(default)]
    pub cleared: usize,
    /// When the last attempt was asked for.
    #[serde(default)]
    pub asked_at: i64,
    /// The strokes of the last attempt that were not played.
    #[serde(default)]
    pub left_out: usize,
    /// The flows that the newest sighting did not show drawn; `None`: there was none since strokes were asked for.
    #[serde(default)]
    pub unseen: Option<usize>,
    /// That sighting was captured when the game had had its time after the last attempt.
    #[serde(default)]
    pub is_seen_after: bool,
    /// Where it was seen last.
    #[serde(default)]
    pub geometry: Option<Geometry>,
    /// Since when it is gone.
    #[serde(default)]
    pub vanishing: Vanishing,
    /// When the last stroke ended.
    pub last_stroke_at: i64,
    /// It needs no more actions.
    pub closed: bool,
    /// It was solved.
    pub solved: bool,
    /// It was counted because it had gone.
    #[serde(default)]
    pub counted_gone: Option<GoneAs>,
    /// It counts as won by its rules.
    #[serde(default)]
    pub confirms_rules: bool,
    /// It is one of numbers.
    #[serde(default)]
    pub is_of_numbers: bool,
    /// Its desktop does not report that a person moves the mouse, which may spoil strokes.
    #[serde(default)]
    pub is_hand_unreported: bool,
}

/// Whether a desktop does not report that a person moves the mouse, by the name of its session. Some portals do. Where it is
/// reported, it ends the run.
fn is_hand_unreported(desktop: Option<&str>) -> bool {
    let kind = desktop.and_then(|name| name.split(' ').next());
    kind.is_some_and(|kind| !["x11", "mutter"].contains(&kind))
}

/// More flows than any board has: none was counted.
fn none_yet() -> usize {
    usize::MAX
}

/// As what a board was counted that had gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoneAs {
    /// As solved.
    Solved,
    /// As unknown.
    Unknown,
}

impl Board {
    /// One that is seen for the first time.
    pub fn new(seen: &SeenBoard, frame: &FrameNote, captured: i64) -> Self {
        Self {
            puzzle: seen.puzzle.clone(),
            seen_at: captured,
            attempts: 0,
            futile: 0,
            missing: usize::MAX,
            fewest_seen: none_yet(),
            fewest_since_asked: 0,
            was_partial: false,
            given_up: None,
            stopped: None,
            strokes: 0,
            repeated: 0,
            profile: None,
            pace: None,
            window: frame.window,
            complete: false,
            asked: Vec::new(),
            drawn_before: BTreeSet::new(),
            never_asked: 0,
            cleared: 0,
            asked_at: 0,
            left_out: 0,
            unseen: None,
            is_seen_after: false,
            geometry: Some(seen.geometry.clone()),
            vanishing: Vanishing::default(),
            last_stroke_at: captured,
            // Nothing to do about a board that was solved by others.
            closed: seen.state == BoardState::Solved,
            solved: seen.state == BoardState::Solved,
            counted_gone: None,
            confirms_rules: false,
            is_of_numbers: seen.numbers,
            is_hand_unreported: is_hand_unreported(frame.desktop.as_deref()),
        }
    }

    /// Whether it was solved if it is gone now: strokes were played to the end, or all but the last one, over which a
    /// message of the game may have come; and it was not seen with flows missing afterwards.
    pub fn may_vanish(&self) -> bool {
        let is_unsolved = self.is_seen_after && self.unseen.is_some_and(|unseen| unseen > 0);
        let is_drawn = self.complete || self.left_out <= 1;
        !self.closed && self.attempts > 0 && is_drawn && !is_unsolved
    }

    /// Whether all flows that were missing were asked for last: not only some of them, and no clicks that clear pipes.
    pub fn was_asked_whole(&self) -> bool {
        !self.asked.is_empty() && self.asked.len() >= self.missing
    }

    /// These colours are to be drawn, while those are missing. None: clicks are to clear pipes.
    pub fn ask_for(&mut self, asked: Vec<Colour>, missing: &[Colour]) {
        let is_new = |it: &&Colour| !asked.contains(it) && !self.drawn_before.contains(it);
        self.never_asked = missing.iter().filter(is_new).count();
        self.asked = asked;
    }

    /// What became of it if the game has gone on to another board. `confidence`: the share of the latest flows that the
    /// game took, and how many those are.
    pub fn fate_when_replaced(&self, confidence: (f64, usize)) -> Fate {
        if !self.may_vanish() {
            return Fate::Open;
        }
        let evidence = Evidence {
            unseen: self.unseen,
            drawn: self.missing,
            was_asked_whole: self.never_asked == 0,
            // After clicks that clear, flows were seen missing: a game that is reliable proves nothing about them.
            confidence: match self.asked.is_empty() {
                true => (0.0, 0),
                false => confidence,
            },
        };
        match evidence.fate() {
            // Clicks that clear pipes were asked for because flows were seen missing.
            Fate::Unknown { .. } if self.asked.is_empty() => Fate::Open,
            fate => fate,
        }
    }

    /// Strokes were played, of an attempt on what was asked last.
    pub fn note_strokes(&mut self, outcome: &Outcome, now: i64) {
        self.last_stroke_at = now;
        if outcome.refused.is_some() {
            self.stopped.clone_from(&outcome.refused);
        }
        self.complete = outcome.refused.is_none() && self.was_asked_whole();
        let strokes = outcome.strokes.len();
        self.left_out = self.missing.saturating_sub(strokes);
        let (asked, before) = (&self.asked, &mut self.drawn_before);
        if asked.is_empty() {
            // Clicks that clear flows draw nothing.
            return;
        }
        let again = asked.iter().filter(|it| before.contains(it)).count();
        before.extend(asked);
        self.repeated += again.min(strokes);
        self.strokes += strokes;
        self.attempts += 1;
        self.futile += 1;
        self.profile = outcome.profile;
    }

    /// Whether none of the missing flows is one that the last attempt was to draw. Clicks that clear draw none.
    pub fn is_all_drawn(&self, missing: &[Flow]) -> bool {
        let is_asked = |flow: &Flow| self.asked.contains(&flow.colour);
        !self.asked.is_empty() && !missing.iter().any(is_asked)
    }

    /// Whether windows of other programs lie over the place where it was seen.
    pub fn is_covered(&self, frame: &FrameNote) -> bool {
        let Some(geometry) = &self.geometry else {
            return false;
        };
        let board = Rectangle::around(&geometry.corners);
        board.is_some_and(|board| frame.covered.iter().any(|part| part.overlaps(&board)))
    }

    /// What became of it.
    pub fn result(&self, number: usize, reason: Option<String>) -> BoardResult {
        let mut result = BoardResult::new(number, self.puzzle.clone(), reason);
        result.attempts = self.attempts;
        result.strokes = self.strokes;
        result.repeated = self.repeated;
        result.profile = self.profile;
        result.pace = self.pace;
        result.took_ns = self.last_stroke_at.saturating_sub(self.seen_at);
        result
    }
}
