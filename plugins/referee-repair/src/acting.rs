//! Whether strokes are with the planner or the actuator, and when their outcome counts as lost.
//!
//! A stage that dies, or fails, leaves its strokes without an outcome, and other stages get no notice of that. But
//! strokes that are played change the board that is seen. One that stays as it is for a few seconds shows that no
//! strokes are being played.

use serde::{Deserialize, Serialize};

/// How long a board may stay unchanged while strokes are played.
const QUIET_NS: i64 = 5_000_000_000;
/// The same for an actuator that was found to take longer.
const LONGEST_QUIET_NS: i64 = 120_000_000_000;
/// The number of lost outcomes that are remembered.
const REMEMBERED: usize = 8;

/// What is with the planner or the actuator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acting {
    strokes: Option<PendingStrokes>,
    /// Those whose outcome counts as lost, by the time of their capture.
    lost: Vec<i64>,
    /// How long the board may stay as it is.
    quiet_ns: i64,
}

/// Strokes whose outcome is awaited.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingStrokes {
    /// When the frame was captured that they descend from, as their outcome does.
    captured: i64,
    /// When the board last changed, or they were sent.
    changed_at: i64,
}

impl Default for Acting {
    fn default() -> Self {
        Self {
            strokes: None,
            lost: Vec::new(),
            quiet_ns: QUIET_NS,
        }
    }
}

impl Acting {
    /// Strokes are asked for, by a message that descends from a frame captured then.
    pub fn begin(&mut self, captured: i64, now: i64) {
        self.strokes = Some(PendingStrokes {
            captured,
            changed_at: now,
        });
    }

    /// The board is seen to change.
    pub fn board_changed(&mut self, now: i64) {
        if let Some(strokes) = &mut self.strokes {
            strokes.changed_at = now;
        }
    }

    /// An outcome has come, that descends from a frame captured then.
    pub fn outcome(&mut self, captured: i64) {
        let Some(late) = self.lost.iter().position(|&lost| lost == captured) else {
            self.strokes = None;
            return;
        };
        // It was not lost: this actuator needs more time.
        self.lost.remove(late);
        self.quiet_ns = (self.quiet_ns * 2).min(LONGEST_QUIET_NS);
    }

    /// Whether an outcome is awaited.
    pub fn is_waiting(&self) -> bool {
        self.strokes.is_some()
    }

    /// Whether the awaited outcome counts as lost by now. If so, it is no longer awaited.
    pub fn is_lost(&mut self, now: i64) -> bool {
        let quiet_ns = self.quiet_ns;
        let Some(strokes) = self
            .strokes
            .take_if(|strokes| now.saturating_sub(strokes.changed_at) > quiet_ns)
        else {
            return false;
        };
        if self.lost.len() == REMEMBERED {
            self.lost.remove(0);
        }
        self.lost.push(strokes.captured);
        true
    }
}
