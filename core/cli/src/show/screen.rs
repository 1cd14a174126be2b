//! What a run shows while it goes on: boards, problems, a line that counts.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_channel::Sender;
use flowpipe_puzzle::message::{OUTCOME, RESULT, SIGHTING, SOLVED};
use flowpipe_runtime::message::Message;
use flowpipe_runtime::problem::Problem;
use flowpipe_runtime::record::Landed;
use flowpipe_runtime::run::{LineUp, Observer, RunHandle};
use flowpipe_terminal::{escape_indented, stderr, stdout};

use crate::args::Global;
use crate::cast::{self, Cast};
use crate::exit::Failure;
use crate::record::flight;
use crate::show::colour::{self, BAD, paint};
use crate::show::happenings::Tally;
use crate::show::progress::ProgressLine;
use crate::show::steps::Steps;

/// The terminal.
pub struct Screen<'a> {
    global: &'a Global,
    /// No boards.
    silent: bool,
    tally: Tally,
    steps: Steps,
    line: ProgressLine,
}

/// What the stages' threads hand to the printing one.
pub enum Happening {
    /// A message worth showing.
    Message(Arc<Message>),
    /// Something went wrong.
    Problem(Problem),
    /// The flight recorder wrote the last seconds.
    Landed(Landed),
    /// The pipeline has changed: the stages' names by index.
    LineUp(Vec<String>),
    /// Something that is told on standard error as it is, what is foreign in it escaped.
    Told(String),
    /// What was not to be lost is lost: the run is to end. Told as it is.
    Lost(String),
}

/// Hands what is worth showing to another thread.
pub struct Forward {
    told: Sender<Happening>,
    speaks: RwLock<Vec<bool>>,
    /// So many problems are shown.
    most_problems: usize,
    problems: AtomicUsize,
}

/// So many problems of a replay are shown: a recording from anywhere may have any number of calls that fail.
const MOST_OF_REPLAY: usize = 100;

impl Forward {
    /// `speaks`: by stage, whether what it emits is shown.
    pub fn new(told: Sender<Happening>, speaks: Vec<bool>) -> Self {
        Self {
            told,
            speaks: RwLock::new(speaks),
            most_problems: usize::MAX,
            problems: AtomicUsize::new(0),
        }
    }

    /// The same for a replay, which shows the first problems and counts the others.
    pub fn of_replay(told: Sender<Happening>, speaks: Vec<bool>) -> Self {
        Self {
            most_problems: MOST_OF_REPLAY,
            ..Self::new(told, speaks)
        }
    }

    fn speaks(&self, stage: usize) -> bool {
        let speaks = self.speaks.read().unwrap_or_else(PoisonError::into_inner);
        speaks.get(stage).copied().unwrap_or(true)
    }
}

impl Observer for Forward {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        let shown = match message.schema() {
            SIGHTING | SOLVED | OUTCOME => self.speaks(stage),
            RESULT => true,
            _ => false,
        };
        if shown {
            // Nobody listens any more when printing failed; the run goes on to its end.
            let _ = self.told.send(Happening::Message(Arc::clone(message)));
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        let number = self.problems.fetch_add(1, Ordering::Relaxed);
        let happening = match number.cmp(&self.most_problems) {
            Less => Happening::Problem(problem.clone()),
            Equal => Happening::Told("problem: there are more, which are counted alone".to_owned()),
            Greater => return,
        };
        let _ = self.told.send(happening);
    }

    fn changed(&self, line: &LineUp<'_>) {
        let stages = line.pipeline().stages;
        let speaks = (0..stages.len()).map(|stage| cast::speaks(line.plugins(stage).first()));
        *self.speaks.write().unwrap_or_else(PoisonError::into_inner) = speaks.collect();
        let names = stages.into_iter().map(|stage| stage.name).collect();
        let _ = self.told.send(Happening::LineUp(names));
    }
}

impl<'a> Screen<'a> {
    pub fn new(global: &'a Global, silent: bool, cast: Cast) -> Self {
        Self {
            global,
            silent,
            tally: Tally::new(cast.has_referee),
            steps: Steps::new(cast.names),
            line: ProgressLine::new(),
        }
    }

    /// Shows what happened, or that the run goes on.
    ///
    /// # Errors
    /// When nobody reads any more (`flowpipe run … | head`).
    pub fn take(&mut self, run: &RunHandle, happening: Option<Happening>) -> Result<(), Failure> {
        match happening {
            Some(happening) => {
                if let Happening::Lost(_) = happening {
                    run.stop();
                }
                self.show(&happening)?;
            }
            None => self.line.update(&run.progress()),
        }
        Ok(())
    }

    /// What became of the boards so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Ends the line that counts, and gives what is known of boards and steps.
    pub fn end(self) -> (Tally, Steps) {
        self.line.end();
        (self.tally, self.steps)
    }

    fn show(&mut self, happening: &Happening) -> std::io::Result<()> {
        let Self {
            global,
            silent,
            tally,
            steps,
            line,
        } = self;
        match happening {
            Happening::Message(message) => {
                steps.take(message);
                if *silent {
                    return tally.take(message, &mut std::io::sink(), false);
                }
                let colours = colour::on_stdout(global);
                line.above(|| tally.take(message, &mut stdout(), colours))
            }
            Happening::LineUp(names) => {
                steps.rename(names);
                Ok(())
            }
            Happening::Told(text) | Happening::Lost(text) => {
                line.above(|| writeln!(stderr(), "{text}"))
            }
            Happening::Landed(landed) => {
                line.above(|| writeln!(stderr(), "{}", flight::tell(landed)))
            }
            Happening::Problem(problem) => line.above(|| {
                let colours = colour::on_stderr(global);
                writeln!(
                    stderr(),
                    "{} {}",
                    paint("problem:", BAD, colours),
                    escape_indented(&problem.to_string())
                )
            }),
        }
    }
}
