//! The scripts of stages that run commands: the files that a command names.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use flowpipe_config::manifest::Manifest;
use flowpipe_config::manifest::effects::COMMAND_FOLDER;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::library::stamp::Stamp;
use serde_json::Value;

/// The scripts of a pipeline whose relative paths are resolved.
pub fn of(pipeline: &Pipeline, catalogue: &Catalogue) -> Vec<PathBuf> {
    let stages = pipeline.stages.iter();
    let contestants = stages.flat_map(|stage| &stage.contestants);
    let scripts = contestants.filter_map(|it| {
        let found = catalogue.find(&it.plugin)?;
        Some(of_config(&it.config, &found.manifest))
    });
    scripts.flatten().collect()
}

/// Notes the state of the scripts in a pipeline, so that a reload replaces the stages whose scripts have changed.
pub fn note(pipeline: &mut Pipeline, catalogue: &Catalogue) {
    let stages = pipeline.stages.iter_mut();
    for contestant in stages.flat_map(|stage| &mut stage.contestants) {
        let Some(found) = catalogue.find(&contestant.plugin) else {
            continue;
        };
        let mut hasher = DefaultHasher::new();
        for script in of_config(&contestant.config, &found.manifest) {
            Stamp::of(&script).ok().hash(&mut hasher);
        }
        contestant.revision = hasher.finish();
    }
}

/// The files among the words of a command. The program itself is one if it is a path: otherwise it is searched in PATH.
fn of_config(config: &Value, manifest: &Manifest) -> Vec<PathBuf> {
    let Some(key) = manifest.command_key() else {
        return Vec::new();
    };
    let folder = config.get(COMMAND_FOLDER).and_then(Value::as_str);
    let folder = Path::new(folder.unwrap_or_default());
    let words = config.get(key).and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    words
        .enumerate()
        .filter(|(at, word)| *at > 0 || word.contains('/'))
        .map(|(_, word)| folder.join(word))
        .filter(|path| path.is_file())
        .collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_config::manifest::read_manifest;
    use serde_json::json;

    use super::*;

    #[test]
    fn scripts_are_the_files_that_a_command_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["player.py", "python3", "run"] {
            std::fs::write(at(name), "").unwrap();
        }
        let effects = json!([{ "effect": "runs-commands", "key": "command" }]);
        let schema = json!({ "type": "object", "properties": { "directory": {}, "command": {} } });
        let text = json!({ "name": "a", "role": "stage", "effects": effects, "config": schema });
        let manifest = read_manifest(&text.to_string()).unwrap();
        let of = |words: &[&str]| {
            let config = json!({ "command": words, "directory": folder.path() });
            of_config(&config, &manifest)
        };
        assert_eq!(
            of(&["python3", "player.py", "--level", "3"]),
            [at("player.py")]
        );
        assert_eq!(of(&["./run"]), [folder.path().join("./run")]);
        let elsewhere = at("player.py").display().to_string();
        let config = json!({ "command": ["python3", elsewhere] });
        assert_eq!(of_config(&config, &manifest), [at("player.py")]);
        assert_eq!(of_config(&json!({}), &manifest), Vec::<PathBuf>::new());
    }
}
