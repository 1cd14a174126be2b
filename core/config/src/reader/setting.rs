//! Config values from outside of the file, such as the command line. They are checked like those of the file; their
//! errors name where they were given.

use serde_json::{Map, Value};

use super::error::Findings;
use super::problem::Problem;
use super::suggest;
use super::written::stage::{WrittenPlugins, WrittenStage};
use crate::manifest::Manifest;

/// A config value that is set besides the file, or instead of the file's.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// How it was given, for messages: `--set screen.fps=x`.
    pub flag: String,
    /// Which stages it concerns.
    pub target: Target,
    /// The path of its key: several keys lead into tables. Never empty.
    pub keys: Vec<String>,
    /// The value.
    pub value: Value,
}

/// The stages that a [`Setting`] concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The stage of this name. Where plugins race, the first key names the plugin. Where no stage has this name: as
    /// [`Target::Plugin`].
    Stage(String),
    /// The plugin of this name, in every stage that has it. Messages of a plugin name it so: it does not know its stage.
    Plugin(String),
    /// Every stage whose plugin has a config key of that name.
    EveryWithKey,
}

/// A setting that concerns one plugin, with the path of its key in the plugin's config.
#[derive(Clone, Copy)]
pub(super) struct PluginSetting<'a> {
    pub setting: &'a Setting,
    pub keys: &'a [String],
}

/// The settings, with a plugin as the target where no stage has the name that was given, and some stage has a plugin of
/// that name.
pub(super) fn with_plugins(settings: &[Setting], stages: &[WrittenStage<'_, '_>]) -> Vec<Setting> {
    let has_plugin = |stage: &WrittenStage<'_, '_>, name: &String| {
        let mut names = stage.plugin.iter().flat_map(|it| &it.names);
        names.any(|it| it.get_ref() == name)
    };
    let resolved = |setting: &Setting| {
        let mut setting = setting.clone();
        if let Target::Stage(name) = &setting.target
            && !stages.iter().any(|it| it.name.get_ref() == name)
            && stages.iter().any(|it| has_plugin(it, name))
        {
            setting.target = Target::Plugin(name.clone());
        }
        setting
    };
    settings.iter().map(resolved).collect()
}

/// Reports the settings that concern no stage and no plugin.
pub(super) fn report_unused(
    settings: &[Setting],
    stages: &[WrittenStage<'_, '_>],
    manifests: &[(&str, &Manifest)],
    findings: &mut Findings,
) {
    for setting in settings {
        let problem = match &setting.target {
            Target::Stage(name) => match stages.iter().find(|it| it.name.get_ref() == name) {
                None => {
                    let names: Vec<_> = stages.iter().map(|it| it.name.get_ref()).collect();
                    let hint = suggest::help(name, "stages", &names);
                    let name = name.clone();
                    Some(Problem::NoSuchStage { name, hint })
                }
                Some(stage) => not_in_race(setting, stage),
            },
            Target::Plugin(_) => None,
            // A plugin that is unknown may have the key.
            Target::EveryWithKey if !findings.is_empty() => None,
            Target::EveryWithKey => no_such_key(setting, manifests),
        };
        if let Some(problem) = problem {
            findings.report_setting(&setting.flag, problem);
        }
    }
}

/// The settings of one plugin of a stage.
pub(super) fn of_plugin<'a>(
    settings: &'a [Setting],
    stage: &WrittenStage<'_, '_>,
    manifest: &Manifest,
) -> Vec<PluginSetting<'a>> {
    let races = stage.plugin.as_ref().is_some_and(|plugins| plugins.race);
    let of = |setting: &'a Setting| {
        let keys = setting.keys.as_slice();
        let keys = match &setting.target {
            Target::Stage(name) if name != stage.name.get_ref() => return None,
            Target::Stage(_) if races => match keys.split_first() {
                Some((plugin, keys)) if *plugin == manifest.name => keys,
                _ => return None,
            },
            Target::Stage(_) => keys,
            Target::Plugin(name) if *name != manifest.name => return None,
            Target::Plugin(_) => keys,
            Target::EveryWithKey => match keys.first() {
                Some(key) if manifest.has_key(key) => keys,
                _ => return None,
            },
        };
        (!keys.is_empty()).then_some(PluginSetting { setting, keys })
    };
    settings.iter().filter_map(of).collect()
}

