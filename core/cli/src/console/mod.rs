//! What a run prints while it goes on: boards, problems, a progress line.

pub mod steps;

use std::io::Write as _;

use flowpipe_engine::run::RunHandle;
use flowpipe_terminal::{escape_indented, stderr, stdout};

use crate::args::Global;
use crate::console::steps::Steps;
use crate::events::RunEvent;
use crate::exit::Failure;
use crate::record::flight;
use crate::show::colour::{self, BAD, paint};
use crate::show::progress::ProgressLine;
use crate::tally::Tally;
use crate::visibility::Visibility;

/// Prints the events of a run.
pub struct Console<'a> {
    global: &'a Global,
    /// Boards are not printed.
    quiet: bool,
    tally: Tally,
    steps: Steps,
    line: ProgressLine,
}

impl<'a> Console<'a> {
    pub fn new(global: &'a Global, quiet: bool, visibility: Visibility) -> Self {
        Self {
            global,
            quiet,
            tally: Tally::new(visibility.has_referee),
            steps: Steps::new(visibility.names),
            line: ProgressLine::new(),
        }
    }

    /// Prints an event. `None`: updates the progress line.
    ///
    /// # Errors
    /// When standard output is closed (`flowpipe run … | head`).
    pub fn update(&mut self, run: &RunHandle, event: Option<RunEvent>) -> Result<(), Failure> {
        match event {
            Some(event) => {
                if let RunEvent::Lost(_) = event {
                    run.stop();
                }
                self.print(&event)?;
            }
            None => self.line.update(&run.progress()),
        }
        Ok(())
    }

    /// The counts of boards so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Removes the progress line, and returns the counts of boards and the times of steps.
    pub fn end(self) -> (Tally, Steps) {
        self.line.end();
        (self.tally, self.steps)
    }

    fn print(&mut self, event: &RunEvent) -> std::io::Result<()> {
        let Self {
            global,
            quiet,
            tally,
            steps,
            line,
        } = self;
        match event {
            RunEvent::Message(message) => {
                steps.add(message);
                if *quiet {
                    let colours = colour::on_stderr(global);
                    tally.add(message, &mut std::io::sink(), colours)?;
                    return match tally.take_notice() {
                        Some(notice) => line.above(|| writeln!(stderr(), "{notice}")),
                        None => Ok(()),
                    };
                }
                let colours = colour::on_stdout(global);
                line.above(|| {
                    let mut stdout = stdout();
                    tally.add(message, &mut stdout, colours)?;
                    match tally.take_notice() {
                        Some(notice) => writeln!(stdout, "{notice}"),
                        None => Ok(()),
                    }
                })
            }
            RunEvent::Pipeline(names) => {
                steps.rename(names);
                Ok(())
            }
            RunEvent::Notice(text) | RunEvent::Lost(text) => {
                line.above(|| writeln!(stderr(), "{text}"))
            }
            RunEvent::FlightFile(file) => {
                line.above(|| writeln!(stderr(), "{}", flight::notice(file)))
            }
            RunEvent::Problem(problem) => line.above(|| {
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
