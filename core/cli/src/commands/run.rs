//! `flowpipe run FILE`: runs a pipeline, shows what happens, and prints what it did.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Sender;
use flowpipe_puzzle::message::{OUTCOME, SIGHTING, SOLVED};
use flowpipe_runtime::message::Message;
use flowpipe_runtime::problem::Problem;
use flowpipe_runtime::run::{Observer, Options, Run, RunHandle, StartError};
use serde_json::json;

use crate::args::{self, Global};
use crate::exit::{Ended, Failure};
use crate::follow::follow;
use crate::show::colour::{self, BAD, paint};
use crate::show::happenings::Tally;
use crate::show::progress::ProgressLine;
use crate::show::report;
use crate::{checks, pipeline_file, plugins};

pub fn run(global: &Global, args: &args::Run) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let pipeline = match pipeline_file::read(&args.file, &catalogue)? {
        Ok(pipeline) => pipeline,
        Err(errors) => {
            pipeline_file::show(errors, global);
            return Ok(Ended::BadConfig);
        }
    };
    let (sender, happenings) = crossbeam_channel::unbounded();
    let options = Options {
        validators: checks::validators(),
        observer: Some(Arc::new(Forward(sender))),
    };
    let handle = Run::start(pipeline, &catalogue, options).map_err(start_failure)?;
    let interrupted = stop_on_signals(&handle)?;
    let mut screen = Screen {
        global,
        args,
        tally: Tally::default(),
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
    let Screen { tally, line, .. } = screen;
    line.end();
    followed?;

    let mut stdout = std::io::stdout().lock();
    if args.json {
        let all = json!({ "boards": tally, "report": report });
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        let colours = colour::on_stdout(global);
        writeln!(stdout, "\n{}", report::tables(&report, colours).trim_end())?;
        writeln!(stdout, "{}", tally.summary())?;
    }
    catalogue.close();
    Ok(if interrupted.load(Ordering::Relaxed) {
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

struct Forward(Sender<Happening>);

impl Observer for Forward {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        if matches!(message.schema(), SIGHTING | SOLVED | OUTCOME) {
            // Nobody listens any more when printing failed; the run goes on to its end.
            let _ = self.0.send(Happening::Message(Arc::clone(message)));
        }
    }

    fn problem(&self, problem: &Problem) {
        let _ = self.0.send(Happening::Problem(problem.clone()));
    }
}

struct Screen<'a> {
    global: &'a Global,
    args: &'a args::Run,
    tally: Tally,
    line: ProgressLine,
}

impl Screen<'_> {
    fn show(&mut self, happening: &Happening) -> std::io::Result<()> {
        let Self {
            global,
            args,
            tally,
            line,
        } = self;
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
