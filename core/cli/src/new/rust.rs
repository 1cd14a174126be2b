//! A plugin in Rust: a crate that uses the SDK.

use super::sdk::Sdk;
use super::{File, Scaffold, commands, named, pipeline};
use crate::args::NewRole;

pub fn plan(role: NewRole, name: &str, sdk: &Sdk) -> Scaffold {
    let sources: &[(&str, &str)] = match role {
        NewRole::Capture => &[("src/lib.rs", include_str!("templates/rust/capture.rs"))],
        NewRole::Vision => &[("src/lib.rs", include_str!("templates/rust/vision.rs"))],
        NewRole::Solver => &[
            ("src/hope.rs", include_str!("templates/rust/hope.rs")),
            ("src/search.rs", include_str!("templates/rust/search.rs")),
            ("src/lib.rs", include_str!("templates/rust/solver.rs")),
            (
                "src/tests.rs",
                include_str!("templates/rust/solver_tests.rs"),
            ),
        ],
        NewRole::Planner => &[("src/lib.rs", include_str!("templates/rust/planner.rs"))],
        NewRole::Actuator => &[("src/lib.rs", include_str!("templates/rust/actuator.rs"))],
        NewRole::Stage => &[("src/lib.rs", include_str!("templates/rust/stage.rs"))],
    };
    let mut files: Vec<File> = sources
        .iter()
        .map(|(path, template)| File::new(*path, named(template, name)))
        .collect();
    let manifest = named(include_str!("templates/rust/Cargo.toml"), name)
        .replace("flowpipe-plugin = FLOWPIPE_PLUGIN", &sdk.dependency());
    files.push(File::new("Cargo.toml", manifest));
    // The versions that the SDK is tested with, which are downloaded already.
    files.extend(sdk.lock().map(|lock| File::new("Cargo.lock", lock)));
    files.push(File::new(".gitignore", "/target\n"));
    files.extend(pipeline(role, name, &format!("plugin = \"{name}\"")));
    let mut next = vec![
        ("cargo test".to_owned(), "runs it without a pipeline"),
        (
            "cargo build".to_owned(),
            "builds the plugin into target/debug",
        ),
        (
            format!("flowpipe plugins show {name} --plugin-dir target/debug"),
            "shows its manifest",
        ),
    ];
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = format!("{prefix}{}{suffix}", name.replace('-', "_"));
    next.extend(commands(role, "target/debug", &library));
    Scaffold { files, next }
}
