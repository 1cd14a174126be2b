//! Tests of ids and of the thread.

use std::sync::{Condvar, Mutex};

use flowpipe_abi::Hop;
use flowpipe_config::pipeline::{Contestant, Isolation, Machines, OnError, OnStop, PortRef, Stage};
use flowpipe_recording::entry::Event;
use flowpipe_sync::lock;

use super::*;

const RUN: u128 = 7;

/// A span that is kept.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    trace: u128,
    id: u64,
    parent: Option<u64>,
    /// With the plugin, and the number of the worker.
    stage: String,
    /// What it took: from where, the number, how long that was queued.
    taken: Option<(String, u64, i64)>,
    times: (i64, i64),
    result: String,
    marks: Vec<(String, i64)>,
}

/// A sink that keeps everything.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<(Vec<Kept>, u64, bool)>>);

impl SpanSink for Keeper {
    fn take(&mut self, span: &Span<'_>) {
        let worker = span.worker.map_or(String::new(), |it| format!("#{it}"));
        lock(&self.0).0.push(Kept {
            trace: span.trace,
            id: span.id,
            parent: span.parent,
            stage: format!("{}{worker}/{}", span.stage, span.plugin),
            taken: span
                .taken
                .map(|it| (it.from.to_owned(), it.sequence, it.queued_ns)),
            times: (span.began_ns, span.ended_ns),
            result: format!("{:?}", span.result),
            marks: span.marks.to_vec(),
        });
    }

    fn missing(&mut self, calls: u64) {
        lock(&self.0).1 += calls;
    }

    fn pass(&mut self) {}

    fn end(&mut self) {
        lock(&self.0).2 = true;
    }
}

/// in -> work (two workers, two plugins race) -> out.
fn pipeline() -> Pipeline {
    let stage = |name: &str, plugins: &[&str], workers| Stage {
        name: name.to_owned(),
        contestants: plugins
            .iter()
            .map(|plugin| Contestant {
                plugin: (*plugin).to_owned(),
                config: serde_json::json!({}),
                revision: 0,
            })
            .collect(),
        timeout: None,
        on_error: OnError::Stop,
        watchdog: Duration::from_secs(10),
        isolation: Isolation::Thread,
        restart: None,
        fresh: false,
        workers,
        ordered: true,
    };
    Pipeline {
        name: "three".to_owned(),
        stages: vec![
            stage("in", &["source"], 1),
            stage("work", &["slow", "fast"], 2),
            stage("out", &["sink"], 1),
        ],
        edges: Vec::new(),
        on_stop: OnStop::Drain,
        machines: Machines::default(),
        record: None,
    }
}

/// A message of a stage, which took what it is made from at this time. `parent`: that message.
fn message(stage: usize, sequence: u64, taken_ns: i64, parent: Option<&Message>) -> Arc<Message> {
    let mut message = Message::detached("x.a/1", b"{}").unwrap();
    message.source = PortRef { stage, port: 0 };
    message.lineage.sequence = sequence;
    message.lineage.root = parent.map(Message::root);
    message.lineage.hops.push(Hop {
        stage: stage as u32,
        reserved: 0,
        taken_ns,
        emitted_ns: taken_ns + 5,
    });
    Arc::new(message)
}

/// One call of the first plugin of the first worker.
fn task(stage: usize, taken: Option<&Message>, taken_ns: i64) -> Task<'_> {
    Task {
        stage,
        plugin: 0,
        worker: 0,
        event: match taken {
            Some(_) => Event::Message,
            None => Event::Tick,
        },
        taken: taken.map(|message| (0, message)),
        origin: None,
        taken_ns,
        began_ns: taken_ns,
    }
}

/// Reports a call, which lasts 8 ns, and what it emits.
fn call(observer: &SpanObserver, task: &Task<'_>, result: TaskResult<'_>, emits: &[&Arc<Message>]) {
    observer.task_started(task);
    for message in emits {
        observer.message(task.stage, 0, message);
    }
    let completion = Completion {
        ended_ns: task.taken_ns + 8,
        waited_ns: 0,
        emitted: emits.len() as u64,
        result,
    };
    observer.task_finished(task, &completion);
}

/// What a sink gets of what `report` reports.
fn spans(elsewhere: &[usize], report: impl FnOnce(&SpanObserver)) -> Vec<Kept> {
    let keeper = Keeper::default();
    let elsewhere = elsewhere.iter().copied().collect();
    let (observer, thread) =
        SpanObserver::start(keeper.clone(), &pipeline(), RUN, elsewhere).unwrap();
    report(&observer);
    // The observer is still referenced, as by a stage that hangs.
    thread.finish();
    drop(observer);
    let (spans, missing, is_over) = lock(&keeper.0).clone();
    assert_eq!((missing, is_over), (0, true));
    spans
}

#[test]
fn a_lineage_is_a_trace_whose_spans_follow_the_messages() {
    let read = message(0, 1, 10, None);
    let made = message(1, 1, 20, Some(&read));
    let found = spans(&[], |observer| {
        call(observer, &task(0, None, 10), TaskResult::Done, &[&read]);
        call(
            observer,
            &task(1, Some(&read), 20),
            TaskResult::Done,
            &[&made],
        );
        call(observer, &task(2, Some(&made), 40), TaskResult::Done, &[]);
        // It waits for more: nothing descends from it.
        call(observer, &task(0, None, 50), TaskResult::Done, &[]);
    });
    let names: Vec<_> = found.iter().map(|it| &*it.stage).collect();
    assert_eq!(names, ["in/source", "work#1/slow", "out/sink"]);
    assert!(found.iter().all(|it| it.trace == found[0].trace));
    assert_eq!(found[0].parent, None);
    assert_eq!(found[1].parent, Some(found[0].id));
    assert_eq!(found[2].parent, Some(found[1].id));
    assert_eq!(found[0].taken, None);
    assert_eq!(found[1].taken, Some(("in".to_owned(), 1, 5)));
    assert_eq!(found[2].taken, Some(("work".to_owned(), 1, 15)));
    assert_eq!(found[2].times, (40, 48));
}

