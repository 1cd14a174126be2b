//! A stage in Python: a script that plugin `exec` runs.

use super::{File, Scaffold, named, pipeline, run};
use crate::args::NewRole;

/// The script, plugin and test of a role.
struct Role {
    name: &'static str,
    plugin: &'static str,
    script: &'static str,
    /// A message to it, and the check of its answer.
    message: &'static str,
    check: &'static str,
}

fn role(role: NewRole) -> Role {
    match role {
        NewRole::Capture => Role {
            name: "capture",
            plugin: "capture-exec",
            script: include_str!("templates/python/capture.py"),
            message: "{\"tick\": 0}",
            check: "self.assertEqual(answer[\"frame\"][\"width\"], 220)",
        },
        NewRole::Vision => Role {
            name: "vision",
            plugin: "vision-exec",
            script: include_str!("templates/python/vision.py"),
            // Any file can be read as pixels.
            message: "{\"frame\": {\"file\": __file__, \"format\": \"grey8\", \"width\": 60, \"height\": 1, \"stride\": 60}, \"note\": {}}",
            check: "self.assertIn(\"bright\", answer[\"reading\"][\"reason\"])",
        },
        NewRole::Solver => Role {
            name: "solver",
            plugin: "solver-exec",
            script: include_str!("../../../../examples/solver.py"),
            message: "{\"puzzle\": {}, \"rules\": {\"cover\": True, \"touch\": False}, \"want\": \"unique\", \"limit\": None,\n                      \
                      \"graph\": {\"links\": [[1], [0, 2], [1]], \"colours\": [0, None, 0], \"cells\": [0, 1, 2]}}",
            check: "cells = answer[\"answer\"][\"solution\"][\"flows\"][0][\"cells\"]\n        self.assertEqual(sorted(cells), [0, 1, 2])",
        },
        NewRole::Planner => Role {
            name: "planner",
            plugin: "planner-exec",
            script: include_str!("templates/python/planner.py"),
            message: "{\"solution\": {\"flows\": [{\"colour\": 0, \"cells\": [0, 1]}]}, \"centres\": [[0.5, 0.5], [1.5, 0.5]]}",
            check: "self.assertEqual(answer[\"strokes\"][0][\"points\"], [[0.5, 0.5], [1.5, 0.5]])",
        },
        NewRole::Actuator => Role {
            name: "actuator",
            plugin: "actuator-exec",
            script: include_str!("templates/python/actuator.py"),
            message: "{\"strokes\": [{\"colour\": 0, \"cells\": [0, 1]}], \"pixels\": [[[10, 10], [30, 10]]]}",
            check: "self.assertEqual(answer[\"strokes\"], [{\"colour\": 0, \"accepted\": None}])",
        },
        NewRole::Stage => Role {
            name: "stage",
            plugin: "exec",
            script: include_str!("templates/python/stage.py"),
            message: "{\"message\": {\"schema\": \"flowpipe.sighting/1\", \"body\": {\"reading\": {\n            \
                      \"status\": \"board\", \"puzzle\": {\"board\": {\"rows\": 9, \"cols\": 9}}}}}}",
            check: "self.assertEqual(answer.get(\"messages\", []), [])",
        },
    }
}

/// The name of the script. Without a hyphen, Python could import it as a module instead of its own, such as `json.py`.
fn script(role: &str, name: &str) -> String {
    if name.contains('-') {
        format!("{name}.py")
    } else {
        format!("{role}-{name}.py")
    }
}

pub fn plan(which: NewRole, name: &str) -> Scaffold {
    let role = role(which);
    let file = script(role.name, name);
    let test = include_str!("templates/python/test.py").replace("script.py", &file);
    let test = named(&test, name)
        .replace("ROLE", role.name)
        .replace("MESSAGE", role.message)
        .replace("CHECK", role.check);
    let command = format!("{{ command = [\"python3\", \"{file}\"] }}");
    let stage = format!("plugin = \"{}\"\nconfig = {command}", role.plugin);
    let mut files = vec![
        File::new(file, named(role.script, name)),
        File::new("test.py", test),
    ];
    files.extend(pipeline(which, name, &stage));
    let mut next = vec![("python3 test.py".to_owned(), "runs it without a pipeline")];
    next.push(run(which, ""));
    if matches!(which, NewRole::Solver) {
        next.push((
            format!("flowpipe solve puzzles.txt --solver solver-exec --config '{command}'"),
            "solves the puzzles with it",
        ));
    }
    Scaffold { files, next }
}
