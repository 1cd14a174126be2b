//! Gestures of any domain.

use std::io::Write;

use flowpipe_message::{GestureOutcome, Gestures};
use flowpipe_terminal::{counted, escaped};
use serde::{Deserialize, Serialize};

use crate::show::colour::{BAD, GOOD, paint};
use crate::tally::obstacle::Obstacle;

/// The counts of a run's gestures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GestureCounts {
    /// Planned, in messages that passed their check.
    pub planned: u64,
    /// Played.
    pub played: u64,
    /// Messages of which not all gestures were played.
    pub refused: u64,
}

impl GestureCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Counts planned gestures.
    pub fn plan(&mut self, gestures: &Gestures) {
        self.planned = self.planned.saturating_add(gestures.gestures.len() as u64);
    }

    /// Counts what became of gestures, and prints it: that none of them were played, once for each kind of reason
    /// until some are.
    ///
    /// # Errors
    /// When printing fails.
    pub fn add(
        &mut self,
        outcome: &GestureOutcome,
        unplayed: &mut Obstacle,
        dry: &str,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        self.played = self.played.saturating_add(outcome.played as u64);
        self.refused += u64::from(outcome.refused.is_some());
        match &outcome.refused {
            Some(reason) if outcome.played == 0 => {
                if !unplayed.meet_now(reason) {
                    return Ok(());
                }
            }
            _ => unplayed.end(),
        }
        let source = escaped(&outcome.frame.source);
        let played = match (outcome.played, &outcome.refused) {
            (0, Some(_)) => "not played".to_owned(),
            (count, _) => paint(
                &format!("played {}{dry}", counted(count, "gesture")),
                GOOD,
                colours,
            ),
        };
        match &outcome.refused {
            Some(reason) => writeln!(out, "{source}: {played}, {}", paint(reason, BAD, colours)),
            None => writeln!(out, "{source}: {played}"),
        }
    }

    /// The counts in one line. `None`: there were none.
    pub fn summary(&self, dry: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut text = format!(
            "{} planned, {} played{dry}",
            counted(self.planned as usize, "gesture"),
            self.played
        );
        if self.refused > 0 {
            text += &format!(", {} refused", counted(self.refused as usize, "message"));
        }
        Some(text)
    }
}