#[test]
fn each_message_of_a_source_begins_a_trace() {
    let read = [1, 2].map(|sequence| message(0, sequence, 10, None));
    let found = spans(&[], |observer| {
        let source = task(0, None, 10);
        call(observer, &source, TaskResult::Done, &[&read[0], &read[1]]);
        for message in &read {
            call(observer, &task(2, Some(message), 30), TaskResult::Done, &[]);
        }
    });
    assert_eq!(found.len(), 4);
    assert_ne!(found[0].trace, found[1].trace);
    for (source, sink) in [(0, 2), (1, 3)] {
        assert_eq!(found[source].trace, found[sink].trace);
        assert_eq!(found[sink].parent, Some(found[source].id));
    }
    let ids: BTreeSet<_> = found.iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), 4);
}

#[test]
fn of_plugins_that_race_the_winner_is_the_parent() {
    let read = message(0, 1, 10, None);
    let made = message(1, 1, 20, Some(&read));
    let found = spans(&[], |observer| {
        let slow = task(1, Some(&read), 20);
        let fast = Task { plugin: 1, ..slow };
        let other = Task { worker: 1, ..slow };
        call(observer, &fast, TaskResult::Done, &[&made]);
        // It was about to emit.
        call(observer, &slow, TaskResult::Lost, &[&made]);
        call(observer, &other, TaskResult::Failed("no"), &[]);
        call(observer, &task(2, Some(&made), 40), TaskResult::Done, &[]);
    });
    let stages: Vec<_> = found.iter().map(|it| &*it.stage).collect();
    assert_eq!(
        stages,
        ["work#1/fast", "work#1/slow", "work#2/slow", "out/sink"]
    );
    let results: Vec<_> = found.iter().map(|it| &*it.result).collect();
    assert_eq!(results, ["Done", "Lost", "Failed(\"no\")", "Done"]);
    let ids: BTreeSet<_> = found.iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), 4, "each call is a span of its own");
    assert_eq!(found[3].parent, Some(found[0].id));
}

#[test]
fn what_another_machine_emitted_has_no_parent_here() {
    let read = message(0, 1, 10, None);
    let found = spans(&[0], |observer| {
        observer.arrived(0, 0, &read);
        call(observer, &task(1, Some(&read), 20), TaskResult::Done, &[]);
    });
    assert_eq!((found.len(), found[0].parent), (1, None));
}

#[test]
fn a_source_that_fails_has_a_span_and_marks_are_bounded() {
    let found = spans(&[], |observer| {
        for at_ns in [10, 20] {
            let source = task(0, None, at_ns);
            observer.task_started(&source);
            for number in 0..100 {
                observer.mark(0, "mark", None, number);
                // Of another stage: not of this call.
                observer.mark(1, "other", None, number);
            }
            let completion = Completion {
                ended_ns: 5,
                waited_ns: 0,
                emitted: 0,
                result: TaskResult::Failed("broken"),
            };
            observer.task_finished(&source, &completion);
        }
    });
    assert_eq!(found.len(), 2);
    assert_ne!(found[0].trace, found[1].trace);
    assert_eq!(found[0].result, "Failed(\"broken\")");
    assert_eq!(found[0].marks.len(), MOST_MARKS);
    assert!(found[0].marks.iter().all(|(name, _)| name == "mark"));
    assert_eq!(found[0].times, (10, 10), "it does not end before it began");
}

#[test]
fn other_runs_have_other_ids() {
    let root = (PortRef { stage: 0, port: 0 }, 1);
    assert_ne!(ids::trace(1, root), ids::trace(2, root));
    assert_ne!(ids::span(1, root, 0, 5, 0), ids::span(2, root, 0, 5, 0));
    let others = [
        ids::span(1, root, 1, 5, 0),
        ids::span(1, root, 0, 6, 0),
        ids::span(1, root, 0, 5, 1),
        ids::span(1, (root.0, 2), 0, 5, 0),
    ];
    assert!(!others.contains(&ids::span(1, root, 0, 5, 0)));
}

/// A sink that takes nothing until it may.
#[derive(Clone, Default)]
struct Blocked(Keeper, Arc<(Mutex<bool>, Condvar)>);

impl SpanSink for Blocked {
    fn take(&mut self, span: &Span<'_>) {
        let (may, changed) = &*self.1;
        drop(changed.wait_while(lock(may), |may| !*may));
        self.0.take(span);
    }

    fn missing(&mut self, calls: u64) {
        self.0.missing(calls);
    }

    fn pass(&mut self) {}

    fn end(&mut self) {}
}

#[test]
fn a_sink_that_blocks_costs_bounded_memory_and_what_is_missing_is_counted() {
    let (sink, most) = (Blocked::default(), 1 << 20);
    let run = (RUN, BTreeSet::new());
    let (observer, thread) = SpanObserver::bounded(sink.clone(), &pipeline(), run, most).unwrap();
    let text = "x".repeat(most / 64);
    let sent = 128;
    for at_ns in 1..=sent {
        let source = task(0, None, at_ns);
        call(&observer, &source, TaskResult::Failed(&text), &[]);
        assert!(observer.notes.bytes() <= most);
    }
    *lock(&sink.1.0) = true;
    sink.1.1.notify_all();
    thread.finish();
    let (spans, missing, _) = lock(&sink.0.0).clone();
    assert!(missing >= sent as u64 / 2, "{missing}");
    assert_eq!(spans.len() as u64 + missing, sent as u64);
}
