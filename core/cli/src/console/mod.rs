//! What a run prints while it goes on: boards, problems, a progress line.

pub mod mouse_notice;
mod printer;
pub mod steps;

use std::io::Write as _;

use flowpipe_engine::run::RunHandle;

use crate::args::Global;
use crate::console::mouse_notice::MouseNotice;
use crate::console::printer::{Importance, Printer, Stream};
use crate::console::steps::Steps;
use crate::events::RunEvent;
use crate::exit::Failure;
use crate::show::colour;
use crate::tally::Tally;
use crate::visibility::Visibility;

/// Prints the events of a run.
pub struct Console<'a> {
    global: &'a Global,
    /// Boards, gestures and notes are not printed.
    quiet: bool,
    /// A stage has standard output: boards go to standard error.
    writes_stdout: bool,
    tally: Tally,
    steps: Steps,
    printer: Printer,
    /// `None`: what the mouse does is not reported.
    mouse: Option<MouseNotice>,
}

impl<'a> Console<'a> {
    /// A console that has printed nothing. `dry`: it is a dry run, and what is printed says so.
    ///
    /// # Errors
    /// When its thread can't be started.
    pub fn new(
        global: &'a Global,
        quiet: bool,
        dry: bool,
        visibility: Visibility,
    ) -> Result<Self, Failure> {
        Ok(Self {
            global,
            quiet,
            writes_stdout: visibility.writes_stdout,
            tally: Tally::new(&visibility, dry),
            steps: Steps::new(visibility.names),
            printer: Printer::start(colour::on_stderr(global))?,
            mouse: None,
        })
    }

    /// The same, that reports what the mouse does before its first stroke.
    pub fn with_mouse_notice(mut self, notice: Option<MouseNotice>) -> Self {
        self.mouse = notice;
        self
    }

    /// Has an event printed. `None`: updates the progress line. Waits for no reader.
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
            None => self.printer.draw(run.progress())?,
        }
        Ok(())
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Waits until all is printed, removes the progress line, and returns the counts and the times of steps.
    /// The error is that of printing.
    pub fn end(self) -> (Tally, Steps, Result<(), Failure>) {
        let printed = self.printer.end();
        (self.tally, self.steps, printed.map_err(Failure::from))
    }

    fn print(&mut self, event: &RunEvent) -> std::io::Result<()> {
        let Self {
            global,
            quiet,
            writes_stdout,
            tally,
            steps,
            printer,
            mouse,
        } = self;
        let on_stderr = |text: String, importance| {
            printer.print(Stream::Error, format!("{text}\n"), importance)
        };
        match event {
            RunEvent::Message(message) => {
                if let Some(line) = mouse.as_mut().and_then(|mouse| mouse.before(message)) {
                    on_stderr(line, Importance::Kept)?;
                }
                steps.add(message);
                if *quiet {
                    let colours = colour::on_stderr(global);
                    tally.add(message, &mut std::io::sink(), colours)?;
                    return match tally.take_notice() {
                        Some(notice) => on_stderr(notice, Importance::Informs),
                        None => Ok(()),
                    };
                }
                let (stream, colours) = match *writes_stdout {
                    true => (Stream::Error, colour::on_stderr(global)),
                    false => (Stream::Output, colour::on_stdout(global)),
                };
                let mut text = Vec::new();
                tally.add(message, &mut text, colours)?;
                if let Some(notice) = tally.take_notice() {
                    writeln!(text, "{notice}")?;
                }
                let text = String::from_utf8_lossy(&text).into_owned();
                printer.print(stream, text, Importance::Informs)
            }
            RunEvent::Pipeline(names) => {
                steps.rename(names);
                tally.pipeline_changed(names);
                Ok(())
            }
            RunEvent::MouseDriver(driver) => {
                if let Some(mouse) = mouse {
                    mouse.reload(driver.as_ref());
                }
                Ok(())
            }
            RunEvent::Notice(text) | RunEvent::Lost(text) => {
                on_stderr(text.clone(), Importance::Kept)
            }
            RunEvent::Problem(problem) => {
                printer.print(Stream::Problems, problem.to_string(), Importance::Informs)
            }
        }
    }
}
