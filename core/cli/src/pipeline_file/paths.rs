//! Relative paths in a pipeline file start at the file's folder.
//!
//! Plugins' manifests declare which config keys are paths. What is read, and is only in the working directory, is still
//! found there, with a warning. A command runs in the file's folder, if its config names none.

use std::path::{Component, Path, PathBuf};

use flowpipe_config::manifest::Manifest;
use flowpipe_config::manifest::effects::{COMMAND_FOLDER, PathUse};
use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::pipeline_test::PipelineTest;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::library::write_access;
use serde_json::Value;

/// The folder at which the relative paths of a pipeline file start. `None`: the working directory, also for what comes
/// from standard input or a pipe.
pub fn base(file: &Path) -> Option<PathBuf> {
    let is_stream = file.starts_with("/dev") || file.starts_with("/proc");
    if is_stream || !file.is_file() {
        return None;
    }
    let folder = file.parent()?;
    let is_here = folder.components().all(|it| it == Component::CurDir);
    (!is_here).then(|| folder.to_owned())
}

/// Resolves the relative paths of a pipeline against a folder. Logs a warning for what is found in the working
/// directory instead.
pub fn resolve(pipeline: &mut Pipeline, base: &Path, catalogue: &Catalogue) {
    let Some(folder) = base.to_str() else {
        tracing::warn!(
            "the name of the folder {} is not UTF-8: relative paths of the pipeline start at the working directory",
            base.display()
        );
        return;
    };
    for stage in &mut pipeline.stages {
        for contestant in &mut stage.contestants {
            let Some(found) = catalogue.find(&contestant.plugin) else {
                continue;
            };
            let resolver = Resolver {
                folder,
                stage: &stage.name,
            };
            resolver.config(&mut contestant.config, &found.manifest);
        }
    }
    if let Some(record) = &mut pipeline.record
        && let Some(resolved) = joined(folder, &record.file)
    {
        record.file = resolved;
    }
    for machine in &mut pipeline.machines.all {
        if let Some(resolved) = joined(folder, &machine.certificates) {
            machine.certificates = resolved;
        }
    }
}

/// The same for the config keys that tests replace. The pipeline's own are not resolved yet.
pub fn resolve_tests(
    tests: &mut [PipelineTest],
    pipeline: &Pipeline,
    base: &Path,
    catalogue: &Catalogue,
) {
    let Some(folder) = base.to_str() else { return };
    for config in tests.iter_mut().flat_map(|test| &mut test.config) {
        let Some(stage) = pipeline.stages.get(config.stage) else {
            continue;
        };
        let contestant = stage.contestants.get(config.contestant);
        let found = contestant.and_then(|it| catalogue.find(&it.plugin));
        let Some(manifest) = found.map(|found| &found.manifest) else {
            continue;
        };
        let resolver = Resolver {
            folder,
            stage: &stage.name,
        };
        let sets_command = manifest
            .command_key()
            .is_some_and(|key| !config.keys[key].is_null());
        match sets_command {
            true => resolver.config(&mut config.keys, manifest),
            false => resolver.files(&mut config.keys, manifest),
        }
    }
}

/// Resolves the paths of one stage.
struct Resolver<'a> {
    /// The pipeline file's folder.
    folder: &'a str,
    stage: &'a str,
}

