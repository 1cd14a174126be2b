//! Each call of a stage is a span of `tracing`. A program of its own: a process has one subscriber for all threads.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use common::Builder;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

type Fields = BTreeMap<&'static str, String>;

/// Remembers the spans of stages, with their thread.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Fields>>>);

#[derive(Default)]
struct Reader(Fields);

impl Visit for Reader {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let about = attributes.metadata();
        if about.name() == "stage" {
            assert_eq!(*about.level(), Level::TRACE);
            let mut reader = Reader::default();
            attributes.record(&mut reader);
            self.0.lock().unwrap().push(reader.0);
        }
    }
}

#[test]
fn a_subscriber_sees_each_call_with_its_fields() {
    let listener = Listener::default();
    let subscriber = tracing_subscriber::registry().with(listener.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let mut pipeline = Builder::line(3, "pass", json!({}));
    pipeline.0.stages[0].contestants[0].config = json!({ "count": 3, "width": 8, "height": 8 });
    pipeline.run();
    let seen = listener.0.lock().unwrap().clone();
    let of = |stage: &str| -> Vec<&Fields> {
        let of_stage = |fields: &&Fields| fields["name"] == stage;
        seen.iter().filter(of_stage).collect()
    };
    let fields = |event: &str| {
        BTreeMap::from(
            [("name", "pass-1"), ("plugin", "pass"), ("event", event)]
                .map(|(name, value)| (name, value.to_owned())),
        )
    };
    let mut expected: Vec<Fields> = Vec::new();
    for number in 1..=3 {
        let mut message = fields("message");
        message.insert("port", "in".to_owned());
        message.insert("sequence", number.to_string());
        message.insert("frame", number.to_string());
        expected.push(message);
    }
    let mut last = fields("finish");
    last.insert("frame", "3".to_owned());
    expected.push(last);
    assert_eq!(of("pass-1"), expected.iter().collect::<Vec<_>>());
    // Three ticks that give a message, and at least one that ends the stream.
    let ticks = of("source-0");
    assert!(ticks.len() >= 3, "{seen:#?}");
    assert!(ticks.iter().all(|fields| fields["event"] == "tick"));
}
