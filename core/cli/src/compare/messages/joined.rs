//! The messages of two runs, joined by frame, schema and stage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flowpipe_message::OVERLAY;
use serde::Serialize;
use serde_json::Value;

use crate::compare::difference::PipelineId;
use crate::compare::frame::{FrameId, MessageSources};
use crate::compare::messages::json_difference::{JsonDifference, comparable, first_difference};
use crate::compare::messages::log::{Content, LoggedMessage, MessageLog, json_hash};
use crate::compare::messages::stage_metrics::StageMetrics;

/// The most differences that are kept. All are counted.
const MOST_DIFFERENCES: usize = 1_000;

/// What one pipeline emitted.
#[derive(Default)]
pub struct EmittedMessages {
    /// By the recorded message that they descend from, in the order of the stages. `None`: they descend from none.
    by_frame: BTreeMap<Option<FrameId>, Vec<LoggedMessage>>,
    /// The names of the stages.
    stages: Vec<String>,
    /// Which stages emitted which schema.
    emitters: BTreeSet<(Arc<str>, String)>,
    /// The metrics, by stage and name.
    pub metrics: StageMetrics,
}

/// The messages of both, joined.
#[derive(Default)]
pub struct JoinedMessages {
    /// The counts by schema.
    pub schemas: BTreeMap<Arc<str>, SchemaCounts>,
    /// The first differences, those that decide before others, in the order of the recording.
    pub differences: Vec<MessagePair>,
    /// How many differences there are, also those that are not kept.
    pub different: usize,
    /// How many recorded messages have descendants.
    pub frames: usize,
}

/// The counts of the messages of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SchemaCounts {
    /// Equal ones.
    pub equal: usize,
    /// Different ones.
    pub different: usize,
    /// Messages that only the first emits.
    pub a_alone: usize,
    /// Messages that only the second emits.
    pub b_alone: usize,
}

/// Two messages that differ, or one without the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePair {
    /// The recorded message that they descend from.
    pub frame: Option<FrameId>,
    /// Their schema.
    pub schema: Arc<str>,
    /// Their stage; the first pipeline's, if they are of stages of different names.
    pub stage: String,
    /// Their number among those of that schema and stage on the frame, from 1.
    pub number: usize,
    /// The difference.
    pub difference: MessageDifference,
}

/// The difference of two messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum MessageDifference {
    /// A field.
    Field(JsonDifference),
    /// The pixels.
    Pixels,
    /// Somewhere in JSON that was too much to keep, or is nested too deeply.
    Unlocated,
    /// One pipeline does not emit it.
    Alone {
        /// The pipeline that does.
        by: PipelineId,
    },
}

/// Whether messages of a schema decide if two pipelines differ. Overlays are for people: the messages that they explain
/// decide.
pub fn decides(schema: &str) -> bool {
    schema != OVERLAY
}

impl EmittedMessages {
    /// The messages of a run, by frame.
    ///
    /// # Errors
    /// When it emitted too much.
    pub fn new(mut log: MessageLog, sources: &MessageSources) -> Result<Self, String> {
        let stages = sources.pipeline.stages.iter();
        let stages: Vec<String> = stages.map(|stage| stage.name.clone()).collect();
        let name = |stage: usize| stages.get(stage).cloned().unwrap_or_default();
        let metrics = StageMetrics::new(&mut log, stages.clone(), &sources.manifests);
        if let Some(excess) = log.excess {
            return Err(format!(
                "it emits {excess}, which are too many to compare: choose a shorter recording"
            ));
        }
        let mut emitted = Self {
            metrics: metrics?,
            ..Self::default()
        };
        for message in log.messages {
            let emitter = (message.schema.clone(), name(message.source.stage));
            if !emitted.emitters.contains(&emitter) {
                emitted.emitters.insert(emitter);
            }
            let frame = sources.root(message.root);
            emitted.by_frame.entry(frame).or_default().push(message);
        }
        // Stages that work at the same time emit in any order.
        for messages in emitted.by_frame.values_mut() {
            messages.sort_by_key(|message| (message.source.stage, message.source.port));
        }
        emitted.stages = stages;
        Ok(emitted)
    }

