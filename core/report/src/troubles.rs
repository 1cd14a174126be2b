//! What full queues dropped, and what went wrong.

use std::collections::HashMap;

use flowpipe_recording::entry::Call;
use flowpipe_recording::{Entry, Recording, Topic};
use serde::Serialize;

use crate::lineage::Lineage;
use crate::story::Story;

/// Drops and problems.
#[derive(Debug, Default, Serialize)]
pub struct Troubles {
    /// The queues, in the pipeline's order.
    queues: Vec<Queue>,
    /// In the order of time.
    problems: Vec<Problem>,
    /// Messages dropped in all.
    #[serde(skip)]
    pub dropped: usize,
    /// How many problems there were; no more than [`MOST`] are listed.
    pub problem_count: usize,
}

/// A queue between two stages.
#[derive(Debug, Serialize)]
struct Queue {
    from: String,
    to: String,
    capacity: usize,
    when_full: String,
    /// When it dropped a message: nanoseconds since it dropped the one before.
    drops: Vec<i64>,
    /// By drop: the frame, or -1.
    frames: Vec<i64>,
    /// Index of the stage that they did not reach.
    stage: Option<usize>,
}

/// Something that went wrong.
#[derive(Debug, Serialize)]
struct Problem {
    at_ns: i64,
    kind: String,
    stage: String,
    plugin: String,
    text: String,
    frame: Option<usize>,
}

/// The greatest number of problems that are listed.
const MOST: usize = 1000;

impl Troubles {
    /// Those of a recording.
    pub fn of(recording: &Recording, story: &Story) -> Self {
        let lineage = Lineage::of(recording, &story.frames);
        let about = recording.about();
        let queue = |edge: &flowpipe_recording::entry::AboutEdge| Queue {
            from: format!("{}.{}", edge.from.0, edge.from.1),
            to: format!("{}.{}", edge.to.0, edge.to.1),
            capacity: edge.capacity,
            when_full: edge.when_full.clone(),
            drops: Vec::new(),
            frames: Vec::new(),
            stage: about
                .stages
                .iter()
                .position(|stage| stage.name == edge.to.0),
        };
        let mut troubles = Self {
            queues: about.edges.iter().map(queue).collect(),
            ..Self::default()
        };
        let mut last = vec![0; about.edges.len()];
        let mut places = HashMap::new();
        for (place, edge) in about.edges.iter().enumerate() {
            places
                .entry((&*edge.from.0, &*edge.from.1, (&*edge.to.0, &*edge.to.1)))
                .or_insert(place);
        }
        let began = Began::of(lineage.calls());
        for entry in recording.entries() {
            match entry {
                Entry::Dropped(drop) => {
                    troubles.dropped += 1;
                    let (stage, input) = &drop.to;
                    let place = places.get(&(&*drop.from, &*drop.output, (&**stage, &**input)));
                    let Some(&place) = place else { continue };
                    let topic = Topic::new(drop.from.clone(), drop.output.clone());
                    let frame = lineage.frame(&topic, drop.sequence);
                    let queue = &mut troubles.queues[place];
                    queue.drops.push(drop.at_ns - last[place]);
                    queue.frames.push(frame.map_or(-1, |frame| frame as i64));
                    last[place] = drop.at_ns;
                }
                Entry::Problem(problem) => {
                    troubles.problem_count += 1;
                    if troubles.problems.len() == MOST {
                        continue;
                    }
                    let call = began.last(&problem.stage, problem.at_ns);
                    troubles.problems.push(Problem {
                        at_ns: problem.at_ns,
                        kind: problem.kind.replace('-', " "),
                        stage: (&problem.stage).into(),
                        plugin: (&problem.plugin).into(),
                        text: problem.text.clone(),
                        frame: call.and_then(|call| lineage.frame_of_call(call)),
                    });
                }
                _ => {}
            }
        }
        troubles
    }
}

/// By stage: its calls, in the order in which they began.
struct Began<'a>(HashMap<&'a str, Vec<&'a Call>>);

impl<'a> Began<'a> {
    fn of(calls: &[&'a Call]) -> Self {
        let mut stages: HashMap<&str, Vec<&Call>> = HashMap::new();
        for &call in calls {
            stages.entry(&call.stage).or_default().push(call);
        }
        for calls in stages.values_mut() {
            calls.sort_by_key(|call| call.taken_ns);
        }
        Self(stages)
    }

    /// The last call of a stage that had begun by then.
    fn last(&self, stage: &str, at_ns: i64) -> Option<&'a Call> {
        let calls = self.0.get(stage)?;
        let begun = calls.partition_point(|call| call.taken_ns <= at_ns);
        calls.get(begun.checked_sub(1)?).copied()
    }
}
