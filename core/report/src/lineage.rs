//! Which message descends from which frame, and which call gave it.

use std::collections::HashMap;

use flowpipe_recording::entry::Call;
use flowpipe_recording::{Recording, Topic};

use crate::frames::Frames;

/// Finds where messages come from.
#[derive(Debug)]
pub struct Lineage<'a> {
    frames: &'a Frames,
    calls: Vec<&'a Call>,
    /// By message: the call that emitted it, and the frame.
    from: HashMap<(Topic, u64), (usize, Option<usize>)>,
}

impl<'a> Lineage<'a> {
    /// That of a recording's messages.
    pub fn of(recording: &'a Recording, frames: &'a Frames) -> Self {
        let calls: Vec<&Call> = recording.calls().map(|call| &**call).collect();
        let mut from = HashMap::new();
        for (index, call) in calls.iter().enumerate() {
            for emitted in &call.emitted {
                let origin = emitted.origin.as_ref();
                let frame = origin.and_then(|it| frames.find(&it.stage, it.sequence));
                let topic = Topic::new(call.stage.clone(), emitted.port.clone());
                from.insert((topic, emitted.sequence), (index, frame));
            }
        }
        Self {
            frames,
            calls,
            from,
        }
    }

    /// All calls, in the order in which they ended.
    pub fn calls(&self) -> &[&'a Call] {
        &self.calls
    }

    /// The call that emitted a message.
    pub fn call(&self, topic: &Topic, sequence: u64) -> Option<&'a Call> {
        let (call, _) = self.from.get(&(topic.clone(), sequence))?;
        self.calls.get(*call).copied()
    }

    /// The frame that a message descends from.
    pub fn frame(&self, topic: &Topic, sequence: u64) -> Option<usize> {
        match self.from.get(&(topic.clone(), sequence)) {
            Some((_, frame)) => *frame,
            None => self.frames.find(&topic.stage, sequence),
        }
    }

    /// The same for a message whose call is not in the recording, by time: the last frame that was captured until then.
    pub fn frame_or_last(&self, topic: &Topic, sequence: u64, at_ns: i64) -> Option<usize> {
        let known = self.frame(topic, sequence);
        known.or_else(|| {
            if self.from.contains_key(&(topic.clone(), sequence)) {
                return None;
            }
            let frames = &self.frames.all;
            frames
                .partition_point(|frame| frame.captured_ns <= at_ns)
                .checked_sub(1)
        })
    }

    /// The frame that a call was about: that of the message that it took, or of the first that it emitted.
    pub fn frame_of_call(&self, call: &Call) -> Option<usize> {
        if let Some(taken) = &call.took {
            let topic = Topic::new(taken.from.clone(), taken.output.clone());
            return self.frame(&topic, taken.sequence);
        }
        let first = call.emitted.first()?;
        let topic = Topic::new(call.stage.clone(), first.port.clone());
        self.frame(&topic, first.sequence)
    }
}
