//! `flowpipe compare A.toml B.toml FILE`: two pipelines on the same recording, side by side.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use flowpipe_recording::{Limits, Recording};
use flowpipe_runtime::pipeline::Pipeline;
use flowpipe_runtime::plugin::catalogue::Catalogue;
use flowpipe_runtime::report::Report;
use flowpipe_runtime::run::Options;

use crate::args::{self, Global};
use crate::cast::Cast;
use crate::commands::run::{Watched, watch};
use crate::compare::frame::{Failed, Frames, Speakers, frames};
use crate::compare::gather::Gather;
use crate::compare::onto::{Onto, manifest, onto};
use crate::compare::outcome::{Entrant, Outcome, Repeated};
use crate::compare::pair::{count, pairs};
use crate::compare::text::text;
use crate::compare::times::times;
use crate::exit::{Ended, Failure};
use crate::show::colour;
use crate::show::screen::Screen;
use crate::{apart, checks, pipeline_file, plugins, recording_file, signals};

pub fn run(global: &Global, args: &args::Compare) -> Result<Ended, Failure> {
    signals::at_once();
    let recording = recording_file::open(&args.file, Limits::Strict)?;
    let catalogue = plugins::load(global);
    let mut runners = Vec::new();
    for file in [&args.a, &args.b] {
        // The errors of both are told.
        let written = pipeline_file::read_or_show(file, &catalogue, global)?;
        runners.push(written.map(|written| (file, written.pipeline)));
    }
    let Some(pipelines) = runners.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(Ended::BadConfig);
    };
    let mut runners = Vec::new();
    for (file, pipeline) in &pipelines {
        let runner = Runner::new(file, pipeline, &recording, &args.file, &catalogue)?;
        runners.push(runner);
    }
    // Its pixels are read by whoever plays it.
    drop(recording);
    for round in 0..args.repeat {
        // Whoever is first finds the processor colder.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for index in order {
            if runners[index].round(global, &catalogue)? {
                return Ok(Ended::Interrupted);
            }
        }
    }
    let [a, b] = runners.as_slice() else {
        return Err(Failure::Run("there are two pipelines".to_owned()));
    };
    let outcome = outcome(a, b, args.repeat);
    let mut stdout = flowpipe_terminal::stdout();
    if args.json {
        writeln!(stdout, "{}", outcome.json())?;
    } else {
        write!(stdout, "{}", text(&outcome, colour::on_stdout(global)))?;
    }
    catalogue.close();
    Ok(if outcome.differs() {
        Ended::Differs
    } else if outcome.boards.is_empty() {
        Ended::Unanswered
    } else {
        Ended::Done
    })
}

fn outcome(a: &Runner, b: &Runner, rounds: u32) -> Outcome {
    let is_source = |name: &str| a.is_source(name) || b.is_source(name);
    Outcome {
        frames: count(&a.frames, &b.frames),
        boards: pairs(&a.frames, &b.frames),
        stages: times(
            (&a.onto.pipeline, &a.times),
            (&b.onto.pipeline, &b.times),
            is_source,
        ),
        a: a.entrant(),
        b: b.entrant(),
        rounds,
    }
}

/// One of the two pipelines, and what it has said.
struct Runner {
    file: String,
    onto: Onto,
    speakers: Speakers,
    /// What it said in the first round.
    frames: Frames,
    /// What failed, on no frame with a board.
    failures: Vec<Repeated>,
    /// By stage, over all rounds.
    times: Vec<Vec<u64>>,
    unsteady: usize,
    seconds: Vec<f64>,
}

impl Runner {
    fn new(
        file: &Path,
        pipeline: &Pipeline,
        recording: &Recording,
        recorded: &Path,
        catalogue: &Catalogue,
    ) -> Result<Self, Failure> {
        let shown = file.display().to_string();
        let onto = onto(pipeline, recording, recorded, catalogue)
            .map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
        let manifests = onto.pipeline.stages.iter();
        let manifests = manifests.map(|stage| manifest(stage, catalogue));
        Ok(Self {
            file: shown,
            speakers: Speakers {
                pipeline: onto.pipeline.clone(),
                manifests: manifests.collect(),
                played: onto.played.clone(),
            },
            times: vec![Vec::new(); onto.pipeline.stages.len()],
            onto,
            frames: Frames::new(),
            failures: Vec::new(),
            unsteady: 0,
            seconds: Vec::new(),
        })
    }

