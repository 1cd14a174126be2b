//! A plugin in C: one file on `flowpipe.h` alone.

use super::{File, Plan, commands, named, pipeline};
use crate::args::NewRole;

/// The border, as the host that makes the plugin has it.
const HEADER: &str = include_str!("../../../abi/include/flowpipe.h");

pub fn plan(role: NewRole, name: &str) -> Plan {
    let own = match role {
        NewRole::Capture => include_str!("templates/c/capture.c"),
        NewRole::Vision => include_str!("templates/c/vision.c"),
        NewRole::Solver => include_str!("templates/c/solver.c"),
        NewRole::Planner => include_str!("templates/c/planner.c"),
        NewRole::Actuator => include_str!("templates/c/actuator.c"),
        NewRole::Stage => include_str!("templates/c/stage.c"),
    };
    // What several roles have in common stands in templates of its own.
    let source = own
        .replace("TEXT\n", include_str!("templates/c/text.c"))
        .replace("MEMBER\n", include_str!("templates/c/member.c"))
        + include_str!("templates/c/tail.c");
    let mut files = vec![
        File::new(format!("{name}.c"), named(&source, name)),
        File::new("flowpipe.h", HEADER),
        File::new(
            "Makefile",
            named(include_str!("templates/c/Makefile"), name),
        ),
        File::new(".gitignore", "/plugins\n"),
    ];
    files.extend(pipeline(role, name, &format!("plugin = \"{name}\"")));
    let mut next = vec![
        ("make".to_owned(), "builds the plugin into plugins"),
        (
            format!("flowpipe plugins show {name} --plugin-dir plugins"),
            "what it says of itself",
        ),
    ];
    next.extend(commands(role, "plugins"));
    Plan { files, next }
}