    fn stage(&self, message: &LoggedMessage) -> &str {
        let name = self.stages.get(message.source.stage);
        name.map_or("", |name| name.as_str())
    }

    fn emits(&self, schema: &Arc<str>, stage: &str) -> bool {
        self.emitters.contains(&(schema.clone(), stage.to_owned()))
    }
}

/// What joins messages of one frame: the schema, and the stage if both pipelines have one of that name that emits it.
type JoinKey<'a> = (&'a Arc<str>, Option<&'a str>);

/// Joins the messages of two pipelines.
pub fn join(a: &EmittedMessages, b: &EmittedMessages) -> JoinedMessages {
    let mut joined = JoinedMessages::default();
    let mut others = Vec::new();
    let frames: BTreeSet<&Option<FrameId>> = a.by_frame.keys().chain(b.by_frame.keys()).collect();
    for frame in frames {
        joined.frames += usize::from(frame.is_some());
        let mut groups: BTreeMap<JoinKey<'_>, [Vec<&LoggedMessage>; 2]> = BTreeMap::new();
        for (index, (emitted, other)) in [(a, b), (b, a)].into_iter().enumerate() {
            for message in emitted.by_frame.get(frame).into_iter().flatten() {
                let stage = emitted.stage(message);
                let is_common = other.emits(&message.schema, stage);
                let key = (&message.schema, is_common.then_some(stage));
                groups.entry(key).or_default()[index].push(message);
            }
        }
        for ((schema, _), [of_a, of_b]) in groups {
            for place in 0..of_a.len().max(of_b.len()) {
                let pair = [of_a.get(place), of_b.get(place)].map(Option::<&&_>::copied);
                let stage = match pair {
                    [Some(one), _] => a.stage(one),
                    [None, other] => other.map_or("", |other| b.stage(other)),
                };
                joined.add(&mut others, frame, schema, stage, place + 1, pair);
            }
        }
    }
    joined.differences.append(&mut others);
    joined
}

impl JoinedMessages {
    /// How many differences decide.
    pub fn deciding(&self) -> usize {
        let deciding = self.schemas.iter().filter(|(schema, _)| decides(schema));
        deciding.map(|(_, counts)| counts.differences()).sum()
    }

    /// How many messages decide.
    pub fn compared(&self) -> usize {
        let deciding = self.schemas.iter().filter(|(schema, _)| decides(schema));
        deciding
            .map(|(_, counts)| counts.equal + counts.differences())
            .sum()
    }

    /// `others`: the differences that do not decide.
    fn add(
        &mut self,
        others: &mut Vec<MessagePair>,
        frame: &Option<FrameId>,
        schema: &Arc<str>,
        stage: &str,
        number: usize,
        [a, b]: [Option<&LoggedMessage>; 2],
    ) {
        let difference = match (a, b) {
            (Some(a), Some(b)) => difference(schema, &a.content, &b.content),
            (Some(_), None) => Some(MessageDifference::Alone { by: PipelineId::A }),
            (None, _) => Some(MessageDifference::Alone { by: PipelineId::B }),
        };
        let counts = self.schemas.entry(schema.clone()).or_default();
        let count = match &difference {
            None => &mut counts.equal,
            Some(MessageDifference::Alone { by: PipelineId::A }) => &mut counts.a_alone,
            Some(MessageDifference::Alone { by: PipelineId::B }) => &mut counts.b_alone,
            Some(_) => &mut counts.different,
        };
        *count += 1;
        let Some(difference) = difference else { return };
        self.different += 1;
        let kept = match decides(schema) {
            true => &mut self.differences,
            false => others,
        };
        if kept.len() < MOST_DIFFERENCES {
            kept.push(MessagePair {
                frame: frame.clone(),
                schema: schema.clone(),
                stage: stage.to_owned(),
                number,
                difference,
            });
        }
    }
}

