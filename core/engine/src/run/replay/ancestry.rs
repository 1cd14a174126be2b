//! Which recorded call emitted each message, and which call emitted the message that it took.

use std::sync::Arc;

use flowpipe_recording::Topic;
use flowpipe_recording::entry::Call;

use crate::run::replay::outputs::{OutputId, ReplayOutputs};

/// Where the recorded messages come from.
#[derive(Debug, Default)]
pub(crate) struct Ancestry {
    /// By output: the messages that calls emitted, ordered by sequence number.
    sources: Vec<Vec<Emission>>,
    /// By output: the stage of these calls.
    stages: Vec<usize>,
    /// By stage and call: the message that it took.
    parents: Vec<Vec<Parent>>,
}

/// A message that a call emitted.
#[derive(Clone, Copy, Debug)]
struct Emission {
    sequence: u64,
    call: u32,
    emitted: u32,
}

/// A message that a call took or emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageKey {
    pub output: OutputId,
    pub sequence: u64,
    place: u32,
}

/// The message that a call took.
#[derive(Clone, Copy, Debug)]
struct Parent {
    output: Option<OutputId>,
    /// The place of the message among the emissions of the output; [`UNKNOWN`]: no call emitted it.
    place: u32,
}

const UNKNOWN: u32 = u32::MAX;

impl MessageKey {
    /// Its place among the messages that calls emitted at its output. `None`: no call emitted it.
    pub(crate) fn place(self) -> Option<usize> {
        (self.place != UNKNOWN).then_some(self.place as usize)
    }
}

/// The call that emitted a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub stage: usize,
    /// Its index among the stage's calls.
    pub call: usize,
    /// The message's index among those that the call emitted.
    pub emitted: usize,
}

/// A call that took a message descending from itself, as stage and call index. Only edited recordings have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallCycle {
    pub stage: usize,
    pub call: usize,
}

