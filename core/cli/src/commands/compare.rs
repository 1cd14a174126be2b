//! `flowpipe compare A.toml B.toml FILE`: two pipelines on the same recording, side by side.

use std::io::Write as _;
use std::path::Path;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::{Limits, Recording};
use serde_json::Value;

use crate::args::{self, Global};
use crate::compare::comparison::Comparison;
use crate::compare::frame::Frames;
use crate::compare::messages::comparison::MessageComparison;
use crate::compare::messages::joined::EmittedMessages;
use crate::compare::messages::text::text as message_text;
use crate::compare::pair::{count, pairs};
use crate::compare::runner::{Results, Runner};
use crate::compare::text::text;
use crate::compare::times::{StageTimes, times};
use crate::exit::{Ended, Failure};
use crate::show::colour;
use crate::visibility;
use crate::{pipeline_file, plugins, recording_file, signals};

pub fn run(global: &Global, args: &args::Compare) -> Result<Ended, Failure> {
    signals::at_once();
    let files = [pipeline_file::find(&args.a)?, pipeline_file::find(&args.b)?];
    let recording = recording_file::open(&args.file, Limits::Strict)?;
    let catalogue = plugins::load_all(global);
    let mut pipelines = Vec::new();
    for file in &files {
        // The errors of both files are shown.
        let read = pipeline_file::read_or_show(file, &catalogue, &[], global)?;
        pipelines.push(read.map(|read| (&**file, read.pipeline)));
    }
    let Some(pipelines) = pipelines.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(Ended::BadConfig);
    };
    let compared = Compared {
        global,
        args,
        catalogue: &catalogue,
    };
    let have_boards = pipelines
        .iter()
        .any(|(_, pipeline)| visibility::has_boards(pipeline, &catalogue));
    let ended = match have_boards {
        true => compared.boards(&pipelines, recording),
        false => compared.messages(&pipelines, recording),
    }?;
    catalogue.close();
    Ok(ended)
}

/// A pipeline and its file.
type Read<'a> = (&'a Path, Pipeline);

/// What both kinds of comparison need.
struct Compared<'a> {
    global: &'a Global,
    args: &'a args::Compare,
    catalogue: &'a Catalogue,
}

impl Compared<'_> {
    /// By board.
    fn boards(&self, pipelines: &[Read<'_>], recording: Recording) -> Result<Ended, Failure> {
        let Some([a, b]) = self.runners::<Frames>(pipelines, recording)? else {
            return Ok(Ended::Interrupted);
        };
        let comparison = Comparison {
            frames: count(&a.results, &b.results),
            boards: pairs(&a.results, &b.results),
            stages: stage_times(&a, &b),
            a: a.summary(),
            b: b.summary(),
            rounds: self.args.repeat,
        };
        self.print(|| comparison.json(), |colours| text(&comparison, colours))?;
        Ok(ended(comparison.differs(), comparison.boards.is_empty()))
    }

    /// Message by message.
    fn messages(&self, pipelines: &[Read<'_>], recording: Recording) -> Result<Ended, Failure> {
        let Some([a, b]) = self.runners::<EmittedMessages>(pipelines, recording)? else {
            return Ok(Ended::Interrupted);
        };
        let comparison = MessageComparison::new(
            [a.summary(), b.summary()],
            [&a.results, &b.results],
            self.args.repeat,
            stage_times(&a, &b),
        );
        self.print(
            || comparison.json(),
            |colours| message_text(&comparison, colours),
        )?;
        Ok(ended(comparison.differs(), comparison.is_empty()))
    }

    /// Runs both pipelines, round after round. `None`: a signal ended it.
    fn runners<R: Results>(
        &self,
        pipelines: &[Read<'_>],
        recording: Recording,
    ) -> Result<Option<[Runner<R>; 2]>, Failure> {
        let runner = |(file, pipeline): &Read<'_>| {
            Runner::new(file, pipeline, &recording, &self.args.file, self.catalogue)
        };
        let [a, b] = pipelines else {
            return Err(Failure::Run("there are two pipelines".to_owned()));
        };
        let mut runners = [runner(a)?, runner(b)?];
        // The stages that play it read its pixels.
        drop(recording);
        for round in 0..self.args.repeat {
            // Interleaved: the first run of a round has a colder cache.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for index in order {
                if runners[index].round(self.global, self.catalogue)? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(runners))
    }

    fn print(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce(bool) -> String,
    ) -> Result<(), Failure> {
        let mut stdout = flowpipe_terminal::stdout();
        if self.args.json {
            writeln!(stdout, "{}", json())?;
        } else {
            write!(stdout, "{}", text(colour::on_stdout(self.global)))?;
        }
        Ok(())
    }
}

fn ended(differs: bool, is_empty: bool) -> Ended {
    if differs {
        Ended::Differs
    } else if is_empty {
        Ended::Unanswered
    } else {
        Ended::Done
    }
}

fn stage_times<R: Results>(a: &Runner<R>, b: &Runner<R>) -> Vec<StageTimes> {
    let is_source = |name: &str| a.is_source(name) || b.is_source(name);
    times(a.samples(), b.samples(), is_source)
}
