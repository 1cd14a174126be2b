//! Which recorded call emitted each message, and which call emitted the message that it took.

use std::collections::HashMap;

use flowpipe_recording::Topic;
use flowpipe_recording::entry::Call;

/// Where the recorded messages come from.
#[derive(Debug, Default)]
pub(crate) struct Ancestry {
    /// By output and sequence number.
    sources: HashMap<Topic, HashMap<u64, Source>>,
    /// By stage and call: the source of the message that it took.
    parents: Vec<Vec<Option<Source>>>,
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
    /// Builds the ancestry of the stages' calls.
    ///
    /// # Errors
    /// When calls form a cycle.
    pub(crate) fn of<'a>(
        calls: impl Iterator<Item = &'a [Call]> + Clone,
    ) -> Result<Self, CallCycle> {
        let mut sources: HashMap<Topic, HashMap<u64, Source>> = HashMap::new();
        for (stage, calls) in calls.clone().enumerate() {
            for (call, recorded) in calls.iter().enumerate() {
                for (emitted, message) in recorded.emitted.iter().enumerate() {
                    let topic = Topic::new(&recorded.stage, &message.port);
                    let source = Source {
                        stage,
                        call,
                        emitted,
                    };
                    let of_topic = sources.entry(topic).or_default();
                    of_topic.insert(message.sequence, source);
                }
            }
        }
        let parent = |call: &Call| {
            let taken = call.took.as_ref()?;
            let topic = Topic::new(&taken.from, &taken.output);
            sources.get(&topic)?.get(&taken.sequence).copied()
        };
        let parents = calls.map(|calls| calls.iter().map(parent).collect());
        let ancestry = Self {
            parents: parents.collect(),
            sources,
        };
        match ancestry.cycle() {
            Some(cycle) => Err(cycle),
            None => Ok(ancestry),
        }
    }

    /// The source of a message.
    pub(crate) fn source(&self, topic: &Topic, sequence: u64) -> Option<Source> {
        self.sources.get(topic)?.get(&sequence).copied()
    }

    /// The sources of a message: its own first, then that of the message that this call took, and so on.
    pub(crate) fn line(&self, topic: &Topic, sequence: u64) -> impl Iterator<Item = Source> + '_ {
        let own = self.source(topic, sequence);
        std::iter::successors(own, |source| self.parent(source.stage, source.call))
    }

    /// The highest sequence number of a message.
    pub(crate) fn last(&self) -> u64 {
        let numbers = self.sources.values().flat_map(HashMap::keys);
        numbers.copied().max().unwrap_or_default()
    }

    fn parent(&self, stage: usize, call: usize) -> Option<Source> {
        *self.parents.get(stage)?.get(call)?
    }

    /// Each call has at most one parent: a walk that reaches one of its own calls has found a cycle.
    fn cycle(&self) -> Option<CallCycle> {
        // By stage and call: the first walk that visited it, or 0.
        let mut walked: Vec<Vec<usize>> = self
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

    fn of(stages: &[Vec<Call>]) -> Result<Ancestry, CallCycle> {
        Ancestry::of(stages.iter().map(Vec::as_slice))
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
        let ancestry = of(&stages).unwrap();
        let line = |number| -> Vec<_> {
            let line = ancestry.line(&Topic::new("c", "out"), number);
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