impl Ancestry {
    /// Builds the ancestry of the stages' calls. Adds the outputs that they name.
    ///
    /// # Errors
    /// When calls form a cycle.
    pub(super) fn of<'a>(
        calls: impl Iterator<Item = &'a [Arc<Call>]> + Clone,
        outputs: &mut ReplayOutputs,
    ) -> Result<Self, CallCycle> {
        let mut ancestry = Self::default();
        for (stage, calls) in calls.clone().enumerate() {
            ancestry.emissions(stage, calls, outputs);
        }
        for emissions in &mut ancestry.sources {
            // If several have the same number, the last one counts: the sort is stable.
            if !emissions.is_sorted_by_key(|it| it.sequence) {
                emissions.sort_by_key(|it| it.sequence);
            }
            emissions.shrink_to_fit();
        }
        let parents = calls.map(|calls| ancestry.taken(calls, outputs));
        ancestry.parents = parents.collect();
        match ancestry.cycle() {
            Some(cycle) => Err(cycle),
            None => Ok(ancestry),
        }
    }

    fn emissions(&mut self, stage: usize, calls: &[Arc<Call>], outputs: &mut ReplayOutputs) {
        // Most calls emit at the same output as the one before.
        let mut last: Option<(Topic, OutputId)> = None;
        for (call, recorded) in calls.iter().enumerate() {
            for (emitted, message) in recorded.emitted.iter().enumerate() {
                let output = match &last {
                    Some((topic, output)) if topic.port == message.port => *output,
                    _ => {
                        let topic = Topic::new(&recorded.stage, &message.port);
                        let output = outputs.number(&topic);
                        last = Some((topic, output));
                        output
                    }
                };
                if self.sources.len() < outputs.len() {
                    self.sources.resize_with(outputs.len(), Vec::new);
                    self.stages.resize(outputs.len(), stage);
                }
                let index = ReplayOutputs::index(output);
                self.stages[index] = stage;
                // No list of a recording is so long that this cuts anything off.
                self.sources[index].push(Emission {
                    sequence: message.sequence,
                    call: call as u32,
                    emitted: emitted as u32,
                });
            }
        }
    }

    fn taken(&self, calls: &[Arc<Call>], outputs: &mut ReplayOutputs) -> Vec<Parent> {
        let mut last: Option<(Topic, OutputId)> = None;
        let parent = |call: &Arc<Call>| {
            let Some(taken) = &call.took else {
                return Parent {
                    output: None,
                    place: UNKNOWN,
                };
            };
            let is_same = |it: &Topic| it.stage == taken.from && it.port == taken.output;
            let output = match &last {
                Some((topic, output)) if is_same(topic) => *output,
                _ => {
                    let topic = Topic::new(&taken.from, &taken.output);
                    let output = outputs.number(&topic);
                    last = Some((topic, output));
                    output
                }
            };
            Parent {
                output: Some(output),
                place: self.key(output, taken.sequence).place,
            }
        };
        calls.iter().map(parent).collect()
    }

    /// The key of a message.
    pub(crate) fn key(&self, output: OutputId, sequence: u64) -> MessageKey {
        let emissions = self.sources.get(ReplayOutputs::index(output));
        let emissions = emissions.map_or(&[][..], Vec::as_slice);
        let after = emissions.partition_point(|it| it.sequence <= sequence);
        let found = |place: &usize| {
            emissions
                .get(*place)
                .is_some_and(|it| it.sequence == sequence)
        };
        let place = after.checked_sub(1).filter(found);
        MessageKey {
            output,
            sequence,
            place: place.map_or(UNKNOWN, |place| place as u32),
        }
    }

    /// The source of a message.
    pub(crate) fn source(&self, message: MessageKey) -> Option<Source> {
        let index = ReplayOutputs::index(message.output);
        let emission = self.sources.get(index)?.get(message.place()?)?;
        Some(Source {
            stage: *self.stages.get(index)?,
            call: emission.call as usize,
            emitted: emission.emitted as usize,
        })
    }

    /// The key of the message that a call took.
    pub(crate) fn took(&self, stage: usize, call: usize, sequence: u64) -> Option<MessageKey> {
        let parent = self.parents.get(stage)?.get(call)?;
        Some(MessageKey {
            output: parent.output?,
            sequence,
            place: parent.place,
        })
    }

    /// A source, then that of the message that its call took, and so on.
    pub(crate) fn line(&self, source: Option<Source>) -> impl Iterator<Item = Source> + '_ {
        std::iter::successors(source, |source| self.parent(source.stage, source.call))
    }

    /// The highest sequence number of a message.
    pub(crate) fn last(&self) -> u64 {
        let last = self.sources.iter().filter_map(|it| it.last());
        last.map(|it| it.sequence).max().unwrap_or_default()
    }

    fn parent(&self, stage: usize, call: usize) -> Option<Source> {
        // The sequence number is not used: the place identifies the message.
        self.source(self.took(stage, call, 0)?)
    }

    /// Each call has at most one parent: a walk that reaches one of its own calls has found a cycle.
    fn cycle(&self) -> Option<CallCycle> {
        // By stage and call: the first walk that visited it, or 0.
        let mut walked: Vec<Vec<u32>> = self
            .parents
            .iter()
            .map(|calls| vec![0; calls.len()])
            .collect();
        let mut walk = 0;
        for (stage, calls) in self.parents.iter().enumerate() {
            for call in 0..calls.len() {
                walk += 1;
                let mut next = Some((stage, call));
                while let Some((stage, call)) = next
                    && let Some(by) = walked.get_mut(stage).and_then(|it| it.get_mut(call))
                {
                    match *by {
                        0 => *by = walk,
                        by if by == walk => return Some(CallCycle { stage, call }),
                        _ => break,
                    }
                    let parent = self.parent(stage, call);
                    next = parent.map(|parent| (parent.stage, parent.call));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_recording::entry::{Emitted, Taken};

    use super::*;

    fn call(stage: &str, took: Option<(&str, u64)>, emitted: &[u64]) -> Call {
        Call {
            stage: stage.into(),
            took: took.map(|(from, sequence)| Taken {
                port: "in".into(),
                from: from.into(),
                output: "out".into(),
                sequence,
            }),
            emitted: emitted
                .iter()
                .map(|&sequence| Emitted {
                    port: "out".into(),
                    sequence,
                    at_ns: 0,
                    origin: None,
                })
                .collect(),
            ..Call::default()
        }
    }

    fn of(stages: &[Vec<Call>]) -> Result<(Ancestry, ReplayOutputs), CallCycle> {
        let mut outputs = ReplayOutputs::default();
        let shared = |calls: &Vec<Call>| calls.iter().cloned().map(Arc::new).collect();
        let stages: Vec<Vec<_>> = stages.iter().map(shared).collect();
        let ancestry = Ancestry::of(stages.iter().map(Vec::as_slice), &mut outputs)?;
        Ok((ancestry, outputs))
    }

    #[test]
    fn a_line_goes_back_to_the_source() {
        let stages = [
            vec![call("a", None, &[1, 2])],
            vec![call("b", Some(("a", 2)), &[1])],
            vec![
                call("c", Some(("b", 1)), &[7]),
                call("c", Some(("nobody", 1)), &[8]),
            ],
        ];
        let (ancestry, outputs) = of(&stages).unwrap();
        let output = outputs.find(&Topic::new("c", "out")).unwrap();
        let line = |number| -> Vec<_> {
            let line = ancestry.line(ancestry.source(ancestry.key(output, number)));
            line.map(|it| (it.stage, it.call, it.emitted)).collect()
        };
        assert_eq!(line(7), [(2, 0, 0), (1, 0, 0), (0, 0, 1)]);
        assert_eq!(line(8), [(2, 1, 0)]);
        assert_eq!(line(9), []);
        assert_eq!(ancestry.last(), 8);
    }

    #[test]
    fn cycles_are_found() {
        let own = [vec![call("a", Some(("a", 1)), &[1])]];
        assert_eq!(of(&own).unwrap_err(), CallCycle { stage: 0, call: 0 });
        let two = [
            vec![call("a", None, &[9]), call("a", Some(("b", 1)), &[1])],
            vec![
                call("b", Some(("a", 9)), &[2]),
                call("b", Some(("a", 1)), &[1]),
            ],
        ];
        assert_eq!(of(&two).unwrap_err(), CallCycle { stage: 0, call: 1 });
        // A cycle of the pipeline is none, as long as each message is a new one.
        let rounds = |stage: &str, from: &str, first: u64| -> Vec<_> {
            let round = |number| call(stage, Some((from, number - first)), &[number]);
            (1..1000).map(round).collect()
        };
        assert!(of(&[rounds("a", "b", 1), rounds("b", "a", 0)]).is_ok());
    }
}
