#![allow(clippy::unwrap_used, reason = "tests end by panicking")]

use std::ffi::CString;

use flowpipe_host::document::Document;
use flowpipe_host::message::{Lineage, Message};
use flowpipe_recording::entry::{Call, DroppedLineages, Event, Mark, Taken};

use super::*;
use crate::record::Picture;
use crate::record::item_size::ITEM;

const STAGES: [&str; 2] = ["screen", "vision"];

fn port(stage: usize) -> PortRef {
    PortRef { stage, port: 0 }
}

/// A message of some 1,000 bytes that descends from a frame, as all of its number do.
fn message(stage: usize, number: u64) -> (Item, Dependency) {
    let root = (port(0), number);
    let message = Message {
        schema: CString::new("a/1").unwrap().into(),
        body: Document::new(format!("\"{}\"", "x".repeat(1000 - ITEM)).as_bytes()).unwrap(),
        frame: None,
        lineage: Lineage {
            sequence: number,
            origin: None,
            captured: None,
            hops: flowpipe_host::message::Hops::new(),
            root: (stage > 0).then_some(root),
        },
        source: port(stage),
    };
    let dependency = Dependency::Message {
        own: message.key(),
        root: message.root(),
    };
    let topic = Topic::new(STAGES[stage], "out");
    (
        Item::Message(topic, Arc::new(message), Picture::None),
        dependency,
    )
}

/// The call of the second stage that took a frame and emitted a message.
fn call(number: u64) -> (Item, Dependency) {
    let call = Call {
        stage: STAGES[1].into(),
        event: Event::Message,
        took: Some(Taken {
            port: "in".into(),
            from: STAGES[0].into(),
            output: "out".into(),
            sequence: number,
        }),
        ..Call::default()
    };
    let dependency = Dependency::Call {
        took: Some((port(0), number)),
        emitted: vec![(port(1), number)],
        is_of_source: false,
    };
    (Item::Call(Box::new(call)), dependency)
}

fn push(queue: &Queue, (item, dependency): (Item, Dependency)) {
    queue.push(item, dependency);
}

/// A summary of the queued items.
fn pop_all(queue: &Queue) -> Vec<String> {
    let mut all = Vec::new();
    while let Popped::Item(item, size) = queue.pop(Instant::now()) {
        all.push(match &item {
            Item::Message(topic, message, _) => {
                format!("{} {}", topic.stage, message.lineage().sequence)
            }
            Item::Call(call) => format!("call {}", call.took.as_ref().unwrap().sequence),
            Item::DroppedLineages(DroppedLineages {
                stage,
                first,
                last,
                partly,
                ..
            }) => format!("dropped {stage} {first}..{last} {partly}"),
            _ => "else".to_owned(),
        });
        queue.written(size);
    }
    all
}

#[test]
fn a_full_queue_drops_whole_lineages() {
    let queue = Queue::new(4_100, false);
    for number in 1..=9 {
        push(&queue, message(0, number));
    }
    // Their descendants arrive after there is room again.
    let first = pop_all(&queue);
    assert_eq!(first, ["screen 1", "screen 2", "screen 3", "screen 4"]);
    for number in 3..=6 {
        push(&queue, message(1, number));
        push(&queue, call(number));
    }
    let rest = ["vision 3", "call 3", "vision 4", "call 4"];
    assert_eq!(pop_all(&queue), rest);
    push(&queue, message(0, 10));
    queue.close();
    let last = ["dropped screen 5..9 false", "screen 10"];
    assert_eq!(pop_all(&queue), last);
    assert_eq!(queue.dropped(), (5, 7));
    assert!(matches!(queue.pop(Instant::now()), Popped::Over));
}

#[test]
fn a_queue_that_is_not_emptied_stays_bounded() {
    let queue = Queue::new(4_000, false);
    push(&queue, message(0, 1));
    push(&queue, message(0, 2));
    for _ in 0..1000 {
        push(&queue, message(1, 1));
        push(&queue, call(1));
        assert!(queue.bytes.load(Ordering::Relaxed) <= 5_000);
    }
    push(&queue, message(1, 2));
    queue.close();
    // The first lineage is dropped as a whole. The second one is recorded as a whole.
    let left = ["screen 2", "vision 2", "dropped screen 1..1 false"];
    assert_eq!(pop_all(&queue), left);
}

#[test]
fn a_lineage_whose_beginning_is_written_is_cut() {
    let queue = Queue::new(4_000, false);
    push(&queue, message(0, 1));
    assert_eq!(pop_all(&queue), ["screen 1"]);
    for number in 1..=8 {
        let (Item::Message(topic, sent, picture), _) = message(1, number) else {
            unreachable!("it is a message");
        };
        let dependency = Dependency::Message {
            own: sent.key(),
            root: (port(0), 1),
        };
        queue.push(Item::Message(topic, sent, picture), dependency);
        push(&queue, call(number));
    }
    assert!(lock(&queue.state).has_warned, "a cut lineage is logged too");
    queue.close();
    assert_eq!(pop_all(&queue), ["dropped screen 1..1 true"]);
}

#[test]
fn a_lossless_queue_makes_stages_wait() {
    let queue = Queue::new(2_000, true);
    for number in 1..=4 {
        assert_eq!(queue.wants_time(), number > 2);
        push(&queue, message(0, number));
    }
    queue.wait_for_room(&|| true);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.wait_for_room(&|| false));
        assert_eq!(pop_all(&queue).len(), 4, "nothing is dropped");
        waiting.join().unwrap();
        // A failed recorder wakes waiting stages.
        for number in 5..=8 {
            push(&queue, message(0, number));
        }
        let waiting = scope.spawn(|| queue.wait_for_room(&|| false));
        queue.fail();
        waiting.join().unwrap();
    });
    assert!(!queue.wants_time());
    assert_eq!(queue.dropped(), (0, 0));
}

#[test]
fn the_names_that_plugins_choose_take_room() {
    let calls = Queue::new(4_000, false);
    let messages = Queue::new(4_000, false);
    let long = "x".repeat(1_000);
    for number in 1..=100 {
        let mark = Mark {
            name: long.as_str().into(),
            at_ns: 0,
        };
        let call = Call {
            marks: vec![mark],
            ..Call::default()
        };
        calls.push(Item::Call(Box::new(call)), Dependency::Nothing);
        let message = Message {
            schema: CString::new(long.as_str()).unwrap().into(),
            body: Document::new(b"0").unwrap(),
            frame: None,
            lineage: Lineage {
                sequence: number,
                origin: None,
                captured: None,
                hops: flowpipe_host::message::Hops::new(),
                root: None,
            },
            source: port(0),
        };
        let dependency = Dependency::Message {
            own: message.key(),
            root: message.root(),
        };
        let topic = Topic::new(STAGES[0], "out");
        let item = Item::Message(topic, Arc::new(message), Picture::None);
        messages.push(item, dependency);
    }
    assert_eq!(pop_counted(&calls), 3);
    assert_eq!(pop_counted(&messages), 3);
}

/// Empties a queue, and returns how many items it had.
fn pop_counted(queue: &Queue) -> usize {
    let next = || matches!(queue.pop(Instant::now()), Popped::Item(..)).then_some(());
    std::iter::from_fn(next).count()
}
