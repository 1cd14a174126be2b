//! A plugin in C: one file on `flowpipe.h` alone.

use super::{File, Scaffold, commands, named, pipeline};
use crate::args::NewRole;

/// The ABI of this host.
const HEADER: &str = include_str!("../../../abi/include/flowpipe.h");

pub fn plan(role: NewRole, name: &str) -> Scaffold {
    let own = match role {
        NewRole::Capture => include_str!("templates/c/capture.c"),
        NewRole::Vision => include_str!("templates/c/vision.c"),
        NewRole::Solver => include_str!("templates/c/solver.c"),
        NewRole::Planner => include_str!("templates/c/planner.c"),
        NewRole::Actuator => include_str!("templates/c/actuator.c"),
        NewRole::Stage => include_str!("templates/c/stage.c"),
    };
    // Several roles share these templates.
    let source = own
        .replace("TEXT\n", include_str!("templates/c/text.c"))
        .replace("MEMBER\n", include_str!("templates/c/member.c"))
        + include_str!("templates/c/tail.c");
    let mut files = vec![
        File::new(format!("{name}.c"), named(&source, name)),
        File::new("flowpipe.h", HEADER),
        File::new(
            "Makefile",
            named(include_str!("templates/c/Makefile"), name).replace("EXPECTED", outcome(role)),
        ),
        File::new(".gitignore", "/plugins\n"),
    ];
    files.extend(pipeline(role, name, &format!("plugin = \"{name}\"")));
    let mut next = vec![
        ("make".to_owned(), "builds the plugin into plugins"),
        ("make test".to_owned(), "checks it, and runs its pipeline"),
        (
            format!("flowpipe plugins show {name} --plugin-dir plugins"),
            "shows its manifest",
        ),
    ];
    let library = format!("lib{}.so", name.replace('-', "_"));
    next.extend(commands(role, "plugins", &library));
    Scaffold { files, next }
}

/// The last line of a run of its pipeline, before any change.
fn outcome(role: NewRole) -> &'static str {
    match role {
        NewRole::Capture => "3 boards read, 3 solved, 3 played, 3 accepted",
        NewRole::Vision => "0 boards read, 1 frame without a board",
        NewRole::Solver | NewRole::Planner => "4 boards read, 4 solved, 4 played, 4 accepted",
        NewRole::Actuator => "4 boards read, 4 solved, 4 played, 0 accepted",
        NewRole::Stage => "4 boards read, 4 solved",
    }
}
