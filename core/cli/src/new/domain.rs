//! A pipeline for a game or a program of any kind: its stages, the JSON Schema of their messages, and a test.

use super::{File, Scaffold};

/// The name in the templates.
const NAME: &str = "pipeline-name";

/// The files of a pipeline whose stages are in Python. `window`: the title of the window that it captures.
pub fn plan(name: &str, window: &str) -> Scaffold {
    let named = |template: &str| template.replace(NAME, name);
    let title = toml::Value::from(window).to_string();
    let pipeline = named(include_str!("templates/domain/python/pipeline.toml"));
    // In a table of Markdown and in code, a line is one line.
    let shown: String = window
        .chars()
        .filter(|it| !it.is_control() && *it != '`')
        .collect();
    let readme = named(include_str!("templates/domain/python/README.md"));
    let frame = include_bytes!("../../../../pipelines/frames/desktop-5x5-02.png");
    let files = vec![
        File::new("pipeline.toml", pipeline.replace("WINDOW", &title)),
        File::new(
            "vision.py",
            named(include_str!("templates/domain/python/vision.py")),
        ),
        File::new(
            "planner.py",
            named(include_str!("templates/domain/python/planner.py")),
        ),
        File::new(
            "targets.schema.json",
            named(include_str!("templates/domain/targets.schema.json")),
        ),
        File::new(
            "test.py",
            named(include_str!("templates/domain/python/test.py")),
        ),
        File::new("frame.png", *frame),
        File::new("README.md", readme.replace("WINDOW", &shown)),
    ];
    let next = vec![
        (
            "flowpipe check pipeline.toml".to_owned(),
            "checks it, and lists what each stage does",
        ),
        (
            "python3 test.py".to_owned(),
            "runs it on a picture, without a screen",
        ),
        (
            "flowpipe run pipeline.toml --dry-run -v".to_owned(),
            "reports what it would do in the window",
        ),
    ];
    Scaffold { files, next }
}
