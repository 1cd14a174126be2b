//! The results of a pipeline, by frame.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{Pipeline, PortRef};
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{
    BoardState, OUTCOME, Outcome, Reading, SIGHTING, SOLVED, STROKES, SeenBoard, Sighting, Solved,
    Strokes, Verdict,
};
use flowpipe_recording::Topic;
use serde::Serialize;

use crate::compare::collect::{Collected, CollectedProblem};
use crate::compare::messages::log::Root;

/// A frame of the recording, the same for all pipelines that it feeds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId {
    /// The recorded output.
    pub topic: Topic,
    /// Its number among those that are played, from 1.
    pub number: u64,
}

impl FrameId {
    /// The recorded output, as text.
    pub fn output(&self) -> String {
        format!("{}.{}", self.topic.stage, self.topic.port)
    }
}

/// The results of all frames of a run.
pub type Frames = BTreeMap<FrameId, FrameResult>;

/// The results of one frame.
#[derive(Clone, Debug, Default)]
pub struct FrameResult {
    /// Its source: a file, a window's title, a line of a file.
    pub source: String,
    /// What vision read. `None`: no vision ran, or it failed.
    pub reading: Option<Reading>,
    /// The solver's answer, or its timeout.
    pub answer: Option<Box<SolverAnswer>>,
    /// The strokes.
    pub plan: Option<Box<PlanFigures>>,
    /// The outcome of the strokes.
    pub outcome: Option<Box<Outcome>>,
    /// The failures that left a message missing.
    pub failures: Vec<Arc<StageFailure>>,
    /// The stages that emitted a message about it.
    pub sources: BTreeSet<usize>,
}

/// A solver's answer to a board.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverAnswer {
    /// The plugin.
    pub solver: String,
    /// The verdict; `Err`: the timeout.
    pub verdict: Result<Verdict, String>,
    /// The time of the answer, nanoseconds.
    pub took_ns: Option<u64>,
}

/// The statistics of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanFigures {
    /// The plugin.
    pub planner: String,
    /// The number of strokes.
    pub strokes: usize,
    /// The number of straight lines in them.
    pub segments: usize,
    /// How far the pointer is dragged, in cells.
    pub length: f64,
    /// How long the drags take with the pauses of the game's profile, milliseconds.
    pub drag_ms: f64,
    /// The time of the plan, nanoseconds.
    pub took_ns: u64,
}

/// A failure of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct StageFailure {
    /// The stage.
    pub stage: String,
    /// The error.
    pub text: String,
}

impl StageFailure {
    /// The failure that a problem reports.
    pub fn of(problem: &Problem) -> Self {
        Self {
            stage: problem.stage.clone(),
            text: problem.text.clone(),
        }
    }

    /// Whether a problem reports this failure.
    pub fn is(&self, problem: &Problem) -> bool {
        self.stage == problem.stage && self.text == problem.text
    }
}

impl FrameResult {
    /// The board, where one was read at rest.
    pub fn board(&self) -> Option<&SeenBoard> {
        match &self.reading {
            Some(Reading::Board(seen)) if seen.state != BoardState::Moving => Some(seen),
            _ => None,
        }
    }

    /// Why there is no board.
    pub fn refusal(&self) -> Option<&str> {
        match &self.reading {
            Some(Reading::Refused { reason, .. }) => Some(reason),
            Some(Reading::Board(_)) => None,
            None => self.failures.first().map(|failed| failed.text.as_str()),
        }
    }
}

/// Assigns the messages of a pipeline to the frames of the recording.
pub struct MessageSources {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The manifests, by stage.
    pub manifests: Vec<Manifest>,
    /// The recorded outputs that they play, by stage.
    pub played: Vec<Option<Topic>>,
}

impl MessageSources {
    fn index(&self, stage: &str) -> Option<usize> {
        self.pipeline.stages.iter().position(|it| it.name == stage)
    }

    /// The frame of a source's message.
    fn frame(&self, source: usize, number: u64) -> Option<FrameId> {
        let topic = self.played.get(source)?.clone()?;
        Some(FrameId { topic, number })
    }

    /// The frame of a first ancestor, or the recorded message in its place.
    pub fn root(&self, (source, number): Root) -> Option<FrameId> {
        self.frame(source.stage, number)
    }

    fn of_message(&self, message: &Message) -> Option<FrameId> {
        match message.lineage().origin {
            Some(origin) => self.frame(origin.stage, origin.sequence),
            // Without captured pixels, the lineage has no origin.
            None => self.root(message.root()),
        }
    }

