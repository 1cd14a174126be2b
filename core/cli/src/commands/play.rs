//! `flowpipe play [FILE...]`: the practice game in a window or in a terminal.

use std::io::{BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flowpipe_config::reader::duration;
use flowpipe_game::Look;
use flowpipe_game::session::{Input, Level, Levels, Log, Manner, Options, Session};
use flowpipe_game::terminal::{Colours, Terminal};
use flowpipe_game::window::Window;
use flowpipe_puzzle::text;
use flowpipe_terminal::{escape, stdout};

use crate::args::{Global, Play, PlayInput};
use crate::exit::{Ended, Failure};
use crate::puzzle_file;
use crate::show::colour;
use crate::{outputs, signals};

pub fn run(global: &Global, args: &Play) -> Result<Ended, Failure> {
    let trial = args.time_trial.as_deref().map(trial).transpose()?;
    let (look, manner) = args
        .like
        .map_or((Look::OWN, Manner::OWN), |kind| (kind.look, kind.manner));
    let input = args.input.map_or(manner.input, |input| match input {
        PlayInput::Events => Input::Events,
        PlayInput::Frames => Input::Frames,
        PlayInput::Straight => Input::Straight,
        PlayInput::Samples => Input::Samples,
        PlayInput::Clicks => Input::Clicks,
    });
    if args.nudge > 0.0 && input == Input::Clicks {
        let why = "--nudge applies to drags, and --input clicks has none";
        return Err(Failure::Usage(why.to_owned()));
    }
    let levels = levels(args)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let start = || -> Result<Session, Failure> {
        let options = Options {
            input,
            nudge: args.nudge,
            drop: args.drop,
            seed: args.seed,
            trial,
            manner,
        };
        Session::new(levels, options, log(args)?).map_err(run_failure)
    };
    // The session starts last, so that an earlier failure does not truncate the log.
    let solved = if args.terminal {
        let terminal = Terminal::connect().map_err(run_failure)?;
        let session = start()?;
        on_interrupt(&interrupted, || {});
        let colours = Colours::of_terminal(colour::on_stdout(global));
        terminal
            .play(session, colours, &interrupted)
            .map_err(run_failure)?
    } else {
        let window = Window::connect().map_err(run_failure)?;
        let session = start()?;
        let closer = window.closer();
        on_interrupt(&interrupted, move || closer.close());
        let look = Look {
            theme: args.theme.unwrap_or(look.theme),
            ..look
        };
        let size = args.window;
        let size = size.unwrap_or_else(|| look.window(session.puzzle().board()));
        window
            .play(session, size, args.seed, look)
            .map_err(run_failure)?
    };
    let boards = if solved == 1 { "board" } else { "boards" };
    let within = args.time_trial.as_ref().map_or_else(String::new, |time| {
        format!(" in a time trial of {}", escape(time))
    });
    writeln!(stdout(), "solved {solved} {boards}{within}")?;
    Ok(if interrupted.load(Ordering::Relaxed) {
        Ended::Interrupted
    } else {
        Ended::Done
    })
}

/// On Ctrl-C and SIGTERM, sets the flag and calls `then`.
fn on_interrupt(interrupted: &Arc<AtomicBool>, then: impl Fn() + Send + 'static) {
    let flag = Arc::clone(interrupted);
    signals::on_interrupt(move || {
        flag.store(true, Ordering::Relaxed);
        then();
    });
}

fn run_failure(error: impl std::fmt::Display) -> Failure {
    Failure::Run(error.to_string())
}

fn trial(text: &str) -> Result<Duration, Failure> {
    duration::parse(text)
        .map_err(|error| Failure::Usage(format!("--time-trial {text}: {error}, such as 30s")))
}

fn levels(args: &Play) -> Result<Levels, Failure> {
    if args.files.is_empty() {
        return Ok(Levels::Generated {
            sizes: args.size.clone(),
            seed: args.seed,
        });
    }
    let mut levels = Vec::new();
    for file in &args.files {
        outputs::note_input(file);
        let path = file.display().to_string();
        let text = puzzle_file::read_path(file)?;
        for entry in text::read(&text) {
            let (puzzle, _) = entry
                .puzzle
                .map_err(|error| Failure::BadText(format!("{path}: {error}")))?;
            levels.push(Level {
                title: entry.title,
                puzzle,
            });
        }
    }
    if levels.is_empty() {
        return Err(Failure::Usage(
            "there are no puzzles in these files".to_owned(),
        ));
    }
    Ok(Levels::Given(levels))
}

fn log(args: &Play) -> Result<Log, Failure> {
    let Some(path) = &args.log else {
        return Ok(Log::none());
    };
    Ok(Log::to(BufWriter::new(outputs::followed(path)?)))
}
