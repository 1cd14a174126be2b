//! `flowpipe compare A.toml B.toml FILE`: two pipelines on the same recording, side by side.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::Options;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::{Limits, Recording};
use flowpipe_terminal::{counted, was};

use crate::args::{self, Global};
use crate::compare::collect::Collector;
use crate::compare::comparison::{Comparison, PipelineSummary, RepeatedFailure};
use crate::compare::frame::{Frames, MessageSources, StageFailure, frames};
use crate::compare::offline::{Offline, manifest, offline};
use crate::compare::pair::{count, pairs};
use crate::compare::text::text;
use crate::compare::times::times;
use crate::console::Console;
use crate::exit::{Ended, Failure};
use crate::foreground::{self, CompletedRun};
use crate::show::colour;
use crate::visibility::Visibility;
use crate::{pipeline_file, plugins, processes, recording_file, signals};

pub fn run(global: &Global, args: &args::Compare) -> Result<Ended, Failure> {
    signals::at_once();
    let files = [pipeline_file::find(&args.a)?, pipeline_file::find(&args.b)?];
    let recording = recording_file::open(&args.file, Limits::Strict)?;
    let catalogue = plugins::load_all(global);
    let mut pipelines = Vec::new();
    for file in &files {
        // The errors of both files are shown.
        let read = pipeline_file::read_or_show(file, &catalogue, &[], global)?;
        pipelines.push(read.map(|read| (file, read.pipeline)));
    }
    let Some(pipelines) = pipelines.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(Ended::BadConfig);
    };
    let mut runners = Vec::new();
    for (file, pipeline) in &pipelines {
        let runner = Runner::new(file, pipeline, &recording, &args.file, &catalogue)?;
        runners.push(runner);
    }
    // The stages that play it read its pixels.
    drop(recording);
    for round in 0..args.repeat {
        // Interleaved: the first run of a round has a colder cache.
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
    let comparison = comparison(a, b, args.repeat);
    let mut stdout = flowpipe_terminal::stdout();
    if args.json {
        writeln!(stdout, "{}", comparison.json())?;
    } else {
        write!(stdout, "{}", text(&comparison, colour::on_stdout(global)))?;
    }
    catalogue.close();
    Ok(if comparison.differs() {
        Ended::Differs
    } else if comparison.boards.is_empty() {
        Ended::Unanswered
    } else {
        Ended::Done
    })
}

fn comparison(a: &Runner, b: &Runner, rounds: u32) -> Comparison {
    let is_source = |name: &str| a.is_source(name) || b.is_source(name);
    Comparison {
        frames: count(&a.frames, &b.frames),
        boards: pairs(&a.frames, &b.frames),
        stages: times(
            (&a.offline.pipeline, &a.times),
            (&b.offline.pipeline, &b.times),
            is_source,
        ),
        a: a.summary(),
        b: b.summary(),
        rounds,
    }
}

/// One of the two pipelines, and the results of its rounds.
struct Runner {
    file: String,
    offline: Offline,
    sources: MessageSources,
    /// The frames of the first round.
    frames: Frames,
    /// The failures outside of frames with a board.
    failures: Vec<RepeatedFailure>,
    /// The times by stage, over all rounds.
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
        let offline = offline(pipeline, recording, recorded, catalogue)
            .map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
        let manifests = offline.pipeline.stages.iter();
        let manifests = manifests.map(|stage| manifest(stage, catalogue));
        Ok(Self {
            file: shown,
            sources: MessageSources {
                pipeline: offline.pipeline.clone(),
                manifests: manifests.collect(),
                played: offline.played.clone(),
            },
            times: vec![Vec::new(); offline.pipeline.stages.len()],
            offline,
            frames: Frames::new(),
            failures: Vec::new(),
            unsteady: 0,
            seconds: Vec::new(),
        })
    }

    fn is_source(&self, name: &str) -> bool {
        let stages = self
            .offline
            .pipeline
            .stages
            .iter()
            .zip(&self.offline.played);
        stages
            .into_iter()
            .any(|(stage, played)| stage.name == name && played.is_some())
    }

    /// Runs it once. Returns whether a signal ended it.
    fn round(&mut self, global: &Global, catalogue: &Catalogue) -> Result<bool, Failure> {
        let pipeline = self.offline.pipeline.clone();
        let visibility = Visibility::of(&pipeline, catalogue);
        let collector = Arc::new(Collector::new(visibility.is_shown.clone()));
        let options = Options {
            observers: vec![collector.clone()],
            // Also for stages that declare no effects.
            dry: true,
            program: processes::program(),
            ..Options::default()
        };
        // Only the progress line is shown. The sender is kept: without one the channel disconnects.
        let (_sender, events) = crossbeam_channel::unbounded();
        let console = Console::new(global, true, true, visibility)?;
        let CompletedRun {
            report,
            interrupted,
            printed,
            ..
        } = foreground::run(pipeline, catalogue, options, &events, console, None)?;
        printed?;
        if interrupted {
            return Ok(true);
        }
        signals::at_once();
        let mut collected = collector.take();
        for (all, new) in self.times.iter_mut().zip(&mut collected.times) {
            all.append(new);
        }
        let (frames, unassigned) = frames(&collected, &self.sources);
        drop(collected);
        let of_the_run = run_failures(&report);
        let without_board = frames.values().filter(|frame| frame.board().is_none());
        let of_frames = without_board.flat_map(|frame| &frame.failures);
        let failures = unassigned.iter().map(|it| &**it).chain(&of_the_run);
        self.add_failures(failures.chain(of_frames.map(|it| &**it)));
        if self.seconds.is_empty() {
            self.frames = frames;
        } else {
            let pairs = pairs(&self.frames, &frames);
            let different = pairs.iter().filter(|it| !it.differences.is_empty());
            self.unsteady = self.unsteady.max(different.count());
        }
        self.seconds.push(report.seconds);
        Ok(false)
    }

    /// Adds the failures of a round: each once, with its count.
    fn add_failures<'a>(&mut self, failures: impl Iterator<Item = &'a StageFailure>) {
        let mut counts: Vec<(&StageFailure, usize)> = Vec::new();
        let mut places = HashMap::new();
        for failed in failures {
            // Mostly, successive ones are equal.
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
        let known: HashMap<StageFailure, usize> = known
            .map(|(place, it)| (it.failed.clone(), place))
            .collect();
        for (failed, times) in counts {
            match known.get(failed) {
                Some(&place) => {
                    let before = &mut self.failures[place].times;
                    *before = times.max(*before);
                }
                None => self.failures.push(RepeatedFailure {
                    failed: failed.clone(),
                    times,
                }),
            }
        }
    }

    fn summary(&self) -> PipelineSummary {
        PipelineSummary {
            file: self.file.clone(),
            name: self.offline.pipeline.name.clone(),
            changes: self.offline.changes.clone(),
            failures: self.failures.clone(),
            unsteady: self.unsteady,
            seconds: self.seconds.clone(),
        }
    }
}

/// The failures of a whole run. A dropped message is one too.
fn run_failures(report: &Report) -> Vec<StageFailure> {
    let dropped = report.edges.iter().filter(|edge| edge.dropped > 0);
    let mut failures: Vec<StageFailure> = dropped
        .map(|edge| StageFailure {
            stage: edge.from.clone(),
            text: {
                let (messages, were) = (counted(edge.dropped, "message"), was(edge.dropped));
                format!("{messages} to {} {were} dropped", edge.to)
            },
        })
        .collect();
    failures.extend(report.failure.as_ref().map(|failure| StageFailure {
        stage: failure.stage.clone(),
        text: failure.text.clone(),
    }));
    failures
}
