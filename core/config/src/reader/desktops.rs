//! Reports a stage that drives the mouse on another desktop than a stage captures that it gets its messages from: no place
//! of the one is a place of the other.

use serde_json::Value;

use super::Surroundings;
use super::error::Findings;
use super::given_key::GivenKey;
use super::problem::Problem;
use super::written::stage::WrittenStage;
use crate::manifest::effects::{EffectKind, HasEffect};
use crate::pipeline::{Contestant, Pipeline};

/// The config key of plugins that capture a desktop, or drive its mouse.
const DESKTOP: &str = "desktop";

/// A desktop that is chosen in a stage.
struct Chosen<'a> {
    stage: &'a str,
    desktop: &'a str,
    key: GivenKey<'a>,
}

/// Reports each stage that drives the mouse elsewhere. A stage that does not choose its desktop uses that of the session,
/// which may be any.
pub(super) fn check(
    written: &[WrittenStage<'_, '_>],
    pipeline: &Pipeline,
    given: Surroundings<'_>,
    findings: &mut Findings,
) {
    for number in 0..pipeline.stages.len() {
        let mice = chosen(number, EffectKind::DrivesMouse, written, pipeline, given);
        for mouse in mice {
            let upstream = pipeline.upstream(number).into_iter();
            let mut captured = upstream
                .flat_map(|stage| chosen(stage, EffectKind::ReadsScreen, written, pipeline, given));
            if let Some(other) = captured.find(|it| it.desktop != mouse.desktop) {
                report(&mouse, &other, findings);
            }
        }
    }
}

/// The desktops that the plugins of a stage choose that have an effect.
fn chosen<'a>(
    number: usize,
    effect: EffectKind,
    written: &'a [WrittenStage<'_, '_>],
    pipeline: &'a Pipeline,
    given: Surroundings<'a>,
) -> Vec<Chosen<'a>> {
    let (Some(written), Some(stage)) = (written.get(number), pipeline.stages.get(number)) else {
        return Vec::new();
    };
    let of = |contestant: &'a Contestant| {
        let manifest = given.plugins.manifest(&contestant.plugin)?;
        let config = &contestant.config;
        let has_effect = manifest.with_config(config).has_effect(&[effect], config);
        if has_effect != HasEffect::Yes {
            return None;
        }
        let desktop = manifest.value(config, DESKTOP)?;
        // Without a choice, it is the default: the desktop of the session.
        let is_default = manifest.value(&Value::Null, DESKTOP) == Some(desktop);
        Some(Chosen {
            stage: &stage.name,
            desktop: desktop.as_str().filter(|_| !is_default)?,
            key: GivenKey::of(DESKTOP, written, manifest, given),
        })
    };
    stage.contestants.iter().filter_map(of).collect()
}

fn report(mouse: &Chosen<'_>, other: &Chosen<'_>, findings: &mut Findings) {
    let problem = Problem::OtherDesktop {
        stage: mouse.stage.to_owned(),
        desktop: mouse.desktop.to_owned(),
        other: other.stage.to_owned(),
        captured: other.desktop.to_owned(),
    };
    let label = "what is captured";
    mouse
        .key
        .report_beside(&other.key, label, problem, findings);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{FakePlugins, plugins};
    use super::super::{Setting, Target, read_with};
    use crate::manifest::Manifest;

    /// The plugins, with two that have the key.
    fn known() -> FakePlugins {
        let plugin = |name: &str, effect: &str, [port, schema]: [&str; 2]| -> Manifest {
            let words = ["auto", "x11", "wlroots"];
            let manifest = json!({
                "name": name, "role": "stage", "doc": "", "effects": [{ "effect": effect }],
                "inputs": [], "outputs": [],
                "config": {
                    "type": "object",
                    "properties": { "desktop": { "enum": words, "default": "auto" } },
                },
            });
            let mut manifest = manifest;
            manifest[port] = json!([{ "name": "port", "schema": schema }]);
            serde_json::from_value(manifest).unwrap()
        };
        plugins()
            .with(plugin("seer", "reads-screen", ["outputs", "frame/1"]))
            .with(plugin("driver", "drives-mouse", ["inputs", "frame/1"]))
    }

    fn errors(screen: &str, mouse: &str, settings: &[Setting]) -> Vec<String> {
        let text = format!(
            "[stages.screen]\nplugin = \"seer\"\nconfig = {{ {screen} }}\n[stages.echo]\nplugin = \"echo\"\n\
             from = \"screen\"\n[stages.mouse]\nplugin = \"driver\"\nfrom = \"echo\"\nconfig = {{ {mouse} }}\n"
        );
        let read = read_with("dir/x.toml", &text, &known(), settings);
        let errors = read.err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn another_desktop_than_the_captured_one_is_reported_where_it_is_chosen() {
        let (x11, wlroots) = ("desktop = \"x11\"", "desktop = \"wlroots\"");
        assert_eq!(
            errors(x11, wlroots, &[]),
            [
                "dir/x.toml:10:22: `mouse` drives the mouse of the desktop \"wlroots\", and `screen` captures \"x11\": what is \
                 seen is not where the mouse is"
            ]
        );
        for (screen, mouse) in [
            (x11, x11),
            ("", wlroots),
            (x11, "desktop = \"auto\""),
            ("", ""),
        ] {
            assert_eq!(errors(screen, mouse, &[]), [""; 0], "{screen} {mouse}");
        }
    }

    #[test]
    fn a_setting_that_chooses_it_is_named() {
        let setting = Setting {
            flag: "--set driver.desktop=x11".to_owned(),
            target: Target::Stage("driver".to_owned()),
            keys: vec!["desktop".to_owned()],
            value: json!("x11"),
        };
        let wlroots = "desktop = \"wlroots\"";
        let found = errors(wlroots, wlroots, std::slice::from_ref(&setting));
        let [error] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(
            error.starts_with("--set driver.desktop=x11: `mouse` drives"),
            "{error}"
        );
        assert_eq!(errors("desktop = \"x11\"", wlroots, &[setting]), [""; 0]);
    }
}
