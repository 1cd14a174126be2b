//! `flowpipe plugin check`: good plugins pass, and what is wrong with a bad one is found and named.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, compile, flowpipe, library, project, run};
use serde_json::Value;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(240);

/// A library with stages that are each wrong in one way.
fn faulty(folder: &Path, defines: &[&str]) -> PathBuf {
    compile("tests/plugins/faulty.c", folder, "faulty", defines)
}

/// Runs one check on one of the faulty stages, with little patience.
fn check(stage: &str, only: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let file = faulty(folder.path(), &[]).display().to_string();
    run(&[
        "plugin", "check", &file, "--stage", stage, "--only", only, "--time", "200ms",
    ])
}

/// Waits until something is so.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what} never happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number of a process that a stage noted down.
fn noted(file: &Path) -> u32 {
    let mut number = None;
    until("a note", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        number = text.strip_suffix('\n').and_then(|it| it.parse().ok());
        number.is_some()
    });
    number.unwrap()
}

fn finds(stage: &str, only: &str, fault: &str) {
    let ran = check(stage, only).expect(1);
    assert!(ran.stdout.contains(fault), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 of 1 check failed"), "{}", ran.stdout);
}

#[test]
fn a_shipped_solver_passes() {
    let file = library("solver_search").display().to_string();
    let ran = run(&["plugin", "check", &file, "--json"]).expect(0);
    let printed: Value = ran.json();
    let stages = printed["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 1);
    let checks = stages[0]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 10);
    for check in checks {
        let grade = check["grade"].as_str().unwrap();
        assert!(["passed", "skipped"].contains(&grade), "{check}");
    }
    let answers = checks.iter().find(|it| it["check"] == "answers").unwrap();
    let text = answers["found"][0]["text"].as_str().unwrap();
    assert!(text.contains("33 answered"), "{text}");
}

#[test]
fn a_plugin_is_checked_by_its_name() {
    let ran = run(&["plugin", "check", "solver-exec", "--only", "manifest"]).expect(78);
    assert!(ran.stderr.contains("solver-exec: it requires"), "{ran:#?}");
    let ran = run(&["plugin", "check", "planner-grid", "--only", "manifest"]).expect(0);
    let file = library("planner_grid").display().to_string();
    assert!(ran.stdout.starts_with(&file), "{ran:#?}");
    assert!(ran.stdout.ends_with("1 check, none failed\n"), "{ran:#?}");
    let ran = run(&["plugin", "check", "planner-gird"]).expect(2);
    let expected = "there is no plugin `planner-gird`: did you mean `planner-grid`?";
    assert!(ran.stderr.contains(expected), "{ran:#?}");
    // A file of that name may be a stranger's.
    let folder = tempfile::tempdir().unwrap();
    for name in ["planner-grid", "planner-gird"] {
        std::fs::copy(library("solver_search"), folder.path().join(name)).unwrap();
    }
    let here = |name: &str| {
        let mut program = flowpipe(&["plugin", "check", name, "--only", "manifest"]);
        Ran::from(program.current_dir(folder.path()).output().unwrap())
    };
    let ran = here("planner-grid").expect(0);
    assert!(ran.stdout.starts_with(&file), "{ran:#?}");
    let ran = here("planner-gird").expect(2);
    let expected = "did you mean `planner-grid`? (for the file of that name, write ./planner-gird)";
    assert!(ran.stderr.contains(expected), "{ran:#?}");
    let ran = run(&["plugin", "check", "no/planner-grid"]).expect(2);
    assert!(ran.stderr.contains("no/planner-grid: "), "{ran:#?}");
}

#[test]
fn a_shipped_vision_reads_what_it_is_shown() {
    let file = library("vision_opencv").display().to_string();
    let ran = run(&[
        "plugin",
        "check",
        &file,
        "--only",
        "answers",
        "--only",
        "malformed",
    ])
    .expect(0);
    assert!(ran.stdout.contains("0 wrong"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("2 checks, none failed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn memory_that_is_left_is_measured() {
    let ran = check("leaks", "leaks").expect(1);
    let printed = ran.stdout.split_once("each stage leaves ");
    let bytes = printed.and_then(|(_, rest)| rest.split_once(" bytes of memory"));
    let bytes: u64 = bytes
        .unwrap_or_else(|| panic!("{ran:#?}"))
        .0
        .parse()
        .unwrap();
    // 100, which the allocator makes 112; what else goes on in the process may come and go meanwhile.
    assert!((105..=119).contains(&bytes), "{bytes}");
}

#[test]
fn threads_and_files_and_frames_that_are_left_are_counted() {
    finds(
        "leaves-threads",
        "threads",
        "threads are left when all stages are destroyed",
    );
    finds(
        "leaves-files",
        "leaks",
        "400 open files are left by 400 stages",
    );
    finds(
        "keeps-frames",
        "leaks",
        "1 frame is left when it is destroyed",
    );
}

#[test]
fn a_crash_is_reported_with_what_it_happened_at() {
    let ran = check("crashes", "malformed").expect(1);
    assert!(
        ran.stdout
            .contains("it crashed: SIGSEGV while processing {}"),
        "{}",
        ran.stdout
    );
    // The other checks have processes of their own.
    check("crashes", "answers").expect(0);
}

#[test]
fn the_process_ends_only_when_the_check_does() {
    finds(
        "ends-the-process",
        "answers",
        "the plugin ended the process (exit code 0) while answering a board",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = faulty(folder.path(), &["ENDS_WHEN_LOADED"]);
    let ran = run(&["plugin", "check", &file.display().to_string()]).expect(1);
    let printed = "FAIL  load        the plugin ended the process (exit code 0) while loading it";
    assert!(ran.stdout.contains(printed), "{}", ran.stdout);
}

#[test]
fn what_a_plugin_prints_hides_nothing() {
    finds(
        "prints",
        "answers",
        "it reports no solution, but there is one",
    );
}

#[test]
fn files_that_are_not_its_own_stay_open() {
    finds(
        "closes-files",
        "answers",
        "the plugin closed a file that is not its own while answering a board",
    );
}

/// Nothing waits for a process that a plugin leaves behind with all files open.
#[test]
fn what_a_plugin_starts_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let (file, note) = (faulty(folder.path(), &[]), folder.path().join("note"));
    let mut program = flowpipe(&["plugin", "check", "--stage", "leaves-processes"])
        .args(["--only", "answers"])
        .arg(file)
        .env("FAULTY_NOTE", &note)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let left = noted(&note);
    until("the end", || program.try_wait().unwrap().is_some());
    // That it is there still is what the test looks at.
    send_signal("KILL", left);
}

#[cfg(target_os = "linux")]
#[test]
fn a_check_does_not_outlive_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let (file, note) = (faulty(folder.path(), &[]), folder.path().join("note"));
    let mut program = flowpipe(&["plugin", "check", "--stage", "hangs", "--time", "1h"])
        .args(["--only", "answers"])
        .arg(file)
        .env("FAULTY_NOTE", &note)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let check = PathBuf::from(format!("/proc/{}", noted(&note)));
    assert!(check.exists());
    program.kill().unwrap();
    program.wait().unwrap();
    // Whoever inherits it may be slow to reap it.
    until("its end", || {
        let stat = std::fs::read_to_string(check.join("stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    });
}

#[test]
fn a_hang_is_ended() {
    let ran = check("hangs", "answers").expect(1);
    assert!(
        ran.stdout
            .contains("it hung, and was killed while answering a board"),
        "{}",
        ran.stdout
    );
}

#[test]
fn wrong_claims_are_found_out() {
    finds(
        "lies",
        "answers",
        "it reports no solution, but there is one",
    );
    finds(
        "changes",
        "repeatable",
        "it declares itself deterministic, but two stages answer differently",
    );
    finds(
        "bad-default",
        "config",
        "its own defaults don't fit its schema: \"many\" is not of type \"integer\"",
    );
}

/// Both by the one clock that a stage on trial is printed.
#[test]
fn the_age_of_a_frame_is_the_same_each_time() {
    check("reports-age", "repeatable").expect(0);
}

#[test]
fn state_that_is_lost_or_spent_or_trusted_is_found_out() {
    finds(
        "forgets",
        "state",
        "after loading the state it answers differently than without",
    );
    finds(
        "spends",
        "state",
        "after saving it answers differently than without",
    );
    finds(
        "refuses",
        "state",
        "it does not load what it saved: it does not know the format `faulty/1`",
    );
    let ran = check("trusts", "state").expect(1);
    let crash = "it crashed: SIGSEGV while loading faulty/1 {}";
    assert!(ran.stdout.contains(crash), "{}", ran.stdout);
    let ran = check("lies", "state").expect(0);
    assert!(
        ran.stdout.contains("it does not support flowpipe.state/1"),
        "{}",
        ran.stdout
    );
}

#[test]
fn shipped_stages_hand_their_state_over() {
    let frames = project().join("pipelines/frames").display().to_string();
    let again = format!("{{ paths = [{frames:?}], repeat = true }}");
    let once = format!("{{ paths = [\"{frames}/phone-5x5-01.png\"] }}");
    for (name, config, compared) in [
        ("referee_repair", "{}", "nothing compared"),
        ("referee_once", "{}", "more answered the same"),
        ("capture_files", &again, "5 ticks, 5 more answered the same"),
        ("capture_files", &once, "0 ticks, 1 more answered the same"),
    ] {
        let file = library(name).display().to_string();
        let ran = run(&[
            "plugin", "check", &file, "--only", "state", "--config", config,
        ])
        .expect(0);
        assert!(ran.stdout.contains("  ok    state"), "{}", ran.stdout);
        assert!(ran.stdout.contains(compared), "{}", ran.stdout);
    }
}

#[test]
fn failures_on_other_threads_and_of_cancelled_work_are_reported() {
    finds(
        "panics-elsewhere",
        "threads",
        "on another thread than created it: it panicked, at a board",
    );
    finds(
        "changes-elsewhere",
        "threads",
        "on another thread than created it: it answers differently to a board",
    );
    finds(
        "panics-when-cancelled",
        "cancel",
        "it panicked when it was cancelled",
    );
    finds(
        "panics-when-cancelled",
        "answers",
        "with holes: it panicked",
    );
}

#[test]
fn slow_is_not_hung() {
    let folder = tempfile::tempdir().unwrap();
    let file = faulty(folder.path(), &[]).display().to_string();
    let stage = ["plugin", "check", &file, "--stage", "slow", "--time", "3s"];
    let ran = run(&[&stage[..], &["--only", "repeatable"]].concat()).expect(0);
    let printed = "1 check, none failed";
    assert!(ran.stdout.contains(printed), "{}", ran.stdout);
}

#[test]
fn a_stage_that_needs_a_config_keeps_no_other_from_being_tried() {
    let folder = tempfile::tempdir().unwrap();
    let file = faulty(folder.path(), &[]).display().to_string();
    let ran = run(&["plugin", "check", &file, "--only", "manifest"]).expect(0);
    let how = "not checked: it requires a config (\"key\" is a required property): \
               set one with --stage needs-a-config --config '{ … }'";
    assert!(ran.stdout.contains(how), "{}", ran.stdout);
    let all = "23 checks, none failed; 1 stage was not checked";
    assert!(ran.stdout.contains(all), "{}", ran.stdout);
    let ran = run(&["plugin", "check", &file, "--only", "manifest", "--json"]).expect(0);
    let printed: Value = ran.json();
    let stages = printed["stages"].as_array().unwrap();
    let of = |name: &str| {
        let mut stages = stages.iter();
        stages.find(|it| it["manifest"]["name"] == name).unwrap()
    };
    assert!(of("lies")["not_tried"].is_null());
    assert!(of("needs-a-config")["not_tried"].is_string());
    // Alone it is nothing that could be tried.
    let ran = run(&["plugin", "check", &file, "--stage", "needs-a-config"]).expect(78);
    assert!(ran.stderr.contains("set one with"), "{}", ran.stderr);
    let with = ["--stage", "needs-a-config", "--config", "{ key = 'it' }"];
    run(&[&["plugin", "check", &file, "--only", "manifest"][..], &with].concat()).expect(0);
}

#[test]
fn a_command_that_dies_at_malformed_messages_is_no_hang() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("dies.py");
    let text = "import json, sys\n\
                for asked in map(json.loads, sys.stdin):\n    \
                if \"message\" in asked: asked[\"message\"][\"body\"][\"reading\"]\n    \
                print(json.dumps({\"id\": asked[\"id\"]}), flush=True)\n";
    std::fs::write(&script, text).unwrap();
    let config = format!("{{ command = [\"python3\", '{}'] }}", script.display());
    let file = library("exec").display().to_string();
    let stage = ["--stage", "exec", "--config", &config];
    let ran = run(&[
        &["plugin", "check", &file, "--only", "malformed"][..],
        &stage,
    ]
    .concat());
    let ran = ran.expect(1);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("it died: `python3"), "{flat}");
    assert!(
        flat.contains("(exit code 1) instead of answering"),
        "{flat}"
    );
    assert!(
        flat.contains("KeyError: 'reading', at the message {}"),
        "{flat}"
    );
    assert!(!flat.contains("did not return"), "{flat}");
}

/// A stage that dies without a buffer, or with one that its input does not take.
#[test]
fn an_input_of_buffers_gets_buffers() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("loudest.py");
    let text = "import array, json, sys\n\
                for asked in map(json.loads, sys.stdin):\n    \
                answer = {\"id\": asked[\"id\"]}\n    \
                if \"message\" in asked:\n        \
                buffer = asked[\"message\"][\"buffer\"]\n        \
                assert buffer[\"element\"] == \"f32\" and buffer[\"shape\"][1] == 2, buffer\n        \
                samples = array.array(\"f\", open(buffer[\"file\"], \"rb\").read())\n        \
                assert len(samples) == 2 * buffer[\"shape\"][0]\n        \
                answer[\"messages\"] = [{\"schema\": \"x.peak/1\", \"body\": max(samples)}]\n    \
                print(json.dumps(answer), flush=True)\n";
    std::fs::write(&script, text).unwrap();
    let carries = "{ media_type = \"audio/*\", element = \"f32\", shape = [\"any\", 2] }";
    let config = format!(
        "{{ command = [\"python3\", '{}'], inputs = {{ in = {{ schema = \"audio.block/1\", carries = {carries} }} }} }}",
        script.display()
    );
    let file = library("exec").display().to_string();
    for only in ["answers", "state"] {
        let stage = ["--stage", "exec", "--config", &config, "--only", only];
        let ran = run(&[&["plugin", "check", &file][..], &stage].concat()).expect(0);
        let is_answered = ran.stdout.contains("3 answered, 0 skipped, 0 wrong");
        assert!(only != "answers" || is_answered, "{ran:#?}");
    }
}

#[test]
fn what_can_not_be_made_is_checked_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let file = faulty(folder.path(), &[]).display().to_string();
    let ran = run(&["plugin", "check", &file, "--stage", "made-never"]).expect(1);
    assert!(ran.stdout.contains("no licence"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("1 of 2 checks failed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn files_that_are_no_plugins_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "text").unwrap();
    let ran = run(&["plugin", "check", &text.display().to_string()]).expect(1);
    assert!(
        ran.stdout
            .contains("FAIL  load        not a dynamic library"),
        "{}",
        ran.stdout
    );

    let crashes = faulty(folder.path(), &["CRASHES_WHEN_LOADED"]);
    let ran = run(&["plugin", "check", &crashes.display().to_string()]).expect(1);
    assert!(
        ran.stdout.contains("it crashed: SIGSEGV while loading it"),
        "{}",
        ran.stdout
    );

    run(&["plugin", "check", "no/such/file.so"]).expect(2);
    let file = library("solver_search").display().to_string();
    let ran = run(&["plugin", "check", &file, "--stage", "other"]).expect(2);
    assert!(
        ran.stderr.contains("has no stage `other`"),
        "{}",
        ran.stderr
    );
    let ran = run(&["plugin", "check", &file, "--config", "{ limits = 3 }"]).expect(78);
    assert!(ran.stderr.contains("--config"), "{}", ran.stderr);
    let file = library("capture_files").display().to_string();
    let ran = run(&["plugin", "check", &file]).expect(78);
    assert!(
        ran.stderr.contains("it requires a config"),
        "{}",
        ran.stderr
    );
}

/// A stage of a domain of its own: what was tried is called what it is, and an input without samples is named.
#[test]
fn inputs_of_other_domains_are_called_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("answers.py");
    let answers = "import json, sys\n\
                   for asked in map(json.loads, sys.stdin):\n    \
                   answer = {\"id\": asked[\"id\"]}\n    \
                   if \"message\" in asked: answer[\"messages\"] = [{\"port\": \"out\", \"body\": 1}]\n    \
                   print(json.dumps(answer), flush=True)\n";
    std::fs::write(&script, answers).unwrap();
    let checked = |inputs: &str| {
        let config = format!(
            "{{ command = [\"python3\", '{}'], inputs = {{ {inputs} }}, outputs = {{ out = {{ schema = \"spots.targets/1\" }} }} }}",
            script.display()
        );
        let args = [
            "plugin", "check", "exec", "--config", &config, "--only", "answers",
        ];
        run(&args).expect(0).stdout
    };
    let frames = checked("frame = { schema = \"flowpipe.frame/1\" }");
    assert!(
        frames.contains("33 frames: 33 answered, 0 skipped, 0 wrong"),
        "{frames}"
    );
    for schema in ["metrics", "overlay", "gesture-outcome"] {
        let schema = format!("flowpipe.{schema}/1");
        let ran = checked(&format!("input = {{ schema = \"{schema}\" }}"));
        let words = format!("3 messages of {schema}: 3 answered, 0 skipped, 0 wrong");
        assert!(ran.contains(&words) && !ran.contains("board"), "{ran}");
    }
    let ran = checked("spots = { schema = \"spots.targets/1\" }");
    let words = "input `spots`: there are no samples of spots.targets/1, a schema that flowpipe does not know: \
                 test its answers with messages of your own";
    assert!(ran.contains(words) && !ran.contains("board"), "{ran}");
}

#[test]
fn a_check_judges_and_is_never_called_to_process() {
    let folder = tempfile::tempdir().unwrap();
    // Its functions that process and reset abort.
    let house = compile("tests/plugins/judging.c", folder.path(), "house", &[]);
    let ran = run(&["plugin", "check", house.to_str().unwrap()]).expect(0);
    for words in [
        "all accepted",
        "the same verdict three times",
        "4 threads at once, the same verdicts",
        "it judges messages, and is never called for that",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let file = library("check_messages").display().to_string();
    run(&["plugin", "check", &file, "--only", "malformed"]).expect(0);
    let defines = ["FAILS=\"broken\""];
    let failing = compile(
        "tests/plugins/judging.c",
        folder.path(),
        "failing",
        &defines,
    );
    let only = |test| run(&["plugin", "check", failing.to_str().unwrap(), "--only", test]);
    only("malformed").expect(0);
    let ran = only("answers").expect(1);
    assert!(
        ran.stdout.contains("it gave no verdict: broken"),
        "{}",
        ran.stdout
    );
}
