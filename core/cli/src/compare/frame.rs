//! What a pipeline made of each frame.

use std::collections::BTreeMap;

use flowpipe_puzzle::message::{
    BoardState, OUTCOME, Outcome, Reading, SIGHTING, SOLVED, STROKES, SeenBoard, Sighting, Solved,
    Strokes, Verdict,
};
use flowpipe_recording::Topic;
use flowpipe_runtime::message::Message;
use flowpipe_runtime::problem::{Problem, ProblemKind};
use serde::Serialize;

use crate::compare::gather::Gathered;

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
    pub answer: Option<Answer>,
    /// How it is drawn.
    pub plan: Option<Plan>,
    /// What became of that.
    pub outcome: Option<Outcome>,
    /// What went wrong, where it left something unsaid.
    pub failures: Vec<Failed>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The stage.
    pub stage: String,
    /// What happened.
    pub text: String,
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

/// Who speaks in a pipeline.
pub struct Speakers {
    /// By stage: the recorded output that it plays.
    pub played: Vec<Option<Topic>>,
    /// By stage: its name, and the schemas of what it gives.
    pub gives: Vec<(String, Vec<String>)>,
}

/// Sorts what a run said by frames. What belongs to none is given beside.
pub fn frames(gathered: &Gathered, speakers: &Speakers) -> (Frames, Vec<Failed>) {
    let mut frames = Frames::new();
    for message in &gathered.messages {
        let Some(id) = id(message, speakers) else {
            continue;
        };
        let frame = frames.entry(id).or_default();
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
                    frame.answer.get_or_insert(Answer {
                        solver: solved.solver,
                        verdict: Ok(solved.answer),
                        took_ns: took_ns(message),
                    });
                }
            }
            STROKES => {
                if let Some(strokes) = parse::<Strokes>(message) {
                    frame.look(&strokes.sighting);
                    let took_ns = took_ns(message).unwrap_or(0);
                    frame.plan.get_or_insert_with(|| plan(strokes, took_ns));
                }
            }
            OUTCOME => frame.outcome = frame.outcome.take().or_else(|| parse(message)),
            _ => {}
        }
    }
    let mut homeless = Vec::new();
    for problem in &gathered.problems {
        match problem_frame(problem, speakers) {
            Some(id) => frames.entry(id).or_default().fail(problem, speakers),
            None => homeless.push(failed(problem)),
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

    fn fail(&mut self, problem: &Problem, speakers: &Speakers) {
        let gives = speakers.gives.iter().find(|it| it.0 == problem.stage);
        let gives = |schema: &str| gives.is_some_and(|it| it.1.iter().any(|it| it == schema));
        let late = matches!(problem.kind, ProblemKind::TimedOut | ProblemKind::Hang);
        if gives(SOLVED) && late {
            self.answer.get_or_insert(Answer {
                solver: problem.plugin.clone(),
                verdict: Err(problem.text.clone()),
                took_ns: None,
            });
            return;
        }
        // One plugin of a race may fail where another speaks.
        let is_said = gives(SIGHTING) && self.reading.is_some()
            || gives(SOLVED) && self.answer.is_some()
            || gives(STROKES) && self.plan.is_some()
            || gives(OUTCOME) && self.outcome.is_some();
        if !is_said {
            self.failures.push(failed(problem));
        }
    }
}

fn failed(problem: &Problem) -> Failed {
    Failed {
        stage: problem.stage.clone(),
        text: problem.text.clone(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(message: &Message) -> Option<T> {
    serde_json::from_str(message.json()).ok()
}

fn id(message: &Message, speakers: &Speakers) -> Option<FrameId> {
    let origin = message.lineage().origin?;
    let topic = speakers.played.get(origin.stage)?.clone()?;
    Some(FrameId {
        topic,
        number: origin.sequence,
    })
}

/// A problem tells the number of the frame, and not whose: where there are several sources, nobody knows.
fn problem_frame(problem: &Problem, speakers: &Speakers) -> Option<FrameId> {
    let number = problem.message.as_ref()?.frame;
    let mut topics = speakers.played.iter().flatten();
    let (topic, None) = (topics.next()?.clone(), topics.next()) else {
        return None;
    };
    (number > 0).then_some(FrameId { topic, number })
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
