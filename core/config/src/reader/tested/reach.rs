//! The stages that a test runs: those on the way from where messages enter to where they are expected.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::Tested;
use crate::manifest::Manifest;
use crate::manifest::effects::{Effect, EffectKind};
use crate::reader::error::Findings;
use crate::reader::pipeline_test::{TestConfig, TestInput, TestOutput};
use crate::reader::problem::Problem;
use crate::reader::source::Span;
use crate::reader::written::test::{Allowed, WrittenTest};

impl Tested<'_> {
    /// The stages that run, each with the span of what it runs for. Messages do not pass an output at which they are
    /// expected, unless another output needs them: so a loop ends there.
    pub(super) fn reached(
        &self,
        test: &WrittenTest<'_, '_>,
        (inputs, outputs): (&[TestInput], &[TestOutput]),
        without: &BTreeSet<usize>,
        findings: &mut Findings,
    ) -> BTreeMap<usize, Span> {
        let starts = inputs.iter().map(|input| input.to.stage);
        let starts: BTreeSet<_> = starts.filter(|it| !without.contains(it)).collect();
        let mut running = BTreeMap::new();
        for (output, written) in outputs.iter().zip(&test.outputs) {
            let span = written
                .from
                .as_ref()
                .map_or_else(|| written.span.clone(), Spanned::span);
            let is_open = |from: crate::pipeline::PortRef| {
                from.stage != output.stage || output.port.is_some_and(|port| port != from.port)
            };
            let runs = |stage| !without.contains(&stage);
            let edges = self.pipeline.edges.iter();
            let edges = edges.filter(|it| is_open(it.from) && runs(it.from.stage));
            let edges = edges.filter(|it| runs(it.to.stage));
            let edges: Vec<_> = edges.map(|edge| (edge.from.stage, edge.to.stage)).collect();
            let forth = closure(&starts, edges.iter().copied());
            let ends = BTreeSet::from([output.stage]);
            let back = closure(&ends, edges.iter().map(|&(from, to)| (to, from)));
            if !forth.contains(&output.stage) {
                let stage = &self.pipeline.stages[output.stage].name;
                let stage = stage.clone();
                findings.report(&span, Problem::NotReached { stage });
                continue;
            }
            for &stage in forth.intersection(&back) {
                running.entry(stage).or_insert_with(|| span.clone());
            }
        }
        running
    }

    /// Reports stages that would act outside of the program.
    pub(super) fn check_effects(
        &self,
        test: &WrittenTest<'_, '_>,
        stages: &BTreeMap<usize, Span>,
        config: &[TestConfig],
        findings: &mut Findings,
    ) {
        let commands = test.allow.contains(&Allowed::RunsCommands);
        for (&index, span) in stages {
            let stage = &self.pipeline.stages[index];
            for (contestant, it) in stage.contestants.iter().enumerate() {
                let Some(manifest) = self.given.plugins.manifest(&it.plugin) else {
                    continue;
                };
                let mut config = config.iter();
                let keys = config.find(|it| it.stage == index && it.contestant == contestant);
                let config = keys.map_or_else(|| it.config.clone(), |keys| keys.over(&it.config));
                let manifest = manifest.with_config(&config);
                let Some(effects) = manifest.effects_with(&config) else {
                    let problem = Problem::UnknownTestEffect {
                        stage: stage.name.clone(),
                        plugin: it.plugin.clone(),
                    };
                    findings.report(span, problem);
                    continue;
                };
                let is_harmless = |effect: &Effect| match effect.kind {
                    // What the user's other runs have left is not of the pipeline.
                    EffectKind::ReadsFiles => {
                        effect.state_file.is_none()
                            || !effect.named_paths(&manifest, &config).is_empty()
                    }
                    EffectKind::RunsCommands => commands,
                    _ => false,
                };
                let Some(effect) = effects.into_iter().find(|it| !is_harmless(it)) else {
                    continue;
                };
                let hint = hint(&stage.name, effect, &manifest);
                let problem = Problem::TestEffect {
                    stage: stage.name.clone(),
                    effect: effect.in_words(&manifest, &config, |_| None),
                    hint,
                };
                findings.report(span, problem);
            }
        }
    }
}

/// What to do about an effect.
fn hint(stage: &str, effect: &Effect, manifest: &Manifest) -> String {
    let key = effect.key.as_ref().filter(|key| {
        let schema = manifest.config.pointer(&format!("/properties/{key}/type"));
        schema.is_some_and(|it| it == "boolean")
    });
    match (key, effect.kind) {
        (Some(key), _) => {
            format!("switch it off in the test: config = {{ {stage} = {{ {key} = false }} }}")
        }
        (None, EffectKind::RunsCommands) => {
            "if the command changes nothing, add allow = [\"runs-commands\"] to the test".to_owned()
        }
        _ => format!("add without = [\"{stage}\"] to the test, and expect what reaches that stage"),
    }
}

/// The stages that edges lead to.
fn closure(
    from: &BTreeSet<usize>,
    edges: impl Iterator<Item = (usize, usize)> + Clone,
) -> BTreeSet<usize> {
    let mut found = from.clone();
    let mut waiting: Vec<_> = from.iter().copied().collect();
    while let Some(stage) = waiting.pop() {
        for (_, to) in edges.clone().filter(|edge| edge.0 == stage) {
            if found.insert(to) {
                waiting.push(to);
            }
        }
    }
    found
}
