//! What a pipeline made of each frame.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flowpipe_puzzle::message::{
    BoardState, OUTCOME, Outcome, Reading, SIGHTING, SOLVED, STROKES, SeenBoard, Sighting, Solved,
    Strokes, Verdict,
};
use flowpipe_recording::Topic;
use flowpipe_runtime::manifest::Manifest;
use flowpipe_runtime::message::Message;
use flowpipe_runtime::pipeline::{Pipeline, PortRef};
use flowpipe_runtime::problem::{Problem, ProblemKind};
use serde::Serialize;

use crate::compare::gather::{Gathered, Noted, Root};

/// A frame of the recording, the same for all pipelines that it feeds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId {
    /// The recorded output.
    pub topic: Topic,
    /// Its number among those that are played, from 1.
    pub number: u64,
}

/// All frames of a run.
pub type Frames = BTreeMap<FrameId, Frame>;

/// What was made of one.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Where it comes from: a file, a window's title, a line of a file.
    pub source: String,
    /// What vision read; nothing: nobody looked, or it failed.
    pub reading: Option<Reading>,
    /// What the solver said, in its own words or by not coming to an end.
    pub answer: Option<Box<Answer>>,
    /// How it is drawn.
    pub plan: Option<Box<Plan>>,
    /// What became of that.
    pub outcome: Option<Box<Outcome>>,
    /// What went wrong, where it left something unsaid.
    pub failures: Vec<Arc<Failed>>,
    /// The stages that said something of it.
    pub speakers: BTreeSet<usize>,
}

/// A solver's word on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The plugin.
    pub solver: String,
    /// What it says; `Err`: why it did not come to an end.
    pub verdict: Result<Verdict, String>,
    /// From taking the board to answering, nanoseconds.
    pub took_ns: Option<u64>,
}

/// Strokes, in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The plugin.
    pub planner: String,
    /// Drags.
    pub strokes: usize,
    /// Straight lines in them.
    pub segments: usize,
    /// How far the pointer is dragged, in cells.
    pub length: f64,
    /// How long the pointer stays on the way, as the game's profile asks, milliseconds.
    pub drag_ms: f64,
    /// From taking the answer to the plan, nanoseconds.
    pub took_ns: u64,
}

/// Something that went wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Failed {
    /// The stage.
    pub stage: String,
    /// What happened.
    pub text: String,
}

impl Failed {
    /// What a problem says.
    pub fn of(problem: &Problem) -> Self {
        Self {
            stage: problem.stage.clone(),
            text: problem.text.clone(),
        }
    }

    /// Whether that is what a problem says.
    pub fn is(&self, problem: &Problem) -> bool {
        self.stage == problem.stage && self.text == problem.text
    }
}

impl Frame {
    /// The board, where one was read at rest.
    pub fn board(&self) -> Option<&SeenBoard> {
        match &self.reading {
            Some(Reading::Board(seen)) if seen.state != BoardState::Moving => Some(seen),
            _ => None,
        }
    }

    /// Why there is no board, in words.
    pub fn refusal(&self) -> Option<&str> {
        match &self.reading {
            Some(Reading::Refused { reason, .. }) => Some(reason),
            Some(Reading::Board(_)) => None,
            None => self.failures.first().map(|failed| failed.text.as_str()),
        }
    }
}

/// Who speaks in a pipeline on a recording.
pub struct Speakers {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// By stage: what its plugin says of itself.
    pub manifests: Vec<Manifest>,
    /// By stage: the recorded output that it plays.
    pub played: Vec<Option<Topic>>,
}

impl Speakers {
    fn index(&self, stage: &str) -> Option<usize> {
        self.pipeline.stages.iter().position(|it| it.name == stage)
    }

    /// The frame of a source's message.
    fn frame(&self, source: usize, number: u64) -> Option<FrameId> {
        let topic = self.played.get(source)?.clone()?;
        Some(FrameId { topic, number })
    }

    /// The frame of the message that all began with.
    fn root(&self, (source, number): Root) -> Option<FrameId> {
        self.frame(source.stage, number)
    }

    fn of_message(&self, message: &Message) -> Option<FrameId> {
        match message.lineage().origin {
            Some(origin) => self.frame(origin.stage, origin.sequence),
            // Where no pixels were captured, the recorded message stands for a frame.
            None => self.root(message.root()),
        }
    }

