//! What `flowpipe new` consists of: it creates a plugin that builds and runs as it is, or a whole pipeline.
//!
//! # Layout
//! - [`name`]: what a plugin may be called. [`sdk`]: where a Rust plugin finds the SDK.
//! - [`rust`], [`c`], [`python`]: the files of each language, from `templates/`.
//! - [`domain`]: the files of a pipeline.

mod c;
pub mod domain;
pub mod name;
mod python;
mod rust;
pub mod sdk;

use sdk::Sdk;

use crate::args::{Language, NewRole};

/// A file to write, relative to the folder of what is created.
pub struct File {
    /// Its path, with slashes.
    pub path: String,
    /// What is in it.
    pub content: Vec<u8>,
}

/// What is to be created.
pub struct Scaffold {
    /// Its files; the first is the one to edit.
    pub files: Vec<File>,
    /// The next steps in its folder: commands and their purpose.
    pub next: Vec<(String, &'static str)>,
}

impl File {
    fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            content: content.into(),
        }
    }
}

/// The files of a plugin. The name must have been checked.
pub fn plan(role: NewRole, language: Language, name: &str, sdk: &Sdk) -> Scaffold {
    match language {
        Language::Rust => rust::plan(role, name, sdk),
        Language::C => c::plan(role, name),
        Language::Python => python::plan(role, name),
    }
}

/// A template with the plugin's name in it.
fn named(template: &str, name: &str) -> String {
    template
        .replace("plugin-name", name)
        .replace("plugin_name", &name.replace('-', "_"))
}

/// The pipeline of the plugin, and its input. `stage`: the lines that name the plugin.
fn pipeline(role: NewRole, name: &str, stage: &str) -> Vec<File> {
    let template = match role {
        NewRole::Capture => include_str!("templates/pipeline/capture.toml"),
        NewRole::Vision => include_str!("templates/pipeline/vision.toml"),
        NewRole::Solver => include_str!("templates/pipeline/solver.toml"),
        NewRole::Planner => include_str!("templates/pipeline/planner.toml"),
        NewRole::Actuator => include_str!("templates/pipeline/actuator.toml"),
        NewRole::Stage => include_str!("templates/pipeline/stage.toml"),
    };
    let text = named(template, name).replace("STAGE", stage);
    let mut files = vec![File::new("pipeline.toml", text)];
    match role {
        NewRole::Capture => {}
        NewRole::Vision => {
            let picture = include_bytes!("../../../../pipelines/frames/desktop-5x5-02.png");
            files.push(File::new("board.png", *picture));
        }
        _ => files.push(File::new(
            "puzzles.txt",
            include_str!("templates/puzzles.txt"),
        )),
    }
    files
}

/// The commands that check a library in a folder, and run its pipeline.
fn commands(role: NewRole, folder: &str, library: &str) -> Vec<(String, &'static str)> {
    vec![
        (
            format!("flowpipe plugin check {folder}/{library}"),
            "checks all that others will rely on",
        ),
        run(role, &format!(" --plugin-dir {folder}")),
    ]
}

/// The command that runs the pipeline. `plugins`: the flags that find the plugin.
fn run(role: NewRole, plugins: &str) -> (String, &'static str) {
    let more = match role {
        // They log each message.
        NewRole::Actuator | NewRole::Stage => " -v",
        _ => "",
    };
    (
        format!("flowpipe run pipeline.toml{plugins}{more}"),
        "runs its pipeline",
    )
}