impl SchemaCounts {
    fn differences(&self) -> usize {
        self.different + self.a_alone + self.b_alone
    }
}

fn difference(schema: &str, a: &Content, b: &Content) -> Option<MessageDifference> {
    if a.pixels != b.pixels {
        return Some(MessageDifference::Pixels);
    }
    let (Some(one), Some(other)) = (&a.json, &b.json) else {
        let hash = |content: &Content| match (content.json_hash, &content.json) {
            (Some(hash), _) => hash,
            (None, json) => json_hash(schema, json.as_deref().unwrap_or_default()),
        };
        return (hash(a) != hash(b)).then_some(MessageDifference::Unlocated);
    };
    if one == other {
        return None;
    }
    let parsed = [one, other].map(|json| serde_json::from_str::<Value>(json));
    match parsed {
        [Ok(one), Ok(other)] => {
            let [one, other] = [one, other].map(|value| comparable(schema, value));
            first_difference(&one, &other).map(MessageDifference::Field)
        }
        _ => Some(MessageDifference::Unlocated),
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_config::pipeline::PortRef;
    use flowpipe_message::GESTURE_OUTCOME;
    use flowpipe_recording::Topic;

    use super::*;

    const SPOTS: &str = "spots/1";

    fn content(json: &str) -> Content {
        Content {
            json: Some(json.into()),
            json_hash: None,
            pixels: None,
        }
    }

    /// Messages: the number of the frame, or 0; the stage; the schema; the JSON.
    fn emitted(stages: &[&str], messages: &[(u64, usize, &str, &str)]) -> EmittedMessages {
        let mut emitted = EmittedMessages {
            stages: stages.iter().map(|&name| name.to_owned()).collect(),
            ..EmittedMessages::default()
        };
        for &(number, stage, schema, json) in messages {
            let source = PortRef { stage, port: 0 };
            let schema: Arc<str> = schema.into();
            let name = stages[stage].to_owned();
            emitted.emitters.insert((schema.clone(), name));
            let frame = (number > 0).then(|| FrameId {
                topic: Topic::new("screen", "out"),
                number,
            });
            let message = LoggedMessage {
                source,
                root: (source, number),
                schema,
                content: content(json),
            };
            emitted.by_frame.entry(frame).or_default().push(message);
        }
        emitted
    }

    fn found(a: &EmittedMessages, b: &EmittedMessages) -> Vec<(u64, String, usize, String)> {
        let joined = join(a, b);
        assert_eq!(joined.different, joined.differences.len());
        let words = |pair: MessagePair| {
            let what = match pair.difference {
                MessageDifference::Field(it) => it.pointer,
                other => format!("{other:?}"),
            };
            let frame = pair.frame.map_or(0, |frame| frame.number);
            (frame, pair.stage, pair.number, what)
        };
        joined.differences.into_iter().map(words).collect()
    }

    #[test]
    fn messages_are_joined_by_frame_schema_and_order() {
        let a = emitted(
            &["vision"],
            &[
                (1, 0, SPOTS, "1"),
                (1, 0, SPOTS, "2"),
                (2, 0, SPOTS, "3"),
                (3, 0, "other/1", "1"),
            ],
        );
        let b = emitted(
            &["vision"],
            &[
                (1, 0, SPOTS, "1"),
                (1, 0, SPOTS, "4"),
                (1, 0, SPOTS, "5"),
                (3, 0, SPOTS, "1"),
            ],
        );
        let alone = |by| format!("{:?}", MessageDifference::Alone { by });
        let vision = || "vision".to_owned();
        let expected = [
            (1, vision(), 2, String::new()),
            (1, vision(), 3, alone(PipelineId::B)),
            (2, vision(), 1, alone(PipelineId::A)),
            (3, vision(), 1, alone(PipelineId::A)),
            (3, vision(), 1, alone(PipelineId::B)),
        ];
        assert_eq!(found(&a, &b), expected);
        let joined = join(&a, &b);
        let spots = SchemaCounts {
            equal: 1,
            different: 1,
            a_alone: 1,
            b_alone: 2,
        };
        assert_eq!(joined.schemas[SPOTS], spots);
        assert_eq!(
            (joined.deciding(), joined.compared(), joined.frames),
            (5, 6, 3)
        );
        assert_eq!(found(&a, &a), []);
    }

    #[test]
    fn stages_of_one_name_are_joined_and_others_in_their_order() {
        let a = emitted(&["left", "old"], &[(1, 0, SPOTS, "1"), (1, 1, SPOTS, "2")]);
        // The stage of the same name comes last.
        let b = emitted(&["new", "left"], &[(1, 0, SPOTS, "2"), (1, 1, SPOTS, "1")]);
        assert_eq!(found(&a, &b), []);
        // A stage that both have is not joined with another one.
        let b = emitted(&["new", "left"], &[(1, 0, SPOTS, "1"), (2, 1, SPOTS, "1")]);
        let stages: Vec<String> = found(&a, &b).into_iter().map(|it| it.1).collect();
        assert_eq!(stages, ["old", "left", "left"]);
    }

    #[test]
    fn equal_json_written_differently_is_equal() {
        let of = |json: &str| emitted(&["a"], &[(0, 0, SPOTS, json)]);
        assert_eq!(
            found(&of(r#"{"a":1,"b":2}"#), &of(r#"{ "b":2, "a":1 }"#)),
            []
        );
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(200), "]".repeat(200));
        let unlocated = (0, "a".to_owned(), 1, "Unlocated".to_owned());
        assert_eq!(found(&of(&deep("1")), &of(&deep("2"))), [unlocated]);
    }

    #[test]
    fn times_of_outcomes_and_overlays_do_not_decide() {
        let of = |schema: &str, json: &str| emitted(&["a"], &[(1, 0, schema, json)]);
        let outcome = |act_ns: u64, played: u64| {
            of(
                GESTURE_OUTCOME,
                &format!(r#"{{"act_ns":{act_ns},"played":{played}}}"#),
            )
        };
        assert_eq!(found(&outcome(1, 1), &outcome(2, 1)), []);
        assert_eq!(join(&outcome(1, 1), &outcome(1, 2)).deciding(), 1);
        let joined = join(&of(OVERLAY, "1"), &of(OVERLAY, "2"));
        assert_eq!(
            (joined.different, joined.deciding(), joined.compared()),
            (1, 0, 0)
        );
    }

    #[test]
    fn pixels_and_hashed_json_are_compared() {
        let json = content("[1]");
        let hashed = |json: &str| Content {
            json: None,
            json_hash: Some(json_hash(SPOTS, json)),
            pixels: None,
        };
        assert_eq!(difference(SPOTS, &json, &hashed("[ 1 ]")), None);
        let unlocated = Some(MessageDifference::Unlocated);
        assert_eq!(difference(SPOTS, &json, &hashed("[2]")), unlocated);
        let with_pixels = Content {
            pixels: Some(7),
            ..content("[1]")
        };
        let pixels = Some(MessageDifference::Pixels);
        assert_eq!(difference(SPOTS, &json, &with_pixels), pixels);
    }

    #[test]
    fn kept_differences_are_bounded_and_all_are_counted() {
        let count = MOST_DIFFERENCES as u64 + 5;
        let messages: Vec<(u64, usize, &str, &str)> =
            (1..=count).map(|number| (number, 0, SPOTS, "1")).collect();
        let joined = join(&emitted(&["a"], &messages), &emitted(&["a"], &[]));
        assert_eq!(joined.differences.len(), MOST_DIFFERENCES);
        assert_eq!(joined.different as u64, count);
    }
}