    /// A problem names the message by the input that it came by, which must have one feeder to be told.
    fn of_problem(&self, problem: &Noted, gathered: &Gathered) -> Option<FrameId> {
        let (port, number) = problem.message.as_ref()?;
        let stage = self.index(&problem.failed.stage)?;
        let inputs = &self.manifests.get(stage)?.inputs;
        let port = inputs.iter().position(|it| it.name == **port)?;
        let to = PortRef { stage, port };
        let mut feeders = self.pipeline.edges.iter().filter(|edge| edge.to == to);
        let (feeder, None) = (feeders.next()?, feeders.next()) else {
            return None;
        };
        self.root(gathered.root(feeder.from, *number)?)
    }

    fn gives(&self, stage: usize, schema: &str) -> bool {
        let outputs = self.manifests.get(stage).map(|it| it.outputs.iter());
        outputs.is_some_and(|mut outputs| outputs.any(|port| port.schema == schema))
    }
}

/// Sorts what a run said by frames. What belongs to none is given beside.
pub fn frames(gathered: &Gathered, speakers: &Speakers) -> (Frames, Vec<Arc<Failed>>) {
    let mut frames = Frames::new();
    for message in &gathered.messages {
        let Some(id) = speakers.of_message(message) else {
            continue;
        };
        let frame = frames.entry(id).or_default();
        frame.speakers.insert(message.source().stage);
        // Every message here has passed the checks: what does not parse is of another schema.
        match message.schema() {
            SIGHTING => {
                if let Some(sighting) = parse::<Sighting>(message) {
                    frame.look(&sighting);
                }
            }
            SOLVED => {
                if let Some(solved) = parse::<Solved>(message) {
                    frame.look(&solved.sighting);
                    frame.answer.get_or_insert_with(|| {
                        Box::new(Answer {
                            solver: solved.solver,
                            verdict: Ok(solved.answer),
                            took_ns: took_ns(message),
                        })
                    });
                }
            }
            STROKES => {
                if let Some(strokes) = parse::<Strokes>(message) {
                    frame.look(&strokes.sighting);
                    let took_ns = took_ns(message).unwrap_or(0);
                    frame
                        .plan
                        .get_or_insert_with(|| Box::new(plan(strokes, took_ns)));
                }
            }
            OUTCOME => {
                let known = frame.outcome.take();
                frame.outcome = known.or_else(|| parse(message).map(Box::new));
            }
            _ => {}
        }
    }
    let mut homeless = Vec::new();
    for problem in &gathered.problems {
        match speakers.of_problem(problem, gathered) {
            Some(id) => frames.entry(id).or_default().fail(problem, speakers),
            None => homeless.push(problem.failed.clone()),
        }
    }
    (frames, homeless)
}

impl Frame {
    fn look(&mut self, sighting: &Sighting) {
        if self.reading.is_none() {
            self.source.clone_from(&sighting.frame.source);
            self.reading = Some(sighting.reading.clone());
        }
    }

    fn fail(&mut self, problem: &Noted, speakers: &Speakers) {
        let stage = speakers.index(&problem.failed.stage);
        let gives = |schema: &str| stage.is_some_and(|stage| speakers.gives(stage, schema));
        let late = matches!(problem.kind, ProblemKind::TimedOut | ProblemKind::Hang);
        if late && gives(SOLVED) {
            self.answer.get_or_insert_with(|| {
                Box::new(Answer {
                    solver: problem.plugin.to_string(),
                    verdict: Err(problem.failed.text.clone()),
                    took_ns: None,
                })
            });
            return;
        }
        // One plugin of a race may fail where another speaks.
        let is_said = stage.is_some_and(|stage| self.speakers.contains(&stage));
        if !is_said {
            self.failures.reserve_exact(1);
            self.failures.push(problem.failed.clone());
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(message: &Message) -> Option<T> {
    serde_json::from_str(message.json()).ok()
}

/// From taking the last message to having emitted this one. A source takes none: what it plays took nobody any time.
fn took_ns(message: &Message) -> Option<u64> {
    let [_, .., hop] = message.lineage().hops.as_slice() else {
        return None;
    };
    u64::try_from(hop.emitted_ns - hop.taken_ns).ok()
}

fn plan(strokes: Strokes, took_ns: u64) -> Plan {
    let manner = strokes.manner.unwrap_or_default();
    let each = strokes.strokes.iter();
    Plan {
        planner: strokes.planner,
        strokes: strokes.strokes.len(),
        segments: each.clone().map(|stroke| stroke.segments()).sum(),
        length: each.map(|stroke| stroke.length()).sum(),
        drag_ms: manner.stays_ms(&strokes.strokes),
        took_ns,
    }
}
