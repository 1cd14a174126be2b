//! What workers on another machine emit is judged by the checks of the machine that distributes the messages.

use flowpipe_tests::{Ran, pipeline, run};
use serde_json::json;

use crate::machines::{Machine, address};

/// A command that answers each message with a body in which `SEEN` is the body of that message.
const LIAR: &str = "
import json, sys
emitted = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        seen = asked['message']['body']
        body = {key: seen if value == 'SEEN' else value for key, value in emitted.items()}
        answer['messages'] = [{'body': body}]
    print(json.dumps(answer), flush=True)
";

/// Puzzles, a stage that emits this whatever it gets, and one that takes it. `is_there`: the second one is a worker on
/// another machine. Returns what the machine of the others has printed.
fn run_with(schema: &str, emitted: &serde_json::Value, is_there: bool) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("liar.py"), LIAR).unwrap();
    let echo = "import json, sys; [print(json.dumps(dict(id=json.loads(it)[\"id\"])), flush=True) for it in sys.stdin]";
    let (desk, rack, machines) = match is_there {
        true => (
            "machine = \"desk\"",
            "machines = [\"rack\"]\nworkers = 1",
            format!(
                "[machines.desk]\nlisten = \"{}\"\n[machines.rack]\n",
                address()
            ),
        ),
        false => ("", "", String::new()),
    };
    let text = format!(
        "[stages.puzzles]\nplugin = \"capture-puzzles\"\n{desk}\nconfig = {{ text = \"AB\\nAB\" }}\n\
         [stages.liar]\nplugin = \"exec\"\nfrom = \"puzzles\"\n{rack}\non_error = \"skip\"\n\
         config = {{ command = [\"python3\", \"liar.py\", '{emitted}'], \
         inputs = {{ in = {{ schema = \"flowpipe.sighting/1\" }} }}, outputs = {{ out = {{ schema = \"{schema}\" }} }} }}\n\
         [stages.end]\nplugin = \"exec\"\nfrom = \"liar\"\n{desk}\n\
         config = {{ command = [\"python3\", \"-c\", '{echo}'], inputs = {{ in = {{ schema = \"{schema}\" }} }}, outputs = {{}} }}\n\
         {machines}"
    );
    let file = pipeline(folder.path(), &text);
    if !is_there {
        return run(&["run", &file, "--json"]);
    }
    let [desk, rack] = ["desk", "rack"].map(|machine| Machine::start(&file, machine));
    rack.end().expect(0);
    desk.end()
}

#[test]
fn what_a_worker_emits_is_judged_as_what_a_stage_here_emits() {
    let solution =
        json!({ "flows": [{ "colour": 0, "cells": [0, 1] }, { "colour": 1, "cells": [2, 3] }] });
    let answer = json!({ "verdict": "solution", "solution": solution, "unique": null });
    let solved = json!({ "solver": "liar", "answer": answer, "sighting": "SEEN" });
    let stroke = json!({ "colour": 0, "cells": [0, 1], "points": [[0.5, 0.5], [1.5, 0.5]] });
    let strokes =
        json!({ "planner": "liar", "strokes": [stroke], "solution": solution, "sighting": "SEEN" });
    for (schema, emitted) in [
        ("flowpipe.solved/1", &solved),
        ("flowpipe.strokes/1", &strokes),
        ("flowpipe.gestures/1", &json!({ "gestures": "all" })),
    ] {
        let refused = |ran: &Ran| {
            let report = &ran.json()["report"];
            let problems = report["problems"].as_array().unwrap();
            assert_eq!(report["stages"][2]["in"], 0, "{ran:#?}");
            assert_eq!(problems.len(), 1, "{ran:#?}");
            problems[0]["text"].as_str().unwrap().to_owned()
        };
        let [here, there] = [false, true].map(|it| refused(&run_with(schema, emitted, it)));
        assert!(here.contains("does not pass the checks"), "{here}");
        assert_eq!(there, here);
    }
}