impl PluginSetting<'_> {
    /// Removes the keys that can't be set beside this one from a plugin's config: the setting was meant instead of them.
    pub(super) fn displace(&self, config: &mut Value, manifest: &Manifest) {
        let sets_nothing = self.setting.value == false;
        if let (Value::Object(table), Some(key), false) = (config, self.keys.first(), sets_nothing)
        {
            for excluded in manifest.excluded_by(key) {
                table.remove(excluded);
            }
        }
    }

    /// Sets the value in a plugin's config.
    pub(super) fn apply(&self, config: &mut Value) {
        if let Value::Object(table) = config {
            set(table, self.keys, &self.setting.value);
        }
    }

    /// Whether an error at this path of the config is about the value.
    pub(super) fn causes(&self, path: &[String]) -> bool {
        !path.is_empty() && (path.starts_with(self.keys) || self.keys.starts_with(path))
    }
}

/// Sets a value by the path of its key. What is no table on the way is replaced by one.
fn set(table: &mut Map<String, Value>, keys: &[String], value: &Value) {
    let Some((first, rest)) = keys.split_first() else {
        return;
    };
    let value = match (rest, table.remove(first)) {
        ([], _) => value.clone(),
        (rest, before) => {
            let mut inner = match before {
                Some(Value::Object(inner)) => inner,
                _ => Map::new(),
            };
            set(&mut inner, rest, value);
            Value::Object(inner)
        }
    };
    table.insert(first.clone(), value);
}

/// What is wrong with a setting of a stage in which plugins race, and whose first key names none of them.
fn not_in_race(setting: &Setting, stage: &WrittenStage<'_, '_>) -> Option<Problem> {
    let WrittenPlugins { names, race: true } = stage.plugin.as_ref()? else {
        return None;
    };
    let names: Vec<&String> = names.iter().map(|name| name.get_ref()).collect();
    let (first, rest) = setting.keys.split_first()?;
    let stage = stage.name.get_ref();
    if names.contains(&first) && !rest.is_empty() {
        return None;
    }
    let plugins = suggest::list(&names);
    let example = names.first().map_or("PLUGIN", |name| name.as_str());
    Some(Problem::Missing {
        message: format!("the plugins of stage `{stage}` race: name the one to set: {plugins}"),
        hint: Some(format!("write --set {stage}.{example}.KEY=VALUE")),
    })
}