impl Resolver<'_> {
    fn config(&self, config: &mut Value, manifest: &Manifest) {
        self.files(config, manifest);
        if let Some(key) = manifest.command_key() {
            self.command(config, key);
        }
    }

    fn files(&self, config: &mut Value, manifest: &Manifest) {
        for (key, used) in manifest.path_keys() {
            match config.get_mut(key) {
                Some(Value::Array(values)) => {
                    values.iter_mut().for_each(|it| self.path(it, key, used));
                }
                Some(value) => self.path(value, key, used),
                None => {}
            }
        }
    }

    /// Resolves the value if it is a relative path.
    fn path(&self, value: &mut Value, key: &str, used: PathUse) {
        let Value::String(text) = value else {
            return;
        };
        let resolved = match used {
            PathUse::Written => joined(self.folder, text),
            PathUse::Read => self.to_read(text, key),
        };
        if let Some(resolved) = resolved {
            *text = resolved;
        }
    }

    /// The path of what is read. `None`: it stays as it is.
    fn to_read(&self, text: &str, key: &str) -> Option<String> {
        match to_read(self.folder, text) {
            ToRead::Beside(beside) => Some(beside),
            ToRead::Here { beside } => {
                self.warn(&format!("{key}: {text}"), &beside, text);
                None
            }
            ToRead::AsWritten => None,
        }
    }

    /// Sets the folder of a command.
    fn command(&self, config: &mut Value, key: &str) {
        if let Some(folder) = config.get_mut(COMMAND_FOLDER).filter(|it| !it.is_null()) {
            return self.path(folder, COMMAND_FOLDER, PathUse::Read);
        }
        let command = config.get(key).and_then(Value::as_array);
        let words = command.into_iter().flatten().filter_map(Value::as_str);
        // The program itself is searched in PATH, unless it is a path.
        let mut files = words
            .enumerate()
            .filter(|(at, word)| *at > 0 || word.contains('/'))
            .map(|(_, word)| (word, joined(self.folder, word)));
        let is_there = |path: &str| Path::new(path).is_file();
        let is_beside = |it: &(&str, Option<String>)| it.1.as_deref().is_some_and(is_there);
        // What is in the working directory runs only if no other user can change it.
        let is_own = |path: &str| is_there(path) && write_access::check(Path::new(path)).is_ok();
        let is_only_here = |it: &(&str, Option<String>)| it.1.is_some() && is_own(it.0);
        if !files.clone().any(|it| is_beside(&it))
            && let Some((word, Some(beside))) = files.find(is_only_here)
        {
            return self.warn(&format!("{key}: {word}"), &beside, word);
        }
        if let Value::Object(config) = config {
            config.insert(COMMAND_FOLDER.to_owned(), self.folder.into());
        }
    }

    fn warn(&self, what: &str, beside: &str, here: &str) {
        let here = std::path::absolute(here).unwrap_or_else(|_| here.into());
        tracing::warn!(
            "stage {}, {what} is not in the pipeline file's folder ({beside}), where relative paths start: \
             {} is used, in the working directory",
            self.stage,
            here.display()
        );
    }
}

/// Where a path of what is read starts.
pub enum ToRead {
    /// It is no relative path.
    AsWritten,
    /// In the pipeline file's folder, as this path.
    Beside(String),
    /// In the working directory: there is nothing at the other path.
    Here {
        /// The path in the pipeline file's folder.
        beside: String,
    },
}

/// Where a path of what is read starts, in a pipeline file of this folder.
pub fn to_read(folder: &str, text: &str) -> ToRead {
    let Some(beside) = joined(folder, text) else {
        return ToRead::AsWritten;
    };
    let is_pattern = text.contains(['*', '?', '[']);
    if !is_pattern || Path::new(&beside).exists() {
        return match !Path::new(&beside).exists() && Path::new(text).exists() {
            true => ToRead::Here { beside },
            false => ToRead::Beside(beside),
        };
    }
    // The folder's own name is no pattern.
    let Some(beside) = joined(&glob::Pattern::escape(folder), text) else {
        return ToRead::AsWritten;
    };
    match !matches(&beside) && matches(text) {
        true => ToRead::Here { beside },
        false => ToRead::Beside(beside),
    }
}

/// A relative path in a folder. `None`: it is empty or absolute.
pub fn joined(folder: &str, path: &str) -> Option<String> {
    let relative = path.strip_prefix("./").unwrap_or(path);
    if path.is_empty() || Path::new(path).has_root() {
        return None;
    }
    // Both are UTF-8.
    Some(
        Path::new(folder)
            .join(relative)
            .to_string_lossy()
            .into_owned(),
    )
}

