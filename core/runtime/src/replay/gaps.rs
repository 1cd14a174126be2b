//! What a recording says of itself that explains why something in it is missing. What it does not explain can't be verified.

use flowpipe_recording::{Entry, Recording, Topic};

use crate::replay::Part;

/// The reasons for which calls and messages may be missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// It ends while the run goes on: the program was killed, or a flight recorder wrote it.
    ends_early: bool,
    /// It begins in the middle of the run.
    begins_late: bool,
    /// By stage: when the last of its recorded calls began.
    last_began: Vec<Option<i64>>,
    /// When lineages were recorded that the recorder then dropped: from the first message of each until it was dropped.
    cuts: Vec<(i64, i64)>,
}

impl Gaps {
    pub(super) fn of(recording: &Recording, parts: &[Part]) -> Self {
        let began = |part: &Part| part.calls.last().map(|call| call.taken_ns);
        let partly = recording.dropped_lineages().iter().filter(|it| it.partly);
        let cuts = partly.map(|dropped| {
            let topic = Topic::new(&dropped.stage, &dropped.port);
            let first = recording.find(&topic, dropped.first);
            let first = first.and_then(|place| recording.entries().get(place));
            let from_ns = match first {
                Some(Entry::Message(message)) => message.at_ns(),
                // It came before the recording begins.
                _ => i64::MIN,
            };
            (from_ns, dropped.until_ns)
        });
        Self {
            ends_early: recording.is_cut_off() || recording.about().excerpt,
            begins_late: recording.about().since_ns.is_some(),
            last_began: parts.iter().map(began).collect(),
            cuts: cuts.collect(),
        }
    }

    /// Whether the call may be missing in which a stage emitted a message at this time: it had not ended when the recording
    /// ended, or it belongs to a lineage that was dropped.
    pub(super) fn explain_call(&self, stage: usize, at_ns: i64) -> bool {
        let last = self.last_began.get(stage).copied().flatten();
        let was_in_progress = self.ends_early && last.is_none_or(|last| at_ns >= last);
        was_in_progress
            || self
                .cuts
                .iter()
                .any(|(from, until)| (*from..=*until).contains(&at_ns))
    }

    /// Whether a message may be missing that a recorded call took.
    pub(super) fn explain_message(&self) -> bool {
        self.begins_late
    }
}
