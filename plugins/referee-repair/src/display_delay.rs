//! How long a game takes to display strokes: until then, what is missing may still appear.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The number of delays that are compared, and of flows that are remembered while strokes are played.
const WINDOW: usize = 8;
/// So many times the longest of them passes before flows count as missing.
const MARGIN: i64 = 2;
/// The longest wait, in nanoseconds. What appears later may come from somebody else.
const MAX_DELAY_NS: i64 = 1_000_000_000;
/// Where no picture was read for longer than this before flows appeared, they may have been there sooner, in nanoseconds.
const MAX_GAP_NS: i64 = 200_000_000;

/// How long a game took to display strokes.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisplayDelay {
    /// The window of the game.
    window: Option<u64>,
    /// When the last strokes on the board ended.
    acted_at: Option<i64>,
    /// When more of the strokes appeared last.
    shown_at: Option<i64>,
    /// When more appeared of these strokes while the next ones were awaited.
    shown_while_waiting: VecDeque<i64>,
    delays: VecDeque<i64>,
    /// Strokes of this game got the longest time.
    has_waited: bool,
}

impl DisplayDelay {
    /// A picture of a game in this window. Another game takes another time.
    pub fn meet(&mut self, window: Option<u64>) {
        if self.window != window {
            *self = Self {
                window,
                ..Self::default()
            };
        }
    }

    /// So many strokes were played on the board between these times. `is_first`: they are the first ones on it.
    pub fn played(&mut self, began: i64, ended: i64, strokes: usize, is_first: bool) {
        // No flow of these strokes is whole before the first of them ends: what appeared until then was drawn before.
        let strokes = i64::try_from(strokes.max(1)).unwrap_or(i64::MAX);
        let first_ended = began + (ended - began) / strokes;
        for shown in std::mem::take(&mut self.shown_while_waiting) {
            if !is_first && shown <= first_ended {
                self.measure(shown, shown);
            }
        }
        self.has_waited |= self.acted_at.is_some();
        self.acted_at = Some(ended);
    }

    /// More of the strokes appear in a picture captured then; the last one before was captured at `looked`. `is_waiting`:
    /// the next strokes may have begun.
    pub fn shown(&mut self, captured: i64, looked: i64, is_waiting: bool) {
        self.shown_at = Some(captured);
        if !is_waiting {
            self.measure(captured, looked);
        } else if self.shown_while_waiting.len() < WINDOW {
            self.shown_while_waiting.push_back(captured);
        }
    }

    /// When what is missing of the last strokes no longer counts as late, in a game that gets at least so long for it, in
    /// nanoseconds. Flows that appear one after another get their time from the last. `None`: nothing was played.
    pub fn deadline(&self, min_wait_ns: i64) -> Option<i64> {
        let acted_at = self.acted_at?;
        let since = self.shown_at.map_or(acted_at, |shown| shown.max(acted_at));
        Some(since.saturating_add(self.wait(min_wait_ns)))
    }

    /// How long what is missing counts as late, at least so long, in nanoseconds.
    pub fn wait(&self, min_wait_ns: i64) -> i64 {
        let is_unknown = self.delays.is_empty() && !self.has_waited;
        let longest = self.delays.iter().max().copied().unwrap_or_default();
        let wait = match is_unknown {
            true => MAX_DELAY_NS,
            false => (longest * MARGIN).min(MAX_DELAY_NS),
        };
        wait.max(min_wait_ns)
    }

    fn measure(&mut self, captured: i64, looked: i64) {
        let Some(acted_at) = self.acted_at else {
            return;
        };
        let looked = looked.max(acted_at);
        let by = match captured.saturating_sub(looked) > MAX_GAP_NS {
            true => looked,
            false => captured,
        };
        let delay = by.saturating_sub(acted_at);
        // What appeared while the strokes were still played says nothing.
        if captured <= acted_at || delay > MAX_DELAY_NS {
            return;
        }
        if self.delays.len() == WINDOW {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
    }
}

#[cfg(test)]
mod tests;