/// Whether something matches a pattern. One that leads through any number of folders is not followed: only the folder
/// that it starts from must exist.
fn matches(pattern: &str) -> bool {
    if pattern.contains("**") {
        let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains('*');
        let start: PathBuf = Path::new(pattern)
            .components()
            .take_while(is_plain)
            .collect();
        return start.as_os_str().is_empty() || start.is_dir();
    }
    let found = glob::glob(pattern);
    found.is_ok_and(|mut found| found.any(|it| it.is_ok()))
}

#[cfg(test)]
mod tests {
    use flowpipe_config::manifest::read_manifest;
    use serde_json::json;

    use super::*;

    fn manifest() -> Manifest {
        let effects = json!([
            { "effect": "reads-files", "key": "paths" },
            { "effect": "reads-files", "key": "remember", "paths": ["games"] },
            { "effect": "writes-files", "key": "remember", "paths": ["games"] },
            { "effect": "runs-commands", "key": "command" },
        ]);
        let schema = json!({ "type": "object", "properties": { "directory": {} } });
        let text = json!({ "name": "a", "role": "stage", "effects": effects, "config": schema });
        read_manifest(&text.to_string()).unwrap()
    }

    fn resolved(folder: &Path, mut config: Value) -> Value {
        let folder = folder.to_str().unwrap();
        let stage = "a";
        Resolver { folder, stage }.config(&mut config, &manifest());
        let text = config.to_string().replace(folder, "FOLDER");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn relative_paths_start_at_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let of = |config| resolved(folder.path(), config);
        let paths = json!({ "paths": ["a.png", "./b/*.png", "/c.png", ""], "games": "g.toml", "other": "x" });
        let expected = json!({
            "paths": ["FOLDER/a.png", "FOLDER/b/*.png", "/c.png", ""],
            "games": "FOLDER/g.toml",
            "other": "x",
            "directory": "FOLDER",
        });
        assert_eq!(of(paths), expected);
        let one = of(json!({ "paths": "frames/", "remember": true, "directory": "in" }));
        let expected =
            json!({ "paths": "FOLDER/frames/", "remember": true, "directory": "FOLDER/in" });
        assert_eq!(one, expected);
    }

    /// Tests run in the crate's folder.
    #[test]
    fn what_is_only_in_the_working_directory_is_read_there_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let of = |config| resolved(folder.path(), config);
        let here =
            json!({ "paths": ["src/main.rs", "src/ma*.rs", "src/no*.rs"], "directory": "src" });
        let found = of(here.clone());
        let expected = ["src/main.rs", "src/ma*.rs", "FOLDER/src/no*.rs"];
        assert_eq!(found["paths"], json!(expected));
        assert_eq!(found["directory"], "src");
        assert_eq!(
            of(json!({ "games": "Cargo.toml" }))["games"],
            "FOLDER/Cargo.toml"
        );
        let command = |words: &[&str]| of(json!({ "command": words }))["directory"].clone();
        assert_eq!(command(&["python3", "src/main.rs"]), Value::Null);
        assert_eq!(command(&["Cargo.toml"]), "FOLDER", "it is searched in PATH");
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/main.rs"), "").unwrap();
        assert_eq!(of(here)["paths"][0], "FOLDER/src/main.rs");
        assert_eq!(command(&["python3", "src/main.rs"]), "FOLDER");
    }

    #[test]
    fn the_folder_s_name_is_no_pattern() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a[1]*");
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("b.png"), "").unwrap();
        let paths = resolved(&odd, json!({ "paths": ["*.png", "b.png"] }));
        let [pattern, file] = [0, 1].map(|at| paths["paths"][at].as_str().unwrap());
        let found: Vec<_> = glob::glob(pattern).unwrap().flatten().collect();
        assert_eq!(found, [odd.join("b.png")]);
        assert_eq!(file, "FOLDER/b.png");
    }

    #[test]
    fn streams_and_files_of_the_working_directory_have_no_folder() {
        for file in [
            "/dev/stdin",
            "/proc/self/exe",
            "Cargo.toml",
            "./Cargo.toml",
            "none/x.toml",
        ] {
            assert_eq!(base(Path::new(file)), None, "{file}");
        }
        assert_eq!(base(Path::new("src/main.rs")), Some(PathBuf::from("src")));
    }
}
