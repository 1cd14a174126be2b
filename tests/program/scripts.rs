//! Scripts of stages: a run reloads those that change, and problems name the file that a script was given.

use flowpipe_tests::run;

use crate::going::{Going, replace, until};
use crate::ports::{Domain, FIELDS, PLAYER};

/// A command whose script has changed is replaced, and no other stage is.
#[test]
fn a_changed_script_is_reloaded() {
    let domain = Domain::new();
    let endless = FIELDS.replace("asked[\"tick\"] == 2", "False");
    let slow = endless.replace("answer = {", "import time; time.sleep(0.01); answer = {");
    domain.write("fields.py", &slow);
    let going = Going::start(&["run", &domain.pipeline(), "--watch", "--quiet"]);
    until("a message", || {
        let got = domain.read("got.txt");
        (got.contains("played"), got)
    });
    replace(
        &domain.path("player.py"),
        &PLAYER.replace("\"played\"", "\"changed\""),
    );
    going.wait_for_stderr("changed: player (script)");
    until("a message of the new script", || {
        let got = domain.read("got.txt");
        (got.contains("changed"), got)
    });
    // One that does not start: the old one goes on.
    replace(&domain.path("player.py"), "raise SystemExit(3)");
    going.wait_for_stderr("the run goes on as it was");
    let before = domain.read("got.txt").len();
    until("further messages", || {
        let got = domain.read("got.txt");
        (got.len() > before, got)
    });
    let (_, stderr) = going.stop();
    assert!(
        !stderr.contains("fields (script)") && !stderr.contains("sink (script)"),
        "{stderr}"
    );
}

#[test]
fn a_problem_names_the_file_of_its_frame() {
    let domain = Domain::new();
    domain.write(
        "fails.py",
        "import json, sys\nfor asked in map(json.loads, sys.stdin):\n    \
         answer = {\"id\": asked[\"id\"]}\n    \
         if \"message\" in asked: answer[\"error\"] = \"no field\"\n    \
         print(json.dumps(answer), flush=True)\n",
    );
    let picture = flowpipe_tests::project().join("pipelines/frames/phone-5x5-01.png");
    std::fs::copy(picture, domain.path("field.png")).unwrap();
    let pipeline = |on_error: &str| {
        let text = format!(
            "[stages.files]\nplugin = \"capture-files\"\nconfig = {{ paths = \"field.png\" }}\n\
             [stages.eye]\nplugin = \"exec\"\nfrom = \"files\"\non_error = \"{on_error}\"\n\
             config = {{ command = [\"python3\", \"fails.py\"], outputs = {{}}, \
             inputs = {{ in = {{ schema = \"flowpipe.frame/1\" }} }} }}\n"
        );
        domain.write("pipeline.toml", &text);
        domain.pipeline()
    };
    let ran = run(&["run", &pipeline("skip")]).expect(0);
    assert!(ran.stderr.contains("field.png): "), "{ran:#?}");
    let ran = run(&["run", &pipeline("stop")]).expect(1);
    assert!(ran.stdout.contains("(frame 1: "), "{ran:#?}");
}
