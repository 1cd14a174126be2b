//! The reasons that a recording gives for missing calls and messages. A replay with other missing ones is not verified.

use flowpipe_config::pipeline::Stage;
use flowpipe_recording::{Entry, Recording, Topic};

use crate::run::replay::ReplayedStage;

/// The reasons for which calls and messages may be missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// It ends before the run: the program was killed, or a flight recorder wrote it.
    ends_early: bool,
    /// It begins in the middle of the run.
    begins_late: bool,
    /// By stage: from when on each of its workers may have been in a call that is not recorded: the start of the
    /// worker's last recorded call. `None`: a worker has none.
    last_began: Vec<Option<i64>>,
    /// The times of lineages that the recorder dropped after it had recorded a part: from the first message until the
    /// drop.
    cuts: Vec<(i64, i64)>,
}

impl Gaps {
    pub(super) fn of(recording: &Recording, parts: &[ReplayedStage]) -> Self {
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
            last_began: parts.iter().map(last_began).collect(),
            cuts: cuts.collect(),
        }
    }

    /// Whether the call in which a stage emitted a message at this time may be missing: it had not returned when the
    /// recording ended, or its lineage was dropped.
    pub(super) fn explain_call(&self, stage: usize, at_ns: i64) -> bool {
        let last = self.last_began.get(stage).copied().flatten();
        let was_in_progress = self.ends_early && last.is_none_or(|last| at_ns >= last);
        was_in_progress
            || self
                .cuts
                .iter()
                .any(|(from, until)| (*from..=*until).contains(&at_ns))
    }

    /// Whether a message may be missing that a recorded call took: it came before the recording begins, or the machine that
    /// emitted it died before it could be recorded.
    pub(super) fn explain_message(&self) -> bool {
        self.begins_late || self.ends_early
    }
}

/// Of the last recorded calls of a stage's workers, the earliest start.
fn last_began(part: &ReplayedStage) -> Option<i64> {
    let workers = part.about.workers.clamp(1, Stage::MAX_WORKERS);
    let mut last = vec![None; workers];
    for call in &part.calls {
        if let Some(last) = last.get_mut(call.worker) {
            *last = Some(call.taken_ns);
        }
    }
    // `None` comes first.
    last.into_iter().min().flatten()
}
