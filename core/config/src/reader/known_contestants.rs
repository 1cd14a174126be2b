//! The contestants of a pipeline whose plugins are known: what the checks of several stages together compare.

use super::Surroundings;
use super::given_key::GivenKey;
use super::written::stage::WrittenStage;
use crate::manifest::Manifest;
use crate::pipeline::{Contestant, Pipeline, Stage};

/// A contestant of a stage, with its plugin.
#[derive(Clone, Copy)]
pub(super) struct KnownContestant<'a> {
    /// The index of the stage.
    pub number: usize,
    pub stage: &'a Stage,
    pub contestant: &'a Contestant,
    pub manifest: &'a Manifest,
    written: &'a WrittenStage<'a, 'a>,
    given: Surroundings<'a>,
}

/// All of them, in the order of the stages.
pub(super) fn known_contestants<'a>(
    written: &'a [WrittenStage<'a, 'a>],
    pipeline: &'a Pipeline,
    given: Surroundings<'a>,
) -> impl Iterator<Item = KnownContestant<'a>> {
    let stages = written.iter().zip(&pipeline.stages).enumerate();
    stages.flat_map(move |(number, (written, stage))| {
        stage.contestants.iter().filter_map(move |contestant| {
            Some(KnownContestant {
                number,
                stage,
                contestant,
                manifest: given.plugins.manifest(&contestant.plugin)?,
                written,
                given,
            })
        })
    })
}

impl<'a> KnownContestant<'a> {
    /// The place of a key of its config.
    pub(super) fn key(&self, key: &str) -> GivenKey<'a> {
        GivenKey::of(key, self.written, self.manifest, self.given)
    }
}
