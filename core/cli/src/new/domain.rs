//! A pipeline for a game or a program of any kind: its stages, the JSON Schema of their messages, and a test.

use super::sdk::Sdk;
use super::{File, Scaffold};

/// The name in the templates.
const NAME: &str = "pipeline-name";

/// A picture with coloured spots.
const FRAME: &[u8] = include_bytes!("../../../../pipelines/frames/desktop-5x5-02.png");

/// The files of a pipeline whose stages are in Python. `window`: the title of the window that it captures.
pub fn python(name: &str, window: &str) -> Scaffold {
    let file = |path: &str, template: &str| File::new(path, named(template, name));
    let files = vec![
        pipeline(
            include_str!("templates/domain/python/pipeline.toml"),
            name,
            window,
        ),
        file(
            "vision.py",
            include_str!("templates/domain/python/vision.py"),
        ),
        file(
            "planner.py",
            include_str!("templates/domain/python/planner.py"),
        ),
        file(
            "targets.schema.json",
            include_str!("templates/domain/targets.schema.json"),
        ),
        file("test.py", include_str!("templates/domain/python/test.py")),
        File::new("frame.png", FRAME),
        readme(
            include_str!("templates/domain/python/README.md"),
            name,
            window,
        ),
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

/// The same with stages in Rust: plugins of one crate.
pub fn rust(name: &str, window: &str, sdk: &Sdk) -> Scaffold {
    let file = |path: &str, template: &str| File::new(path, named(template, name));
    // Of the SDK, a domain of its own needs nothing of Flow Free.
    let dependency = sdk.dependency();
    let generic = dependency.strip_suffix(" }").map_or_else(
        || dependency.clone(),
        |entry| format!("{entry}, default-features = false }}"),
    );
    let manifest = named(include_str!("templates/domain/rust/Cargo.toml"), name)
        .replace("flowpipe-plugin = FLOWPIPE_PLUGIN", &generic);
    let mut files = vec![
        pipeline(
            include_str!("templates/domain/rust/pipeline.toml"),
            name,
            window,
        ),
        file("src/lib.rs", include_str!("templates/domain/rust/lib.rs")),
        file(
            "src/vision.rs",
            include_str!("templates/domain/rust/vision.rs"),
        ),
        file(
            "src/targets.rs",
            include_str!("templates/domain/rust/targets.rs"),
        ),
        file(
            "src/planner.rs",
            include_str!("templates/domain/rust/planner.rs"),
        ),
        File::new("Cargo.toml", manifest),
        File::new(".gitignore", "/target\n"),
        File::new("frame.png", FRAME),
        readme(
            include_str!("templates/domain/rust/README.md"),
            name,
            window,
        ),
    ];
    // The versions that the SDK is tested with, which are downloaded already.
    files.extend(sdk.lock().map(|lock| File::new("Cargo.lock", lock)));
    let next = vec![
        (
            "cargo test".to_owned(),
            "runs each stage without a pipeline",
        ),
        (
            "cargo build".to_owned(),
            "builds the plugins into target/debug",
        ),
        (
            "flowpipe check pipeline.toml --plugin-dir target/debug".to_owned(),
            "checks it, and lists what each stage does",
        ),
        (
            format!("flowpipe see frame.png --plugin {name}-vision --plugin-dir target/debug"),
            "shows what vision finds in a picture",
        ),
        (
            "flowpipe run pipeline.toml --plugin-dir target/debug --dry-run -v".to_owned(),
            "reports what it would do in the window",
        ),
    ];
    Scaffold { files, next }
}

fn named(template: &str, name: &str) -> String {
    template.replace(NAME, name)
}

fn pipeline(template: &str, name: &str, window: &str) -> File {
    let title = toml::Value::from(window).to_string();
    File::new(
        "pipeline.toml",
        named(template, name).replace("WINDOW", &title),
    )
}

fn readme(template: &str, name: &str, window: &str) -> File {
    // In a table of Markdown and in code, a line is one line.
    let shown: String = window
        .chars()
        .filter(|it| !it.is_control() && *it != '`')
        .collect();
    File::new("README.md", named(template, name).replace("WINDOW", &shown))
}