    /// A problem names its message by the input. The message is known if the input has one feeder.
    fn of_problem(&self, problem: &CollectedProblem, collected: &Collected) -> Option<FrameId> {
        let (port, number) = problem.message.as_ref()?;
        let stage = self.index(&problem.failed.stage)?;
        let inputs = &self.manifests.get(stage)?.inputs;
        let port = inputs.iter().position(|it| it.name == **port)?;
        let to = PortRef { stage, port };
        let mut feeders = self.pipeline.edges.iter().filter(|edge| edge.to == to);
        let (feeder, None) = (feeders.next()?, feeders.next()) else {
            return None;
        };
        self.root(collected.root(feeder.from, *number)?)
    }

    fn gives(&self, stage: usize, schema: &str) -> bool {
        let outputs = self.manifests.get(stage).map(|it| it.outputs.iter());
        outputs.is_some_and(|mut outputs| outputs.any(|port| port.schema == schema))
    }
}

/// Assigns messages and problems to frames. Also returns the problems that belong to none.
pub fn frames(collected: &Collected, sources: &MessageSources) -> (Frames, Vec<Arc<StageFailure>>) {
    let mut frames = Frames::new();
    for message in &collected.messages {
        let Some(id) = sources.of_message(message) else {
            continue;
        };
        let frame = frames.entry(id).or_default();
        frame.sources.insert(message.source().stage);
        // Every message has passed the checks: one that does not parse has another schema.
        match message.schema() {
            SIGHTING => {
                if let Some(sighting) = parse::<Sighting>(message) {
                    frame.read(&sighting);
                }
            }
            SOLVED => {
                if let Some(solved) = parse::<Solved>(message) {
                    frame.read(&solved.sighting);
                    frame.answer.get_or_insert_with(|| {
                        Box::new(SolverAnswer {
                            solver: solved.solver,
                            verdict: Ok(solved.answer),
                            took_ns: took_ns(message),
                        })
                    });
                }
            }
            STROKES => {
                if let Some(strokes) = parse::<Strokes>(message) {
                    frame.read(&strokes.sighting);
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
    let mut unassigned = Vec::new();
    for problem in &collected.problems {
        match sources.of_problem(problem, collected) {
            Some(id) => frames.entry(id).or_default().fail(problem, sources),
            None => unassigned.push(problem.failed.clone()),
        }
    }
    (frames, unassigned)
}

impl FrameResult {
    fn read(&mut self, sighting: &Sighting) {
        if self.reading.is_none() {
            self.source.clone_from(&sighting.frame.source);
            self.reading = Some(sighting.reading.clone());
        }
    }

    fn fail(&mut self, problem: &CollectedProblem, sources: &MessageSources) {
        let stage = sources.index(&problem.failed.stage);
        let gives = |schema: &str| stage.is_some_and(|stage| sources.gives(stage, schema));
        let late = matches!(problem.kind, ProblemKind::TimedOut | ProblemKind::Hang);
        if late && gives(SOLVED) {
            self.answer.get_or_insert_with(|| {
                Box::new(SolverAnswer {
                    solver: problem.plugin.to_string(),
                    verdict: Err(problem.failed.text.clone()),
                    took_ns: None,
                })
            });
            return;
        }
        // One plugin of a race may fail while another answers.
        let has_emitted = stage.is_some_and(|stage| self.sources.contains(&stage));
        if !has_emitted {
            self.failures.reserve_exact(1);
            self.failures.push(problem.failed.clone());
        }
    }
}

/// The content of a message. Unlike [`Message::read`] it is not kept: there are the messages of a whole run.
fn parse<T: serde::de::DeserializeOwned>(message: &Message) -> Option<T> {
    serde_json::from_str(message.json()).ok()
}

/// The time of the call that emitted this message. `None` for a source.
fn took_ns(message: &Message) -> Option<u64> {
    let [_, .., hop] = message.lineage().hops.as_slice() else {
        return None;
    };
    u64::try_from(hop.emitted_ns - hop.taken_ns).ok()
}

fn plan(strokes: Strokes, took_ns: u64) -> PlanFigures {
    let manner = strokes.manner.unwrap_or_default();
    let each = strokes.strokes.iter();
    PlanFigures {
        planner: strokes.planner,
        strokes: strokes.strokes.len(),
        segments: each.clone().map(|stroke| stroke.segments()).sum(),
        length: each.map(|stroke| stroke.length()).sum(),
        drag_ms: manner.stays_ms(&strokes.strokes),
        took_ns,
    }
}
