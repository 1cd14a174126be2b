//! `flowpipe run FILE`: runs a pipeline, shows what happens, and prints what it did.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Sender;
use flowpipe_puzzle::message::{OUTCOME, RESULT, SIGHTING, SOLVED};
use flowpipe_runtime::message::Message;
use flowpipe_runtime::problem::Problem;
use flowpipe_runtime::report::Ending;
use flowpipe_runtime::run::{Observer, Options, Run, RunHandle, StartError};
use serde_json::json;

use crate::args::{self, Global};
use crate::cast::Cast;
use crate::exit::{Ended, Failure};
use crate::follow::follow;
use crate::show::colour::{self, BAD, paint};
use crate::show::happenings::Tally;
use crate::show::progress::ProgressLine;
use crate::show::report;
use crate::show::steps::Steps;
use crate::{checks, pipeline_file, plugins};

pub fn run(global: &Global, args: &args::Run) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let Some(pipeline) = pipeline_file::read_or_show(&args.file, &catalogue, global)? else {
        return Ok(Ended::BadConfig);
    };
    let cast = Cast::of(&pipeline, &catalogue);
    let (sender, happenings) = crossbeam_channel::unbounded();
    let options = Options {
        validators: checks::validators(),
        observer: Some(Arc::new(Forward {
            told: sender,
            speaks: cast.speaks.clone(),
        })),
        dry: args.dry_run,
    };
    let handle = Run::start(pipeline, &catalogue, options).map_err(start_failure)?;
    let interrupted = stop_on_signals(&handle)?;
    let mut screen = Screen {
        global,
        args,
        tally: Tally::new(cast.has_referee),
        steps: Steps::new(cast.names),
        line: ProgressLine::new(),
    };
    let followed = follow(&handle, &happenings, |happening| {
        match happening {
            Some(happening) => screen.show(&happening)?,
            None => screen.line.update(&handle.progress()),
        }
        Ok(())
    });
    if followed.is_err() {
        // Nobody reads any more (`flowpipe run … | head`).
        handle.stop();
    }
    let report = handle.wait();
    let Screen {
        tally, steps, line, ..
    } = screen;
    line.end();
    followed?;

    let mut stdout = std::io::stdout().lock();
    if args.json {
        let all = json!({ "boards": tally, "report": report, "steps": steps.report() });
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        let colours = colour::on_stdout(global);
        writeln!(stdout, "\n{}", report::tables(&report, colours).trim_end())?;
        write!(stdout, "{}", steps.table())?;
        if let Some(ended) = &report.ended {
            let stage = &ended.stage;
            let how = match ended.how {
                Ending::Done => "ended",
                Ending::Stopped => "stopped",
            };
            writeln!(stdout, "{how} by {stage}: {}", ended.reason)?;
        }
        writeln!(stdout, "{}", tally.summary())?;
    }
    catalogue.close();
    let by_hand = report.ended.as_ref();
    let by_hand = by_hand.is_some_and(|ended| ended.how == Ending::Stopped);
    Ok(if by_hand || interrupted.load(Ordering::Relaxed) {
        Ended::Interrupted
    } else if report.failure.is_some() {
        Ended::StageFailed
    } else {
        Ended::Done
    })
}

/// A config that a plugin refuses is a bad config, whoever found it.
pub fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Plugin { .. }
        | StartError::UnknownPlugin { .. }
        | StartError::Misfit { .. } => Failure::Config(error.to_string()),
        StartError::Thread(_) | StartError::Control => Failure::Run(error.to_string()),
    }
}

/// Ctrl-C, SIGTERM and SIGHUP ask the run to end as its pipeline says; a second one ends it at once.
fn stop_on_signals(handle: &RunHandle) -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let (flag, stopper) = (Arc::clone(&interrupted), handle.stopper());
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            stopper.abort();
        } else {
            stopper.stop();
        }
    })
    .map_err(|error| Failure::Run(format!("can't listen for Ctrl-C: {error}")))?;
    Ok(interrupted)
}

/// What the stages' threads hand to the printing one.
enum Happening {
    Message(Arc<Message>),
    Problem(Problem),
}

struct Forward {
    told: Sender<Happening>,
    speaks: Vec<bool>,
}

impl Observer for Forward {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        let speaks = self.speaks.get(stage).copied().unwrap_or(true);
        let shown = match message.schema() {
            SIGHTING | SOLVED | OUTCOME => speaks,
            RESULT => true,
            _ => false,
        };
        if shown {
            // Nobody listens any more when printing failed; the run goes on to its end.
            let _ = self.told.send(Happening::Message(Arc::clone(message)));
        }
    }

    fn problem(&self, problem: &Problem) {
        let _ = self.told.send(Happening::Problem(problem.clone()));
    }
}

struct Screen<'a> {
    global: &'a Global,
    args: &'a args::Run,
    tally: Tally,
    steps: Steps,
    line: ProgressLine,
}

impl Screen<'_> {
    fn show(&mut self, happening: &Happening) -> std::io::Result<()> {
        let Self {
            global,
            args,
            tally,
            steps,
            line,
        } = self;
        if let Happening::Message(message) = happening {
            steps.take(message);
        }
        match happening {
            Happening::Message(message) if args.json || args.quiet => {
                tally.take(message, &mut std::io::sink(), false)
            }
            Happening::Message(message) => {
                let colours = colour::on_stdout(global);
                line.above(|| tally.take(message, &mut std::io::stdout().lock(), colours))
            }
            Happening::Problem(problem) => line.above(|| {
                let colours = colour::on_stderr(global);
                writeln!(
                    std::io::stderr(),
                    "{} {problem}",
                    paint("problem:", BAD, colours)
                )
            }),
        }
    }
}
