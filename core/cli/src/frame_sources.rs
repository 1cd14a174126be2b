//! Where the last frames of a run come from: problems name the number of a frame, and people know its file.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use flowpipe_host::message::{CapturedMessage, Message};
use flowpipe_host::problem::Problem;
use flowpipe_message::{FRAME, FrameNote};

/// How many frames are remembered: more than queues usually hold.
const MOST_FRAMES: usize = 1024;
/// The longest body that is remembered, in bytes: no capture of the project writes one that is as long.
const LONGEST_BODY: usize = 4 << 10;

/// The last frames, oldest first: their numbers, and the messages that carried them.
#[derive(Debug, Default)]
pub struct FrameSources(Mutex<VecDeque<(u64, Arc<CapturedMessage>)>>);

impl FrameSources {
    /// Remembers a message if it carries a new frame.
    pub fn note(&self, message: &Message) {
        let lineage = message.lineage();
        let Some((origin, captured)) = lineage.origin.zip(lineage.captured.as_ref()) else {
            return;
        };
        let is_new = origin.stage == message.source().stage && origin.sequence == lineage.sequence;
        if message.schema() != FRAME || !is_new || captured.body.json_len() > LONGEST_BODY {
            return;
        }
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() >= MOST_FRAMES {
            frames.pop_front();
        }
        frames.push_back((origin.sequence, Arc::clone(captured)));
    }

    /// Names the source of the frame in a problem, where it is known. Several sources may have a frame of that number:
    /// then none is named.
    pub fn name(&self, problem: &mut Problem) {
        let Some(message) = &mut problem.message else {
            return;
        };
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = frames.iter().filter(|(number, _)| *number == message.frame);
        if let (Some((_, captured)), None) = (found.next(), found.next()) {
            let note: Option<Arc<FrameNote>> = captured.body.read().ok();
            message.source = note.map(|note| note.source.clone());
        }
    }
}
