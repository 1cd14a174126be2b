//! Runs one of the two pipelines, round after round.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::Options;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::Recording;
use flowpipe_terminal::{counted, was};

use crate::args::Global;
use crate::compare::collect::{Collected, Collector, KeptMessages};
use crate::compare::comparison::{PipelineSummary, RepeatedFailure};
use crate::compare::frame::{Frames, MessageSources, StageFailure, frames};
use crate::compare::messages::compared_metrics::compare;
use crate::compare::messages::joined::{EmittedMessages, join};
use crate::compare::offline::{Offline, manifest, offline};
use crate::compare::pair::pairs;
use crate::compare::times::WorkSamples;
use crate::console::Console;
use crate::exit::Failure;
use crate::foreground::{self, Attached, CompletedRun};
use crate::visibility::Visibility;
use crate::{processes, signals};

/// The results of a round that are compared.
pub trait Results: Default {
    /// The messages that they are made of.
    const KEPT: KeptMessages;

    /// The results, and the failures that belong to none of them.
    ///
    /// # Errors
    /// When there are too many.
    fn new(
        collected: Collected,
        sources: &MessageSources,
    ) -> Result<(Self, Vec<Arc<StageFailure>>), String>;

    /// How many results of a later round are others.
    fn differences(&self, later: &Self) -> usize;
}

impl Results for Frames {
    const KEPT: KeptMessages = KeptMessages::OfBoards;

    fn new(
        collected: Collected,
        sources: &MessageSources,
    ) -> Result<(Self, Vec<Arc<StageFailure>>), String> {
        let (frames, mut failures) = frames(&collected, sources);
        let without_board = frames.values().filter(|frame| frame.board().is_none());
        failures.extend(without_board.flat_map(|frame| frame.failures.iter().cloned()));
        Ok((frames, failures))
    }

    fn differences(&self, later: &Self) -> usize {
        let pairs = pairs(self, later);
        let different = pairs.iter().filter(|it| !it.differences.is_empty());
        different.count()
    }
}

impl Results for EmittedMessages {
    const KEPT: KeptMessages = KeptMessages::All;

    fn new(
        collected: Collected,
        sources: &MessageSources,
    ) -> Result<(Self, Vec<Arc<StageFailure>>), String> {
        let failures = collected.problems.into_iter().map(|it| it.failed);
        Ok((Self::new(collected.log, sources)?, failures.collect()))
    }

    fn differences(&self, later: &Self) -> usize {
        let metrics = compare(&self.metrics, &later.metrics);
        let counters = metrics.iter().filter(|row| row.differs).count();
        join(self, later).deciding() + counters
    }
}

/// One of the two pipelines, and the results of its rounds.
pub struct Runner<R> {
    file: String,
    offline: Offline,
    sources: MessageSources,
    /// The results of the first round.
    pub results: R,
    /// The failures that belong to no result.
    failures: Vec<RepeatedFailure>,
    /// The times by stage, over all rounds.
    times: Vec<Vec<u64>>,
    unsteady: usize,
    seconds: Vec<f64>,
}

impl<R: Results> Runner<R> {
    /// A pipeline that has not run on the recording yet.
    ///
    /// # Errors
    /// When it can't.
    pub fn new(
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
            results: R::default(),
            failures: Vec::new(),
            unsteady: 0,
            seconds: Vec::new(),
        })
    }

    /// Whether a stage of that name plays the recording.
    pub fn is_source(&self, name: &str) -> bool {
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

    /// The pipeline, and the times of its stages.
    pub fn samples(&self) -> WorkSamples<'_> {
        (&self.offline.pipeline, &self.times)
    }

    /// Runs it once. Returns whether a signal ended it.
    ///
    /// # Errors
    /// When it can't start, or emits too much.
    pub fn round(&mut self, global: &Global, catalogue: &Catalogue) -> Result<bool, Failure> {
        let pipeline = self.offline.pipeline.clone();
        let visibility = Visibility::of(&pipeline, &pipeline, catalogue);
        let is_kept = match R::KEPT {
            KeptMessages::OfBoards => visibility.is_shown.clone(),
            // The recorded messages are those of both.
            KeptMessages::All => self.offline.played.iter().map(Option::is_none).collect(),
        };
        let collector = Arc::new(Collector::new(R::KEPT, is_kept));
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
        } = foreground::run(
            pipeline,
            catalogue,
            options,
            &events,
            console,
            Attached::default(),
        )?;
        printed?;
        if interrupted {
            return Ok(true);
        }
        signals::at_once();
        let mut collected = collector.take();
        for (all, new) in self.times.iter_mut().zip(&mut collected.times) {
            all.append(new);
        }
        let (results, mut failures) = R::new(collected, &self.sources)
            .map_err(|why| Failure::Run(format!("{}: {why}", self.file)))?;
        failures.extend(run_failures(&report).into_iter().map(Arc::new));
        self.add_failures(failures.iter().map(|it| &**it));
        if self.seconds.is_empty() {
            self.results = results;
        } else {
            let different = self.results.differences(&results);
            self.unsteady = self.unsteady.max(different);
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
                None => {
                    let mut stages = self.sources.pipeline.stages.iter();
                    let stage = stages.find(|stage| stage.name == failed.stage);
                    self.failures.push(RepeatedFailure {
                        failed: failed.clone(),
                        times,
                        is_of_race: stage.is_some_and(|stage| stage.contestants.len() > 1),
                    });
                }
            }
        }
    }

    /// What is reported of it.
    pub fn summary(&self) -> PipelineSummary {
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
