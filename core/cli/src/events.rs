//! The events of a run that are shown, and the observer that sends them.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use crossbeam_channel::Sender;
use flowpipe_engine::run::{Observer, PipelineChange};
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_message::{GESTURE_OUTCOME, GESTURES, METRICS};
use flowpipe_puzzle::message::{OUTCOME, RESULT, SIGHTING, SOLVED, STROKES};
use flowpipe_sync::lock;
use flowpipe_terminal::{counted, escape, was};

use crate::frame_sources::FrameSources;
use crate::line_budget::{LineBudget, shortened};
use crate::mouse_driver::MouseDriver;
use crate::visibility;

/// An event, sent by the threads of the stages to the thread that prints.
pub enum RunEvent {
    /// A message to show.
    Message(Arc<Message>),
    /// A stage reported a problem.
    Problem(Problem),
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
    problems: ShownProblems,
}

/// Which problems are shown. All are counted.
enum ShownProblems {
    /// Of a run: of each stage and kind, so many at once and one now and then. A stage may fail on each message.
    OfRun(Mutex<HashMap<(String, ProblemKind), StageProblems>>),
    /// Of a replay: the first ones. This is how many there were.
    OfReplay(AtomicUsize),
}

/// The problems of a stage, of one kind, that are shown.
struct StageProblems {
    budget: LineBudget,
    /// It was reported that some are not shown.
    is_noticed: bool,
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
            problems: ShownProblems::OfRun(Mutex::default()),
        }
    }

    /// The same for a replay: only the first problems are shown, and the others counted.
    pub fn of_replay(events: Sender<RunEvent>, is_shown: Vec<bool>) -> Self {
        Self {
            problems: ShownProblems::OfReplay(AtomicUsize::new(0)),
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

impl Default for StageProblems {
    fn default() -> Self {
        Self {
            budget: LineBudget::new(Instant::now()),
            is_noticed: false,
        }
    }
}

impl StageProblems {
    /// Takes a problem: what to print about those that are not shown, and whether this one is.
    fn add(&mut self, stage: &str, now: Instant) -> (Option<String>, bool) {
        let stage = escape(stage);
        match self.budget.spend(now) {
            Some(0) => (None, true),
            Some(more) => {
                let problems = counted(more, "problem");
                let were = was(more);
                let notice =
                    format!("problem: {problems} of stage \"{stage}\" {were} only counted");
                (Some(notice), true)
            }
            None if self.is_noticed => (None, false),
            None => {
                self.is_noticed = true;
                let notice = format!(
                    "problem: stage \"{stage}\" has more, which are counted; one is printed every 10 s"
                );
                (Some(notice), false)
            }
        }
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
        let (notice, is_shown) = match &self.problems {
            ShownProblems::OfRun(stages) => {
                let mut stages = lock(stages);
                let of_stage = stages.entry((problem.stage.clone(), problem.kind));
                of_stage.or_default().add(&problem.stage, Instant::now())
            }
            ShownProblems::OfReplay(count) => {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let notice = "problem: there are more, which are only counted";
                match number.cmp(&MOST_OF_REPLAY) {
                    Less => (None, true),
                    Equal => (Some(notice.to_owned()), false),
                    Greater => (None, false),
                }
            }
        };
        if let Some(notice) = notice {
            let _ = self.events.send(RunEvent::Notice(notice));
        }
        if is_shown {
            let mut problem = problem.clone();
            self.name_frame(&mut problem);
            // The plugin may be on another machine, and each of its errors may be 64 KiB long.
            problem.text = shortened(&problem.text);
            let _ = self.events.send(RunEvent::Problem(problem));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_fails_on_each_message_is_printed_a_few_times() {
        let (sender, events) = crossbeam_channel::unbounded();
        let forwarder = EventForwarder::new(sender, Vec::new());
        let problem = |stage: &str| Problem {
            kind: ProblemKind::Failed,
            stage: stage.to_owned(),
            plugin: "tee".to_owned(),
            message: None,
            text: "no space left".to_owned(),
        };
        for _ in 0..1_000 {
            forwarder.problem(&problem("log\u{1b}"), 0);
        }
        // It costs another stage nothing.
        forwarder.problem(&problem("out"), 0);
        let printed: Vec<_> = events.try_iter().collect();
        let of = |name: &str| {
            let is_it = |it: &&RunEvent| matches!(it, RunEvent::Problem(it) if it.stage == name);
            printed.iter().filter(is_it).count()
        };
        assert_eq!((of("log\u{1b}"), of("out")), (20, 1));
        let notices: Vec<_> = printed
            .iter()
            .filter_map(|it| match it {
                RunEvent::Notice(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let notice =
            "problem: stage \"log\\u001b\" has more, which are counted; one is printed every 10 s";
        assert_eq!(notices, [notice]);
    }

    #[test]
    fn a_long_text_of_a_problem_is_shortened() {
        let (sender, events) = crossbeam_channel::unbounded();
        let problem = Problem {
            kind: ProblemKind::Failed,
            stage: "work".to_owned(),
            plugin: "work".to_owned(),
            message: None,
            text: "x".repeat(60_000),
        };
        EventForwarder::new(sender, Vec::new()).problem(&problem, 0);
        let Ok(RunEvent::Problem(printed)) = events.try_recv() else {
            panic!("it is not printed");
        };
        assert!((4_000..4_010).contains(&printed.text.len()));
    }
}
