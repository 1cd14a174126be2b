//! What an effect of a stage needs and is not there.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::manifest::Manifest;
use crate::manifest::effects::{COMMAND_ENVIRONMENT, COMMAND_FOLDER, Effect, EffectKind};

/// The format of a config key whose folder the plugin creates, with the folders above it.
const CREATED_FOLDER: &str = "created-folder";

/// The variable with the folders of programs.
const PROGRAM_FOLDERS: &str = "PATH";

/// What an effect needs and is not there: files and folders to read, the folders of files to write, and programs to run.
/// A file of the user's state need not be there, and its folder is created.
pub(super) fn of(effect: &Effect, manifest: &Manifest, config: &Value) -> Vec<PathBuf> {
    match effect.kind {
        EffectKind::RunsCommands => program(effect, manifest, config).into_iter().collect(),
        _ if effect.state_file.is_some() => Vec::new(),
        EffectKind::ReadsFiles => to_read(effect, manifest, config),
        EffectKind::WritesFiles => folders_to_write_into(effect, manifest, config),
        _ => Vec::new(),
    }
}

fn to_read(effect: &Effect, manifest: &Manifest, config: &Value) -> Vec<PathBuf> {
    let mut paths = effect.named_paths(manifest, config);
    // Patterns name other files than themselves.
    let is_pattern = |path: &Path| path.to_string_lossy().contains(['*', '?', '[']);
    paths.retain(|path| !is_pattern(path) && is_absent(path));
    paths
}

/// The folders of what is written. A file is created, and its folder is only if the plugin declares so.
fn folders_to_write_into(effect: &Effect, manifest: &Manifest, config: &Value) -> Vec<PathBuf> {
    let mut keys = effect.path_keys().iter();
    if keys.any(|key| manifest.format(key) == Some(CREATED_FOLDER)) {
        return Vec::new();
    }
    let mut folders = Vec::new();
    for path in effect.named_paths(manifest, config) {
        // Without a folder, it is a name in the working directory.
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|it| is_absent(it)) {
            folders.push(folder.to_owned());
        }
    }
    folders.dedup();
    folders
}

/// The program of a command, if the system does not find it: at its path, which starts at the folder of the command, or
/// by its name in the folders of `PATH`, which the environment of the command may set.
fn program(effect: &Effect, manifest: &Manifest, config: &Value) -> Option<PathBuf> {
    let mut keys = effect.path_keys().iter();
    let command = keys.find_map(|key| manifest.value(config, key))?;
    let program = command.get(0).unwrap_or(command).as_str()?;
    let folder = manifest.value(config, COMMAND_FOLDER);
    let folder = Path::new(folder.and_then(Value::as_str).unwrap_or_default());
    if program.contains(std::path::is_separator) {
        let path = folder.join(program);
        return is_absent(&path).then_some(path);
    }
    let environment = manifest.value(config, COMMAND_ENVIRONMENT);
    let own = environment.and_then(|it| it.get(PROGRAM_FOLDERS)?.as_str());
    let folders = own.map(OsString::from);
    let folders = folders.or_else(|| std::env::var_os(PROGRAM_FOLDERS))?;
    let names = [program.to_owned(), format!("{program}{EXE_SUFFIX}")];
    let has_program = |of_path: PathBuf| {
        let of_path = folder.join(of_path);
        names.iter().any(|name| of_path.join(name).is_file())
    };
    let is_found = std::env::split_paths(&folders).any(has_program);
    (!is_found).then(|| program.into())
}

fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What an effect of a plugin lacks. `key`: its config key that names a file, a folder or a program.
    fn absent(effect: &Value, config: &Value) -> Vec<String> {
        let manifest = json!({
            "name": "a", "role": "stage", "effects": [effect],
            "config": { "type": "object", "properties": {
                "key": {}, "new": { "format": "created-folder" }, "directory": {}, "env": {},
                "tool": { "default": "no-such-tool" },
            } },
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let effects = manifest.effects_with(config).unwrap();
        let found = effects.iter().flat_map(|it| of(it, &manifest, config));
        found.map(|it| it.to_string_lossy().into_owned()).collect()
    }

    /// A folder that is there, with a file `lib.rs`.
    const THERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

    #[test]
    fn folders_of_files_to_write_are_named() {
        let writes = json!({ "effect": "writes-files", "key": "key" });
        let of = |path: &str| absent(&writes, &json!({ "key": path }));
        assert_eq!(of(&format!("{THERE}/no.jsonl")), [""; 0]);
        assert_eq!(of("no.jsonl"), [""; 0]);
        let folder = format!("{THERE}/no");
        assert_eq!(of(&format!("{folder}/a.jsonl")), [folder.as_str()]);
        let both = json!({ "key": [format!("{folder}/a"), format!("{folder}/b")] });
        assert_eq!(absent(&writes, &both), [folder.as_str()]);
        let creates = json!({ "effect": "writes-files", "key": "new" });
        let new = json!({ "new": format!("{folder}/pictures") });
        assert_eq!(absent(&creates, &new), [""; 0]);
        let state = json!({ "effect": "writes-files", "paths": ["key"], "state_file": "a" });
        let config = json!({ "key": format!("{folder}/a") });
        assert_eq!(absent(&state, &config), [""; 0]);
    }

    #[test]
    fn programs_are_searched_as_the_system_does() {
        let runs = json!({ "effect": "runs-commands", "key": "key" });
        let of = |program: &str, directory: &str| {
            let command = [program, "no-such-argument"];
            let env = json!({ "PATH": THERE });
            absent(
                &runs,
                &json!({ "key": command, "directory": directory, "env": env }),
            )
        };
        assert_eq!(of("lib.rs", "/"), [""; 0]);
        assert_eq!(of("no.rs", THERE), ["no.rs"]);
        // A path starts at the folder of the command.
        assert_eq!(of("./lib.rs", THERE), [""; 0]);
        assert_eq!(of("reader/mod.rs", THERE), [""; 0]);
        assert_eq!(of(&format!("{THERE}/lib.rs"), "/"), [""; 0]);
        let path = Path::new(THERE).join("reader/no.rs");
        assert_eq!(of("reader/no.rs", THERE), [path.to_string_lossy()]);
        // So does a relative folder of `PATH`.
        let config = json!({ "key": ["mod.rs"], "directory": THERE, "env": { "PATH": "reader" } });
        assert_eq!(absent(&runs, &config), [""; 0]);
        // A program that a key names, without a key that turns it off.
        let tool = json!({ "effect": "runs-commands", "paths": ["tool"] });
        assert_eq!(absent(&tool, &json!({})), ["no-such-tool"]);
        assert_eq!(
            absent(&tool, &json!({ "tool": format!("{THERE}/lib.rs") })),
            [""; 0]
        );
    }
}
