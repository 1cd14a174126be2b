//! Buffers: what their ports carry, and what plugins can't do with them.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use flowpipe_config::pipeline::Isolation;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::problem::ProblemKind;
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, adds_up, compile, finish};

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("{}-buffers", env!("CARGO_CRATE_NAME")));
        std::fs::create_dir_all(&folder).unwrap();
        compile("buffers.c", &folder, "buffers", &[]);
        let catalogue = Catalogue::scan(&[folder], &Scanner::InProcess);
        assert_eq!(catalogue.refused(), []);
        catalogue
    })
}

/// A line of stages.
fn line(stages: &[(&str, Value)]) -> Builder {
    let mut line = Builder::new();
    for (plugin, config) in stages {
        let stage = line.stage(plugin, config.clone());
        if let Some(before) = stage.checked_sub(1) {
            line.join(before, stage);
        }
    }
    line
}

fn run(pipeline: Builder) -> (Report, Arc<Watcher>) {
    let watcher = Arc::new(Watcher::default());
    let options = Options {
        observers: vec![watcher.clone()],
        ..Options::default()
    };
    let run = Run::start(pipeline.0, catalogue(), options);
    let report = finish(run.unwrap_or_else(|error| panic!("{error}")));
    adds_up(&report);
    assert_eq!(report.frames.live, 0);
    (report, watcher)
}

fn start_error(stages: &[(&str, Value)]) -> String {
    let run = Run::start(line(stages).0, catalogue(), Options::default());
    run.err().unwrap().to_string()
}

fn check_sounds(watcher: &Watcher) {
    let seen = watcher.from(1);
    let expected = |n: usize| {
        json!({
            "element": 10, "shape": [64, 2], "rank": 2, "size": 512, "media_type": "audio/pcm", "picture": 0,
            "original": n, "same": 1,
        })
    };
    let expected: Vec<_> = (1..=5).map(expected).collect();
    let bodies: Vec<_> = seen.iter().map(|it| it.json.clone()).collect();
    assert_eq!(bodies, expected);
    // A buffer has a time of capture, as a picture has.
    assert_eq!(watcher.from(2).last().unwrap().frame_sequence, 5);
}

#[test]
fn a_buffer_crosses_stages_as_a_frame_does() {
    let stages = [
        ("sound", json!({ "count": 5 })),
        ("quieter", json!({})),
        ("sound-pass", json!({})),
    ];
    let (report, watcher) = run(line(&stages));
    assert_eq!((report.failure, watcher.problems()), (None, vec![]));
    check_sounds(&watcher);
    // What was passed on is the same memory.
    let place = |stage| watcher.from(stage)[0].pixels.unwrap().0;
    assert_eq!(place(1), place(2));
    assert_ne!(place(0), place(1));
}

#[cfg(unix)]
#[test]
fn isolated_stages_share_buffers() {
    let stages = [
        ("sound", json!({ "count": 5 })),
        ("quieter", json!({})),
        ("sound-pass", json!({})),
    ];
    for isolated in [vec![1], vec![0, 1, 2]] {
        let mut pipeline = line(&stages);
        for &stage in &isolated {
            pipeline.0.stages[stage].isolation = Isolation::Process;
        }
        let (report, watcher) = crate::isolated::run(pipeline.0, catalogue());
        assert_eq!((report.failure, watcher.problems()), (None, vec![]));
        check_sounds(&watcher);
    }
}

#[test]
fn a_wrong_layout_creates_no_buffer() {
    let expected = json!({
        "created": 0, "picture": -8, "null": -8, "small": -1, "good": 0, "size": 512, "frame": 0,
    });
    let (report, watcher) = run(line(&[("wrong", json!({}))]));
    assert_eq!(report.failure, None);
    assert_eq!(watcher.from(0)[0].json, expected);
    #[cfg(unix)]
    {
        let mut pipeline = line(&[("wrong", json!({})), ("deaf", json!({}))]);
        pipeline.0.stages[0].isolation = Isolation::Process;
        let (report, watcher) = crate::isolated::run(pipeline.0, catalogue());
        assert_eq!((report.failure, watcher.problems()), (None, vec![]));
        assert_eq!(watcher.from(0)[0].json, expected);
    }
}

#[test]
fn a_message_that_its_output_does_not_declare_is_refused() {
    for (plugin, how, why) in [
        (
            "sound",
            "mono",
            "a message with a buffer audio/pcm f32 [64, 1] where `carries` declares a buffer",
        ),
        (
            "sound",
            "text",
            "a message with a buffer text/plain u8 [64, 2] where",
        ),
        ("sound", "picture", "a message with a picture where"),
        ("sound", "nothing", "a message with nothing where"),
        (
            "sound-undeclared",
            "",
            "a message with a buffer audio/pcm f32 [64, 2] where `carries` declares nothing or a picture",
        ),
    ] {
        let (_, watcher) = run(line(&[(plugin, json!({ "count": 1, "do": how }))]));
        let problem = watcher.problem();
        assert_eq!(problem.kind, ProblemKind::BadMessage, "{problem:?}");
        assert!(problem.text.contains(why), "{}", problem.text);
        assert!(watcher.from(0).is_empty());
    }
}

/// An output that may carry anything meets every input; what one of them does not carry is refused.
#[test]
fn a_message_that_an_input_does_not_carry_is_refused() {
    let source = |how: &str| ("sound-of-any-kind", json!({ "count": 1, "do": how }));
    for (how, taker, why) in [
        (
            "",
            "deaf",
            "a message with a buffer audio/pcm f32 [64, 2], but input \"in\" of stage \"deaf-1\" carries nothing or a picture",
        ),
        (
            "picture",
            "quieter",
            "a message with a picture, but input \"in\" of stage \"quieter-1\" carries a buffer",
        ),
        ("nothing", "quieter", "a message with nothing, but"),
        ("text", "quieter", "text/plain u8 [64, 2], but"),
    ] {
        let (_, watcher) = run(line(&[source(how), (taker, json!({}))]));
        let problem = watcher.problem();
        assert!(problem.text.contains(why), "{}", problem.text);
        assert!(watcher.from(1).is_empty());
    }
    for how in ["", "picture", "nothing", "text", "mono"] {
        let (report, watcher) = run(line(&[source(how), ("sound-pass", json!({}))]));
        assert_eq!((report.failure, watcher.problems()), (None, vec![]));
        assert_eq!(watcher.from(1).len(), 1, "{how}");
    }
}

#[test]
fn ends_that_can_not_agree_do_not_start() {
    let sound = || ("sound", json!({ "count": 1 }));
    for (giver, taker, parts) in [
        (
            sound(),
            "deaf",
            [
                "input \"in\" carries nothing or a picture",
                "but output \"out\" of stage \"sound-0\" carries a buffer",
            ],
        ),
        (
            sound(),
            "reader",
            [
                "carries a buffer {\"media_type\":\"text/plain\"}",
                "sound-0",
            ],
        ),
        (
            ("sound-undeclared", json!({})),
            "quieter",
            [
                "carries a buffer {\"media_type\":\"audio/*\"}",
                "\"sound-undeclared-0\" carries nothing or a picture",
            ],
        ),
    ] {
        let error = start_error(&[giver, (taker, json!({}))]);
        let named = format!("stage \"{taker}-1\"");
        for part in parts.into_iter().chain([named.as_str(), "with `carries`"]) {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}