    fn is_source(&self, name: &str) -> bool {
        let stages = self.onto.pipeline.stages.iter().zip(&self.onto.played);
        stages
            .into_iter()
            .any(|(stage, played)| stage.name == name && played.is_some())
    }

    /// Runs it once. Returns whether a signal ended it.
    fn round(&mut self, global: &Global, catalogue: &Catalogue) -> Result<bool, Failure> {
        let pipeline = self.onto.pipeline.clone();
        let cast = Cast::of(&pipeline, catalogue);
        let gather = Arc::new(Gather::new(cast.speaks.clone()));
        let options = Options {
            validators: checks::validators(),
            observers: vec![gather.clone()],
            // What says that it acts on nothing is told so all the same.
            dry: true,
            program: apart::program(),
            ..Options::default()
        };
        // Nothing is shown but that it goes on. The sender is kept: without one there is nothing to wait for.
        let (_sender, happenings) = crossbeam_channel::unbounded();
        let screen = Screen::new(global, true, cast);
        let Watched {
            report,
            interrupted,
            followed,
            ..
        } = watch(pipeline, catalogue, options, &happenings, screen, None)?;
        followed?;
        if interrupted {
            return Ok(true);
        }
        signals::at_once();
        let mut gathered = gather.take();
        for (all, new) in self.times.iter_mut().zip(&mut gathered.times) {
            all.append(new);
        }
        let (frames, of_none) = frames(&gathered, &self.speakers);
        drop(gathered);
        let of_the_run = of_the_run(&report);
        let without_board = frames.values().filter(|frame| frame.board().is_none());
        let of_frames = without_board.flat_map(|frame| &frame.failures);
        let failures = of_none.iter().map(|it| &**it).chain(&of_the_run);
        self.note_failures(failures.chain(of_frames.map(|it| &**it)));
        if self.seconds.is_empty() {
            self.frames = frames;
        } else {
            let otherwise = pairs(&self.frames, &frames);
            let otherwise = otherwise.iter().filter(|it| !it.differences.is_empty());
            self.unsteady = self.unsteady.max(otherwise.count());
        }
        self.seconds.push(report.seconds);
        Ok(false)
    }

    /// What failed in a round: each once, with how often.
    fn note_failures<'a>(&mut self, failures: impl Iterator<Item = &'a Failed>) {
        let mut counts: Vec<(&Failed, usize)> = Vec::new();
        let mut places = HashMap::new();
        for failed in failures {
            // One after the other says the same, mostly.
            if let Some((last, times)) = counts.last_mut()
                && *last == failed
            {
                *times += 1;
                continue;
            }
            let place = *places.entry(failed).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, times)) => *times += 1,
                None => counts.push((failed, 1)),
            }
        }
        let known = self.failures.iter().enumerate();
        let known: HashMap<Failed, usize> = known
            .map(|(place, it)| (it.failed.clone(), place))
            .collect();
        for (failed, times) in counts {
            match known.get(failed) {
                Some(&place) => {
                    let before = &mut self.failures[place].times;
                    *before = times.max(*before);
                }
                None => self.failures.push(Repeated {
                    failed: failed.clone(),
                    times,
                }),
            }
        }
    }

    fn entrant(&self) -> Entrant {
        Entrant {
            file: self.file.clone(),
            name: self.onto.pipeline.name.clone(),
            changes: self.onto.changes.clone(),
            failures: self.failures.clone(),
            unsteady: self.unsteady,
            seconds: self.seconds.clone(),
        }
    }
}

/// What a run failed with as a whole: queues are to drop nothing.
fn of_the_run(report: &Report) -> Vec<Failed> {
    let dropped = report.edges.iter().filter(|edge| edge.dropped > 0);
    let mut failures: Vec<Failed> = dropped
        .map(|edge| Failed {
            stage: edge.from.clone(),
            text: format!("{} messages to {} were dropped", edge.dropped, edge.to),
        })
        .collect();
    failures.extend(report.failure.as_ref().map(|failure| Failed {
        stage: failure.stage.clone(),
        text: failure.text.clone(),
    }));
    failures
}
