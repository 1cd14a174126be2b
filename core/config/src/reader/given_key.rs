//! Where a config key of a stage was given.

use super::Surroundings;
use super::error::Findings;
use super::json::Place;
use super::problem::Problem;
use super::setting;
use super::source::Span;
use super::written::stage::{WrittenPlugins, WrittenStage};
use crate::manifest::Manifest;

/// A config key of a plugin in a stage.
pub(super) struct GivenKey<'a> {
    /// Its value in the file, else what is nearest to it.
    pub span: Span,
    /// How it was given besides the file.
    pub flag: Option<&'a str>,
}

impl<'a> GivenKey<'a> {
    pub(super) fn of(
        key: &str,
        written: &WrittenStage<'_, '_>,
        manifest: &Manifest,
        given: Surroundings<'a>,
    ) -> Self {
        let settings = setting::of_plugin(given.settings, written, manifest);
        let mut settings = settings.iter().rev();
        let setting = settings.find(|it| *it.keys == [key]);
        Self {
            span: span(key, written, manifest),
            flag: setting.map(|it| it.setting.flag.as_str()),
        }
    }

    /// Reports a problem with its value, which concerns that of another key too. `label`: what that one is.
    pub(super) fn report_beside(
        &self,
        other: &Self,
        label: &str,
        problem: Problem,
        findings: &mut Findings,
    ) {
        match self.flag.or(other.flag) {
            Some(flag) => findings.report_setting(flag, problem),
            None => {
                let related = (other.span.clone(), label.to_owned());
                findings.report_with(&self.span, problem, [related]);
            }
        }
    }

    /// Reports a problem with its value.
    pub(super) fn report(&self, problem: Problem, findings: &mut Findings) {
        match self.flag {
            Some(flag) => findings.report_setting(flag, problem),
            None => findings.report(&self.span, problem),
        }
    }
}

/// Where the file gives the value of a key, else its config, else where it names the stage.
fn span(key: &str, written: &WrittenStage<'_, '_>, manifest: &Manifest) -> Span {
    let is_race = matches!(&written.plugin, Some(WrittenPlugins { race: true, .. }));
    let Some(config) = written.config else {
        return written.name.span();
    };
    let config = Place::of(config);
    match is_race {
        true => config.step(&manifest.name).step(key).span,
        false => config.step(key).span,
    }
}
