//! The events of a run that are shown, and the observer that sends them.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_channel::Sender;
use flowpipe_engine::run::{Observer, PipelineChange};
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_message::{GESTURE_OUTCOME, GESTURES, METRICS};
use flowpipe_puzzle::message::{OUTCOME, RESULT, SIGHTING, SOLVED, STROKES};
use flowpipe_recorder::record::FlightFile;

use crate::frame_sources::FrameSources;
use crate::mouse_driver::MouseDriver;
use crate::visibility;

/// An event, sent by the threads of the stages to the thread that prints.
pub enum RunEvent {
    /// A message to show.
    Message(Arc<Message>),
    /// A stage reported a problem.
    Problem(Problem),
    /// The flight recorder wrote the last seconds.
    FlightFile(FlightFile),
    /// The pipeline changed: the stages' names by index.
    Pipeline(Vec<String>),
    /// The pipeline was reloaded: what drives the mouse in it.
    MouseDriver(Option<MouseDriver>),
    /// Text for standard error, escaped already.
    Notice(String),
    /// A lossless recording failed: the run stops. Text for standard error, escaped already.
    Lost(String),
}

/// Sends the events of a run to another thread.
pub struct EventForwarder {
    events: Sender<RunEvent>,
    is_shown: RwLock<Vec<bool>>,
    frames: FrameSources,
    /// The most problems that are shown.
    most_problems: usize,
    problems: AtomicUsize,
}

/// The most problems that are shown of a replay: a recording may contain any number of calls that fail.
const MOST_OF_REPLAY: usize = 100;

impl EventForwarder {
    /// `is_shown`: whether messages are shown, by stage.
    pub fn new(events: Sender<RunEvent>, is_shown: Vec<bool>) -> Self {
        Self {
            events,
            is_shown: RwLock::new(is_shown),
            frames: FrameSources::default(),
            most_problems: usize::MAX,
            problems: AtomicUsize::new(0),
        }
    }

    /// The same for a replay: only the first problems are shown, and the others counted.
    pub fn of_replay(events: Sender<RunEvent>, is_shown: Vec<bool>) -> Self {
        Self {
            most_problems: MOST_OF_REPLAY,
            ..Self::new(events, is_shown)
        }
    }

    /// Names the source of the frame in a problem, where it is known.
    pub fn name_frame(&self, problem: &mut Problem) {
        self.frames.name(problem);
    }

    fn is_shown(&self, stage: usize) -> bool {
        let is_shown = self.is_shown.read().unwrap_or_else(PoisonError::into_inner);
        is_shown.get(stage).copied().unwrap_or(true)
    }
}

impl Observer for EventForwarder {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        self.frames.note(message);
        let is_shown = match message.schema() {
            SIGHTING | SOLVED | OUTCOME | GESTURE_OUTCOME => self.is_shown(stage),
            RESULT | STROKES | GESTURES | METRICS => true,
            _ => false,
        };
        if is_shown {
            // The receiver is gone once printing has failed; the run continues to its end.
            let _ = self.events.send(RunEvent::Message(Arc::clone(message)));
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        let number = self.problems.fetch_add(1, Ordering::Relaxed);
        let event = match number.cmp(&self.most_problems) {
            Less => {
                let mut problem = problem.clone();
                self.name_frame(&mut problem);
                RunEvent::Problem(problem)
            }
            Equal => RunEvent::Notice("problem: there are more, which are only counted".to_owned()),
            Greater => return,
        };
        let _ = self.events.send(event);
    }

    fn changed(&self, line: &PipelineChange<'_>) {
        let stages = line.pipeline().stages;
        let is_shown =
            (0..stages.len()).map(|stage| visibility::is_shown(line.plugins(stage).first()));
        *self
            .is_shown
            .write()
            .unwrap_or_else(PoisonError::into_inner) = is_shown.collect();
        let names = stages.into_iter().map(|stage| stage.name).collect();
        let _ = self.events.send(RunEvent::Pipeline(names));
    }
}