/// What is wrong with a setting for all stages with its key, if there are none.
fn no_such_key(setting: &Setting, manifests: &[(&str, &Manifest)]) -> Option<Problem> {
    let key = setting.keys.first()?;
    if manifests.iter().any(|(_, it)| it.has_key(key)) {
        return None;
    }
    let of_stage = |(stage, manifest): &(&str, &Manifest)| {
        let keys: Vec<_> = manifest.keys().collect();
        (!keys.is_empty()).then(|| format!("{stage}: {}", suggest::list(&keys)))
    };
    let there: Vec<_> = manifests.iter().filter_map(of_stage).collect();
    let hint = match there.is_empty() {
        true => "no stage has a config".to_owned(),
        false => format!("the config keys of its stages: {}", there.join("; ")),
    };
    let key = key.clone();
    Some(Problem::NoSuchConfigKey { key, hint })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::plugins;
    use super::super::{ConfigError, read_with};
    use super::*;
    use crate::pipeline::Pipeline;

    const FILE: &str = r#"
[stages.frames]
plugin = "capture-files"
config = { paths = ["a.png"], fps = 3 }

[stages.vision]
plugin = "vision-opencv"
from = "frames"

[stages.solver]
plugin = ["solver-search", "solver-varisat"]
from = "vision"
"#;

    fn set(stage: &str, keys: &[&str], value: Value) -> Setting {
        Setting {
            flag: format!("--set {stage}.{}={value}", keys.join(".")),
            target: Target::Stage(stage.to_owned()),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            value,
        }
    }

    fn read(setting: Setting) -> Result<Pipeline, Vec<ConfigError>> {
        read_with("dir/x.toml", FILE, &plugins(), &[setting])
    }

    #[track_caller]
    fn config(setting: Setting, stage: usize, plugin: usize) -> Value {
        let pipeline = read(setting).unwrap();
        pipeline.stages[stage].contestants[plugin].config.clone()
    }

    #[track_caller]
    fn refused(setting: Setting) -> (String, String) {
        let errors = read(setting).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:#?}");
        (errors[0].to_string(), errors[0].help().unwrap_or_default())
    }

    #[test]
    fn a_value_replaces_that_of_the_file() {
        let fps = config(set("frames", &["fps"], json!(7)), 0, 0);
        assert_eq!(fps, json!({ "paths": ["a.png"], "fps": 7 }));
        let most = set("solver", &["solver-varisat", "max_conflicts"], json!(9));
        assert_eq!(config(most.clone(), 2, 1), json!({ "max_conflicts": 9 }));
        assert_eq!(config(most, 2, 0), json!({}));
        let nested = ["solver-search", "restart", "kind"];
        let never = config(set("solver", &nested, json!("never")), 2, 0);
        assert_eq!(never, json!({ "restart": { "kind": "never" } }));
    }

    #[test]
    fn a_key_for_every_stage_that_has_it() {
        let mut fps = set("", &["fps"], json!(5));
        fps.target = Target::EveryWithKey;
        let config = config(fps.clone(), 0, 0);
        assert_eq!(config, json!({ "paths": ["a.png"], "fps": 5 }));
        fps.keys = vec!["window".to_owned()];
        fps.flag = "--window x".to_owned();
        let (error, help) = refused(fps);
        assert_eq!(
            error,
            "--window x: no stage of this pipeline has the config key `window`"
        );
        assert!(
            help.contains("frames: `fps`, `paths`, `repeat`; solver: "),
            "{help}"
        );
    }

    const SCREEN: &str = r#"
[stages.screen]
plugin = "capture-screen"
config = { window = "a" }
"#;

    /// By the schema of the config, which declares it in one direction.
    #[test]
    fn a_value_replaces_those_of_the_file_that_exclude_it() {
        let read =
            |text: &str, settings: &[Setting]| read_with("x.toml", text, &plugins(), settings);
        let config = |text: &str, setting: Setting| {
            let pipeline = read(text, &[setting]).unwrap();
            pipeline.stages[0].contestants[0].config.clone()
        };
        let monitor = set("screen", &["monitor"], json!(2));
        assert_eq!(config(SCREEN, monitor.clone()), json!({ "monitor": 2 }));
        let other = SCREEN.replace("window = \"a\"", "monitor = 1");
        let window = set("screen", &["window"], json!("b"));
        assert_eq!(config(&other, window.clone()), json!({ "window": "b" }));
        // What says no takes nothing away.
        let no_repeat = set("screen", &["repeat"], json!(false));
        let times = SCREEN.replace("window = \"a\"", "times = 2");
        let expected = json!({ "repeat": false, "times": 2 });
        assert_eq!(config(&times, no_repeat), expected);
        let repeat = set("screen", &["repeat"], json!(true));
        assert_eq!(config(&times, repeat), json!({ "repeat": true }));
        // Two settings are not meant instead of each other.
        let errors = read(SCREEN, &[window, monitor]).unwrap_err();
        let errors: Vec<_> = errors.iter().map(ConfigError::to_string).collect();
        let words = "--set screen.monitor=2: `monitor` and `window` can't both be set";
        assert_eq!(errors, [words]);
    }

    /// Messages of a plugin name it so.
    #[test]
    fn the_name_of_a_plugin_stands_for_its_stages() {
        let fps = config(set("capture-files", &["fps"], json!(7)), 0, 0);
        assert_eq!(fps, json!({ "paths": ["a.png"], "fps": 7 }));
        let most = set("solver-varisat", &["max_conflicts"], json!(9));
        assert_eq!(config(most.clone(), 2, 1), json!({ "max_conflicts": 9 }));
        assert_eq!(config(most, 2, 0), json!({}));
        // Every stage of it, but the stage of that name goes first.
        let two = format!(
            "{FILE}\n[stages.more]\nplugin = \"capture-files\"\nconfig.paths = [\"b.png\"]\n"
        );
        let fps_of = |text: &str| {
            let setting = set("capture-files", &["fps"], json!(7));
            let stages = read_with("x.toml", text, &plugins(), &[setting]);
            let stages = stages.unwrap().stages.into_iter();
            let configs = stages.flat_map(|it| it.contestants).map(|it| it.config);
            configs.map(|it| it["fps"].clone()).collect::<Vec<_>>()
        };
        let null = Value::Null;
        assert_eq!(
            fps_of(&two),
            [json!(7), null.clone(), null.clone(), null.clone(), json!(7)]
        );
        let named = two.replace("stages.more", "stages.capture-files");
        assert_eq!(
            fps_of(&named),
            [json!(3), null.clone(), null.clone(), null, json!(7)]
        );
        let (error, help) = refused(set("capture-files", &["fsp"], json!(1)));
        assert!(
            error.starts_with("--set capture-files.fsp=1: unknown key `fsp`"),
            "{error}"
        );
        assert_eq!(help, "did you mean `fps`?");
    }

    #[test]
    fn errors_name_the_flag() {
        let (error, help) = refused(set("frames", &["fps"], json!("x")));
        assert_eq!(
            error,
            "--set frames.fps=\"x\": `fps` must be a number, not \"x\""
        );
        assert!(help.contains("Frames per second."), "{help}");
        let (error, help) = refused(set("frames", &["fsp"], json!(1)));
        assert!(
            error.starts_with("--set frames.fsp=1: unknown key `fsp`"),
            "{error}"
        );
        assert_eq!(help, "did you mean `fps`?");
        let (error, help) = refused(set("frame", &["fps"], json!(1)));
        assert_eq!(
            error,
            "--set frame.fps=1: the pipeline has no stage `frame`"
        );
        assert_eq!(help, "did you mean `frames`?");
        let (error, help) = refused(set("solver", &["max_conflicts"], json!(1)));
        assert!(error.contains("race: name the one to set"), "{error}");
        assert_eq!(help, "write --set solver.solver-search.KEY=VALUE");
        let nested = ["solver-search", "restart", "kind"];
        let (error, _) = refused(set("solver", &nested, json!("soon")));
        assert!(
            error.starts_with("--set solver.solver-search.restart.kind"),
            "{error}"
        );
    }

    /// As the file, or a shell, takes it.
    #[test]
    fn a_value_of_another_type_gets_the_example_of_the_schema() {
        let help_of = |text: &str, settings: &[Setting]| {
            let errors = read_with("x.toml", text, &plugins(), settings).unwrap_err();
            errors[0].help().unwrap_or_default()
        };
        let option = set("screen", &["accept"], json!("a"));
        assert_eq!(
            help_of(SCREEN, &[option]),
            "accept: What is accepted. For example: --set screen.accept='[\"a\", \"b\"]'"
        );
        let file = SCREEN.replace("window = \"a\"", "accept = \"a\"");
        assert_eq!(
            help_of(&file, &[]),
            "accept: What is accepted. For example: accept = [\"a\", \"b\"]"
        );
    }

    #[test]
    fn errors_of_the_file_keep_their_place() {
        let text = FILE.replace("fps = 3", "fps = 3, loop = 1");
        let setting = set("frames", &["repeat"], json!(true));
        let errors = read_with("dir/x.toml", &text, &plugins(), &[setting]).unwrap_err();
        let errors: Vec<_> = errors.iter().map(ConfigError::to_string).collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            errors[0].starts_with("dir/x.toml:4:40: unknown key `loop`"),
            "{errors:?}"
        );
    }
}
