//! What plugins state about time: marks, and when frames were captured.

use flowpipe_engine::report::Report;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher};
use crate::isolation::{isolated, run};

/// One message with a picture through the fixture `act`, in the host and in a process of its own.
fn runs(with_picture: bool, config: &Value, check: impl Fn(&Report, &Watcher)) {
    for is_isolated in [false, true] {
        let mut pipeline = Builder::new();
        let source = match with_picture {
            true => json!({ "count": 1, "width": 8, "height": 8 }),
            false => json!({ "count": 1 }),
        };
        let source = pipeline.stage("source", source);
        let act = pipeline.stage("act", config.clone());
        let sink = pipeline.stage("sink", json!({}));
        pipeline.join(source, act);
        pipeline.join(act, sink);
        if is_isolated {
            pipeline = isolated(pipeline, act);
        }
        let (report, watcher) = run(pipeline);
        assert_eq!((watcher.problems(), &report.failure), (vec![], &None));
        check(&report, &watcher);
    }
}

#[test]
fn marks_are_limited() {
    runs(true, &json!({ "do": "mark-many" }), |report, watcher| {
        let marks = watcher.marks();
        let mut names: Vec<_> = marks
            .iter()
            .filter(|it| it.0 == 1)
            .map(|it| &it.1)
            .collect();
        assert_eq!(names.len(), 1000, "marks of one call");
        names.dedup();
        assert_eq!(names.len(), 1000, "the names differ");
        assert_eq!(*names[0], "x".repeat(256), "a long name is cut");
        assert_eq!(report.marks.len(), 64, "names in the report");
    });
}

#[test]
fn capture_times_are_clamped() {
    let late = json!({ "do": "captured", "count": i64::MAX });
    runs(false, &late, |report, watcher| {
        assert_eq!(watcher.from(1)[0].age_ns, Some(0), "not in the future");
        assert!(report.marks["action"].time.max_ns > 0);
    });
    let early = json!({ "do": "captured", "count": i64::MIN });
    runs(false, &early, |report, watcher| {
        let age = watcher.from(1)[0].age_ns.unwrap();
        let longest = 1 << 60;
        assert!(age >= longest && age < longest + (1 << 50), "{age}");
        assert!(report.marks["action"].time.max_ns >= longest as u64);
    });
}
